"""Training: what is chosen, what the gate lets through, what is served, and what is refused."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sightline.collection.models import recipe, selection
from sightline.collection.models.dataset import load_dataset, split
from sightline.collection.models.evidence import gather_evidence
from sightline.collection.models.training import TrainOptions, train
from sightline.collection.models.word_model import SegmentScorer, load_word_model
from sightline.errors import CollectionError, NotBetter, StoreBusy, UsageError
from sightline.measures.splits import HELD_OUT, fold_of
from sightline.progress import NoProgress
from sightline.records import WordQuery
from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.models import arrays_file
from sightline.store.writer import Judging, Writer
from sightline.words.term_ids import term_id
from tests.factories.planted_stores import clusters, noise_like, plant

QUICK = TrainOptions(rankers=("ridge",))


def run(store_folder: StoreFolder, options: TrainOptions = QUICK) -> object:
    return train(store_folder, options, 0.0, NoProgress())


def sha(store_folder: StoreFolder) -> str:
    with store_folder.reader() as reader:
        return hashlib.sha256(
            arrays_file(store_folder.models, reader.snapshot.model).read_bytes()
        ).hexdigest()


@pytest.mark.all_rankers
def test_the_words_of_pictures_are_learnt_and_the_gain_is_proven(tmp_path: Path) -> None:
    words, rows = clusters(300, 10)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    report = train(store_folder, TrainOptions(), 0.0, NoProgress())
    assert report.proof.candidate > 0.9 > 0.4 > report.proof.baseline
    assert report.proof.p < 1e-4 and report.proof.harmed <= 0.1 * report.proof.n
    assert not report.forced and report.words == 15 and report.pictures == 300
    with store_folder.reader() as reader:
        assert reader.snapshot.model == report.model and reader.snapshot.version == report.version


def test_it_chooses_the_feature_that_tells_something(tmp_path: Path) -> None:
    words, rows = clusters(300, 10)
    noise = noise_like(rows)
    first = plant(tmp_path / "a", words, {"left": rows, "right": noise})
    second = plant(tmp_path / "b", words, {"left": noise, "right": rows})
    chosen = [run(store_folder).recipe for store_folder in (first, second)]  # type: ignore[attr-defined]
    assert "left" in chosen[0] and "right" not in chosen[0]
    assert "right" in chosen[1] and "left" not in chosen[1]


def test_it_chooses_the_ranker_that_fits(tmp_path: Path) -> None:
    """Words that lie on both sides of zero need a curved boundary; directions need none."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)
    # Which quarter, opposite quarters being alike: no line through the middle tells them apart.
    quarter = (np.floor(angle / (np.pi / 4)) % 4).astype(int)
    curved = plant(tmp_path / "a", [[f"word{q}"] for q in quarter], {"ring": ring})
    both = TrainOptions(rankers=("pamir", "ridge"))
    assert run(curved, both).recipe.startswith("ridge")  # type: ignore[attr-defined]
    size = 400
    plain = rng.normal(size=(250, size)).astype(np.float32)
    aim = rng.normal(size=(size, 12)).astype(np.float32)
    above = plain @ aim > np.quantile(plain @ aim, 0.8, axis=0)
    straight = [[f"word{t}" for t in np.flatnonzero(r)] or ["none"] for r in above]
    linear = plant(tmp_path / "b", straight, {"plain": plain})
    assert run(linear, both).recipe.startswith("pamir")  # type: ignore[attr-defined]


