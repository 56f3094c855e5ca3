"""Clicks from outside: found pictures, kept once, learnt from within bounds, and forgotten."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline import Collection
from sightline.collection.clicks import labels, log_import
from sightline.collection.clicks.labels import FromClicks, from_clicks, known_judgements
from sightline.collection.clicks.log_import import import_clicks
from sightline.collection.models.training import TrainOptions, TrainReport, is_trained, train
from sightline.compute.inline import InlineCompute
from sightline.errors import DataError, Interrupted, ParameterError, UsageError
from sightline.measures.splits import HELD_OUT, fold_of
from sightline.progress import NoProgress
from sightline.records import ClickedList
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.models import arrays_file
from sightline.store.upkeep.purge import purge
from sightline.store.writer import Judging
from tests.factories.click_logs import interaction, ranking, ubi_event, ubi_query, write_lines
from tests.factories.clicked_stores import (
    ROOT,
    eight_pictures,
    import_logs,
    impressions_of,
    labels_from_clicks,
    revert,
)
from tests.factories.planted_stores import clusters, plant

# What the gate thinks of a new word is not what these tests are about.
QUICK = TrainOptions(rankers=("ridge",), force=True)


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    return eight_pictures(tmp_path)


def test_the_same_log_again_adds_nothing_and_a_longer_one_what_is_new(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    first = [ranking("r", "tree", ["0000.jpg", "0001.jpg"]), interaction("r", "0001.jpg")]
    path = write_lines(tmp_path / "log", first)
    assert import_logs(store_folder, path, dry_run=True).added == 1 and not impressions_of(
        store_folder
    )
    report = import_logs(store_folder, path)
    assert report.added == 1 and report.formats == ("Metarank",)
    assert (
        import_logs(store_folder, path).added
        == import_logs(store_folder, path, dry_run=True).added
        == 0
    )
    copy = write_lines(tmp_path / "copy", first)
    assert (
        import_logs(store_folder, copy).sessions == report.sessions
        and len(impressions_of(store_folder)) == 1
    )
    longer = [*first, ranking("s", "sea", ["0003.jpg"]), interaction("s", "0003.jpg")]
    more = import_logs(store_folder, write_lines(tmp_path / "longer", longer))
    assert more.added == 1 and more.sessions != report.sessions
    assert [x.query for x in impressions_of(store_folder)] == ["tree", "sea"]


def test_each_file_is_a_session_that_can_be_reverted_and_taken_in_again(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    a = write_lines(tmp_path / "a", [ubi_query("1", "tree", ["0000.jpg"])])
    b = write_lines(
        tmp_path / "b", [ubi_event("1", "0000.jpg"), ubi_query("2", "sea", ["0003.jpg"])]
    )
    report = import_logs(store_folder, a, b)
    assert {x.query: x.session for x in impressions_of(store_folder)} == dict(
        zip(("tree", "sea"), report.sessions, strict=True)
    )
    revert(store_folder, report.sessions[0])
    assert [x.query for x in impressions_of(store_folder)] == ["sea"]
    again = import_logs(store_folder, a, b)
    assert again.added == 1 and again.sessions == (report.sessions[0] + "-2", report.sessions[1])
    assert import_logs(store_folder, a, b).added == 0
    revert(store_folder, again.sessions[0])
    assert (
        import_logs(store_folder, a, b).sessions[0].endswith("-3")
        and len(impressions_of(store_folder)) == 2
    )


def test_purging_a_picture_removes_the_lists_it_stood_in(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    records = [
        ubi_query("1", "tree", ["0000.jpg", "0001.jpg"]), ubi_event("1", "0001.jpg"),
        ubi_query("2", "sea", ["0003.jpg"]),
    ]  # fmt: skip
    import_logs(store_folder, write_lines(tmp_path / "log", records))
    purge(store_folder, [1], [])
    assert [x.query for x in impressions_of(store_folder)] == ["sea"]
    assert not labels_from_clicks(store_folder).judgements


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([ubi_query("1", "sea", ["no.jpg"]), ubi_event("1", "no.jpg")], "no picture's: no.jpg"),
        (
            [ubi_query("1", "?!", ["0000.jpg"]), ubi_event("1", "0000.jpg")],
            "1 times: query without words",
        ),
        (
            [ubi_query("1", "sea", ["0000.jpg", "x"]), ubi_event("1", "x")],
            "none has a click on a picture",
        ),
        ([ubi_event("1", "0000.jpg")], "cannot be learned from"),
    ],
)
def test_a_log_that_teaches_nothing_here_is_refused(
    store_folder: StoreFolder, tmp_path: Path, records: list[dict[str, object]], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        import_logs(store_folder, write_lines(tmp_path / "log", records))
    assert not impressions_of(store_folder)


def test_what_is_stopped_keeps_what_was_written_and_goes_on(
    store_folder: StoreFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stops(NoProgress):
        def start(self, what: str, total: int | None) -> None:
            self.what = what

        def advance(self, n: int = 1) -> None:
            if self.what == "write":
                raise KeyboardInterrupt

    monkeypatch.setattr(log_import, "_BATCH", 2)
    records = [
        r for i in range(5) for r in (ubi_query(f"{i}", "sea", ["4"]), ubi_event(f"{i}", "4"))
    ]
    path = write_lines(tmp_path / "log", records)
    with pytest.raises(Interrupted, match="2 of 5 lists are kept"):
        import_clicks(store_folder, ROOT, [path], None, False, Stops())
    assert len(impressions_of(store_folder)) == 2
    assert import_logs(store_folder, path).added == 3 and len(impressions_of(store_folder)) == 5


def test_eta_is_estimated_or_given(store_folder: StoreFolder, tmp_path: Path) -> None:
    records = []
    for i in range(400):
        order = ["0000.jpg", "0001.jpg"][:: 1 if i % 2 else -1]
        # The second place gets half of the clicks of the first, whichever picture is there.
        records += [ubi_query(str(i), "tree", order), ubi_event(str(i), order[i % 6 >= 4])]
    path = write_lines(tmp_path / "log", records)
    report = import_logs(store_folder, path, dry_run=True)
    assert report.bias.how == "swaps" and report.bias.eta == pytest.approx(1.0, abs=0.05)
    assert import_logs(store_folder, path, eta=0.25).bias.how == "given"
    assert {x.eta for x in impressions_of(store_folder)} == {0.25}
    for wrong in (-1.0, 3.5, float("nan")):
        with pytest.raises(ParameterError, match="'eta' parameter of import clicks"):
            import_logs(store_folder, path, eta=wrong)


def a_list(
    query: str, clicked: list[int], pictures: tuple[int, ...] = (1, 2, 3, 4), session: str = "s"
) -> ClickedList:
    ranks = tuple(range(1, len(pictures) + 1))
    return ClickedList(query, pictures, ranks, frozenset(clicked), 1.0, session, 1)


def test_clicked_pictures_fit_and_others_keep_their_words(store_folder: StoreFolder) -> None:
    lists = [*[a_list("red", [3])] * 5, *[a_list("red", [])] * 5, a_list("red", [1])]
    with store_folder.reader() as reader:
        found = from_clicks(lists, reader.snapshot)
    # A click at the first place is worth 1, at the third 3, and one alone proves nothing: five
    # are worth 15, give or take the root of 5 times 9.
    assert [(j.query, j.picture) for j in found.judgements] == [("red", 3)]
    assert found.judgements[0].relevance == pytest.approx((15 - 45**0.5) / (11 + 1))
    assert (found.lists, found.imports, found.capped) == (11, 1, 0)


def test_one_click_on_each_picture_proves_nothing(store_folder: StoreFolder) -> None:
    lists = [a_list("red", [p], (1, 2, 3, 4)) for p in (1, 2, 3, 4)]
    with store_folder.reader() as reader:
        assert not from_clicks(lists, reader.snapshot).judgements


def test_position_bias_is_taken_out_of_what_train_learns(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Ten pictures that fit are shown below ten that do not, in lists whose orders vary little."""
    store_folder = plant(
        tmp_path / "store", [["tree"]] * 2 + [[]] * 38, {"own": np.eye(40, 8, dtype="f4")}
    )
    rng = np.random.default_rng(0)
    base = np.arange(1, 21)
    fits = np.where(base > 10, 0.6, 0.12)
    lists = []
    for _ in range(400):
        order = np.argsort(np.arange(20) + rng.normal(size=20) * 3)
        looked = rng.random(20) < 1 / np.arange(1, 21)
        clicked = base[order][looked & (rng.random(20) < fits[order])]
        lists.append((base[order].tolist(), clicked.tolist()))
    path = tmp_path / "log"
    records = []
    for i, (pictures, clicked) in enumerate(lists):
        records.append(ubi_query(str(i), "gold", pictures))
        records += [ubi_event(str(i), p) for p in clicked]
    write_lines(path, records)
    right = {}
    for eta in (None, 0.0):
        report = import_logs(store_folder, str(path), eta=eta)
        named = {j.picture for j in labels_from_clicks(store_folder).judgements}
        right[eta] = len([p for p in named if p > 10]) - len([p for p in named if p <= 10])
        record_property(f"eta {report.bias.eta:.2f}", f"right less wrong: {right[eta]}")
        revert(store_folder, report.sessions[0])
    assert right[None] >= 8 and right[0.0] <= 2