def test_held_out_pictures_do_not_take_part_in_choosing(tmp_path: Path) -> None:
    words, rows = clusters(300, 10, noise=1.0)
    held = fold_of(np.arange(1, 301)) == HELD_OUT
    rng = np.random.default_rng(1)
    other = [list(w) for w in words]
    for i in np.flatnonzero(held).tolist():
        other[i] = words[int(rng.integers(300))]
    features = {"signal": rows, "noise": noise_like(rows)}
    a, b = plant(tmp_path / "a", words, features), plant(tmp_path / "b", other, features)
    first, second = run(a, TrainOptions(force=True)), run(b, TrainOptions(force=True))
    tried = [
        [(str(t.recipe), t.how, t.avgp) for t in r.table]  # type: ignore[attr-defined]
        for r in (first, second)
    ]
    assert tried[0] == tried[1]
    with contextlib.ExitStack() as stack:
        samples = [load_dataset(stack.enter_context(h.reader()).snapshot) for h in (a, b)]
    for sample in samples:
        out, validating = split(sample)
        assert not (out & validating).any() and 30 < out.sum() < 90


def test_the_gate_keeps_out_what_is_worse_than_the_model_in_use(tmp_path: Path) -> None:
    words, rows = clusters(400, 20)
    store_folder = plant(tmp_path / "store", words, {"signal": rows, "noise": noise_like(rows)})
    run(store_folder)
    with store_folder.reader() as reader:
        before = reader.snapshot.model, reader.snapshot.version
    noise = TrainOptions(rankers=("ridge",), features=("noise",))
    with pytest.raises(NotBetter, match=r"word model is worse than the one in use: .* --force"):
        run(store_folder, noise)
    with store_folder.reader() as reader:
        assert (reader.snapshot.model, reader.snapshot.version) == before
    forced = run(store_folder, TrainOptions(("ridge",), ("noise",), force=True))
    assert forced.forced and forced.proof.candidate_on_common < forced.proof.current  # type: ignore[attr-defined]
    with store_folder.reader() as reader:
        learnt = load_word_model(store_folder, reader.snapshot.model)
    assert learnt is not None
    figures = learnt.about["figures"]
    assert isinstance(figures, dict) and figures["forced"] is True