def test_words_in_any_order_are_one_query_and_dead_pictures_say_nothing(
    store_folder: StoreFolder,
) -> None:
    lists = [a_list("red barn", [2]), a_list("barn red", [2]), a_list("red barn", [99], (99,))]
    with store_folder.reader() as reader:
        (only,) = from_clicks(lists, reader.snapshot).judgements
    assert (only.query, only.picture, only.source) == ("red barn", 2, "clicks")
    assert only.relevance == pytest.approx((4 - 8**0.5) / (2 + 1))


def test_one_import_moves_no_more_than_its_share(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "_FEW", 3)
    hostile = [a_list(f"word{q}", [p], (p,), "bad") for q in range(4) for p in range(1, 9)] * 9
    honest = [a_list("gold", [8], (8,), "good")] * 2
    with store_folder.reader() as reader:
        alone = from_clicks(honest, reader.snapshot).judgements
        found = from_clicks([*hostile, *honest], reader.snapshot)
    assert len(found.judgements) == 3 + 1 and found.capped == 29
    assert set(alone) <= set(found.judgements)


def test_a_word_goes_to_no_more_pictures_than_have_it(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "_FEW", 2)
    monkeypatch.setattr(labels, "_SHARE_OF_TAGS", 10.0)
    lists = [a_list("tree", [p], (p,)) for p in range(1, 9)] * 3
    with store_folder.reader() as reader:
        found = from_clicks(lists, reader.snapshot)
    # Pictures 1 to 3 have it, so that three more may.
    assert sorted(j.picture for j in found.judgements) == [1, 2, 3, 4, 5, 6] and found.capped == 2