def test_the_gate_keeps_out_what_is_worse_than_no_model(tmp_path: Path) -> None:
    """Held-out pictures have the words of the pictures least like them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2)).astype(np.float32)
    held = fold_of(np.arange(1, 401)) == HELD_OUT
    side = (rows[:, 0] > 0) ^ held
    up = (rows[:, 1] > 0) ^ held
    few = rng.integers(0, 30, 400)
    words = [
        [f"{'right' if s else 'left'}{f}", f"{'up' if u else 'down'}{f}", "right" if s else "left"]
        for s, u, f in zip(side, up, few, strict=True)
    ]
    store_folder = plant(tmp_path / "store", words, {"plane": rows})
    with pytest.raises(NotBetter, match="worse than the untrained order: mean AvgP"):
        run(store_folder)
    with store_folder.reader() as reader:
        assert reader.snapshot.model == ""


def test_few_pictures_give_a_model_that_is_marked_unproven(tmp_path: Path) -> None:
    words, rows = clusters(12, 2)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    report = run(store_folder)
    assert report.unproven and report.version  # type: ignore[attr-defined]


def test_training_is_the_same_to_the_byte_ten_times_out_of_ten(tmp_path: Path) -> None:
    words, rows = clusters(120, 6, noise=0.8)
    found = set()
    for i in range(10):
        store_folder = plant(tmp_path / f"{i}", words, {"signal": rows})
        run(store_folder, TrainOptions())
        found.add(sha(store_folder))
    assert len(found) == 1


@pytest.mark.all_rankers
def test_training_is_the_same_to_the_byte_in_another_process(tmp_path: Path) -> None:
    words, rows = clusters(120, 6, noise=0.8)
    store_folder = plant(tmp_path / "here", words, {"signal": rows})
    run(store_folder, TrainOptions())
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.factories.planted_stores import clusters, plant\n"
        "from tests.collection.test_training import run, sha, TrainOptions\n"
        "w, r = clusters(120, 6, noise=0.8); h = plant(Path(sys.argv[1]), w, {'signal': r})\n"
        "run(h, TrainOptions()); print(sha(h))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "there")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert there.stdout.strip() == sha(store_folder)


def test_a_reverted_session_leaves_no_trace(tmp_path: Path) -> None:
    words, rows = clusters(120, 6, noise=0.8)
    never, reverted, kept = (
        plant(tmp_path / name, words, {"signal": rows}) for name in ("a", "b", "c")
    )
    for store_folder in (reverted, kept):
        with Judging(store_folder) as judging:
            for picture in (3, 8, 20):
                body = {"query": "word0", "relevance": 1.0, "source": "person"}
                judging.append([NewEvent("judged", picture, body, session="s1")])  # type: ignore[arg-type]
            if store_folder is reverted:
                judging.append([NewEvent("session-reverted", body={"session": "s1"})])
    for store_folder in (never, reverted, kept):
        run(store_folder, TrainOptions())
    assert sha(never) == sha(reverted) != sha(kept)


def test_judgements_add_words_and_take_them_away(tmp_path: Path) -> None:
    words, rows = clusters(60, 6)
    store_folder = plant(tmp_path / "store", [*words, []], {"signal": np.vstack([rows, rows[:1]])})
    with Judging(store_folder) as judging:
        for picture, query, relevance in ((61, "word3 pair1", 1.0), (1, "word0", -1.0),
                                          (2, "word1 pair0", -1.0)):  # fmt: skip
            body = {"query": query, "relevance": relevance, "source": "person"}
            judging.append([NewEvent("judged", picture, body)])  # type: ignore[arg-type]
        said = judging.log.judgements()
    with store_folder.reader() as reader:
        sample = load_dataset(reader.snapshot, said)

    def tagged(picture: int) -> set[int]:
        row = int(np.searchsorted(sample.ids, picture))
        return set(sample.terms[sample.labels[row].indices].tolist())

    assert tagged(61) == {term_id("word3"), term_id("pair1")}
    assert tagged(1) == {term_id("pair0")}
    assert tagged(2) == {term_id("word1"), term_id("pair0")}


def test_interrupted_training_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, rows = clusters(120, 6)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    run(store_folder)
    before = sha(store_folder)
    files = sorted(p.name for p in store_folder.models.iterdir())

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SegmentScorer, "scores", stop)
    with pytest.raises(KeyboardInterrupt):
        run(store_folder)
    monkeypatch.undo()
    assert sha(store_folder) == before
    with Writer(store_folder, "test"):
        pass  # Whoever writes next removes what was left over.
    assert sorted(p.name for p in store_folder.models.iterdir()) == files


def test_a_training_that_another_one_overtook_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, rows = clusters(120, 6)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    real = selection.select_recipe

    def overtaken(*args: object) -> object:
        monkeypatch.setattr(selection, "select_recipe", real)
        run(store_folder, TrainOptions(("ridge",)))
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "select_recipe", overtaken)
    with pytest.raises(StoreBusy, match="Another training was published"):
        run(store_folder)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([[], [], []], "None of the 3 pictures has a word"),
        ([["cat"]], "nothing to learn from 1 picture. Index more"),
        ([["cat", "owl"], [], []], "Only 1 of the 3 pictures has words"),
        ([["cat"], ["cat"], ["cat"]], "Of 1 words none is on at least 2 pictures and missing"),
        ([["cat"], ["owl"], ["dog"]], "Of 3 words none is on at least 2 pictures"),
        ([["the"], ["a"], []], "All words of the 3 pictures are stop words or captions in other"),
    ],
)
def test_what_cannot_be_learnt_from_is_said_in_a_line(
    tmp_path: Path, words: list[list[str]], said: str
) -> None:
    rows = np.eye(len(words), 4, dtype=np.float32)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    with pytest.raises(CollectionError, match=said):
        run(store_folder)


def test_pictures_that_are_all_alike_teach_nothing_and_harm_nothing(tmp_path: Path) -> None:
    words, rows = clusters(100, 5)
    store_folder = plant(tmp_path / "store", words, {"same": np.ones_like(rows)})
    report = run(store_folder, TrainOptions())
    assert report.proof.candidate == pytest.approx(report.proof.baseline, abs=0.2)  # type: ignore[attr-defined]


def test_one_word_among_pictures_without_it_is_learnt(tmp_path: Path) -> None:
    words, rows = clusters(100, 2)
    one = [["cat"] if w[0] == "word0" else ["thing"] for w in words]
    store_folder = plant(tmp_path / "store", one, {"signal": rows})
    report = run(store_folder)
    assert report.words == 2 and report.unproven  # type: ignore[attr-defined]


def test_unknown_rankers_and_features_are_named(tmp_path: Path) -> None:
    words, rows = clusters(60, 3)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    with pytest.raises(UsageError, match=r"no ranker 'magic'\. Known: cca, cmrm, cmtt"):
        run(store_folder, TrainOptions(rankers=("magic",)))
    with pytest.raises(UsageError, match=r"no feature 'colour' \(they have: signal\)"):
        run(store_folder, TrainOptions(features=("colour",)))


def test_words_beyond_the_budget_are_scored_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, rows = clusters(120, 8)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    run(store_folder)
    with store_folder.reader() as reader:
        learnt = load_word_model(store_folder, reader.snapshot.model)
        assert learnt is not None and len(learnt.terms) == 12
        terms = learnt.terms[[2, 7]]
        query = learnt.query(terms, [1.0, 2.0])
        want = reader.snapshot.top(query, 50)
        every = {s.scores.terms.size for s in reader.snapshot.segments if s.scores}
    monkeypatch.setattr(
        "sightline.collection.models.word_model.BUDGET", 4 * 3 / (4 * rows.shape[1])
    )
    monkeypatch.setattr("sightline.collection.models.word_model.LEAST_PUBLISHED", 1)
    run(store_folder, TrainOptions(("ridge",), force=True))
    with store_folder.reader() as reader:
        few = {s.scores.terms.size for s in reader.snapshot.segments if s.scores}
        learnt = load_word_model(store_folder, reader.snapshot.model)
        assert learnt is not None
        got = reader.snapshot.top(learnt.query(terms, [1.0, 2.0]), 50, None, learnt.more)
        lost = reader.snapshot.top(learnt.query(terms, [1.0, 2.0]), 50)
    assert every == {12} and few == {3}
    assert np.array_equal(got.ids, want.ids) and np.allclose(got.scores, want.scores, atol=1e-5)
    assert not len(lost.ids)


def test_a_model_scores_what_its_learner_scores(tmp_path: Path) -> None:
    """What is published is what the fitted recipe says, for every ranker, saved and loaded."""
    words, rows = clusters(90, 5, noise=0.6)
    store_folder = plant(tmp_path / "store", words, {"signal": rows, "more": rows[:, ::-1].copy()})
    for ranker in ("ridge", "pamir"):
        run(store_folder, TrainOptions((ranker,), force=True))
        with store_folder.reader() as reader:
            sample = load_dataset(reader.snapshot, evidence=gather_evidence(reader))
            learnt = load_word_model(store_folder, reader.snapshot.model, checked=True)
            assert learnt is not None
            again = recipe.fit(learnt.served.recipe, sample)
            assert np.allclose(again.scores(sample.views), learnt.served.scores(sample.views))
            rows_now = learnt.combination.rows(learnt.served.scores(sample.views))
            for t, term in enumerate(learnt.terms.tolist()):
                one = np.array([term], np.int64)
                never = np.array([np.nan], np.float32)
                query = WordQuery(one, np.ones(1, np.float32), never)
                others = np.setdiff1d(sample.ids, reader.snapshot.tagged_with([term], every=True))
                top = reader.snapshot.top(query, len(others), others)
                at = np.searchsorted(sample.ids, top.ids)
                assert np.allclose(top.scores, rows_now[at, t], atol=1e-5)