def test_many_lists_of_one_import_count_as_twenty(store_folder: StoreFolder) -> None:
    """A thousand lists against a picture in one import do not outweigh all that others say."""
    lists = [a_list("gold", [], (1,), "bad")] * 1000 + [a_list("gold", [1], (1,), "good")] * 20
    with store_folder.reader() as reader:
        (only,) = from_clicks(lists, reader.snapshot).judgements
    assert only.relevance == pytest.approx((20 - 20**0.5) / 41)


def test_what_somebody_said_has_the_last_word(store_folder: StoreFolder, tmp_path: Path) -> None:
    twice = [r for k in "12" for r in (ubi_query(k, "gold", ["7"]), ubi_event(k, "7"))]
    import_logs(store_folder, write_lines(tmp_path / "log", twice))
    with Judging(store_folder) as judging:
        body = {"query": "gold", "relevance": 0.0, "source": "feedback"}
        judging.append([NewEvent("judged", 7, body)])  # type: ignore[arg-type]
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        both, _ = known_judgements(log, reader.snapshot)
    assert [(j.picture, j.relevance > 0) for j in both] == [(7, True), (7, False)]


def learn(store_folder: StoreFolder) -> TrainReport:
    return train(store_folder, QUICK, 0.0, NoProgress())


def sha(store_folder: StoreFolder) -> str:
    with store_folder.reader() as reader:
        model = arrays_file(store_folder.models, reader.snapshot.model)
    return hashlib.sha256(model.read_bytes()).hexdigest()


def clicked_cluster(tmp_path: Path, n: int, n_words: int) -> str:
    """Return a log in which people who ask for a new word click all pictures of cluster 0."""
    records = []
    for i in range(0, 2 * n, n_words):
        shown = [f"{i % n + k:04d}.jpg" for k in (1, 2, 0, 3)]
        records += [ubi_query(str(i), "novel", shown), ubi_event(str(i), shown[2], 3)]
    return write_lines(tmp_path / "log", records)


def test_a_word_known_from_clicks_alone_is_learnt_and_forgotten_without_a_trace(
    tmp_path: Path,
) -> None:
    words, rows = clusters(200, 10)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    before = learn(store_folder)
    assert before.clicks == FromClicks()
    bytes_before = sha(store_folder)
    report = import_logs(store_folder, clicked_cluster(tmp_path, 200, 10))
    assert not is_trained(store_folder)
    after = learn(store_folder)
    assert len(after.clicks.judgements) == 20 and after.words == before.words + 1
    assert is_trained(store_folder) and sha(store_folder) != bytes_before
    with store_folder.reader() as reader:
        ids = np.array([j.picture for j in after.clicks.judgements])
        held = fold_of(ids) == HELD_OUT
        # Clicks on held-out pictures judge, and clicks on the others teach.
        assert held.any() and not held.all() and set(ids % 10) == {1}
        assert len(reader.snapshot.ids()) == 200
    revert(store_folder, report.sessions[0])
    gone = learn(store_folder)
    assert gone.clicks == FromClicks() and sha(store_folder) == bytes_before


def test_the_verb_of_a_collection(tmp_path: Path) -> None:
    from tests.factories.photos import make_photos

    photos = make_photos(tmp_path / "photos", 4)
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    c.index(compute=InlineCompute())
    records = [ubi_query("1", "tree", ["000.jpg", "001.jpg"]), ubi_event("1", "001.jpg", 2)]
    path = write_lines(tmp_path / "log", records)
    report = c.clicks.import_logs(path)
    assert report.added == 1 and report.pairs == 1 and report.files == (path,)
    assert c.clicks.import_logs(path, eta=0.5, dry_run=True).added == 0
    with pytest.raises(UsageError, match="No file is named"):
        c.clicks.import_logs()
