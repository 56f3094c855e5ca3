"""The protocol of paper A: splits, queries, groups, and the door to the test pictures."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import ParameterError, UsageError
from sightline.measures.many import average_precisions
from sightline.measures.precision_recall import eleven_points
from sightline_experiments.datasets.corel5k import Corel5K, vocabulary
from sightline_experiments.pamir.evaluation import CorelTestSet
from sightline_experiments.pamir.methods import weighted_sum
from sightline_experiments.pamir.protocol import (
    Part,
    Scorer,
    Split,
    make_splits,
    statistics,
)
from tests.factories.corel5k import N_DEVELOPMENT, N_TEST, load_made

N_TRAIN = 60


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Corel5K:
    return load_made(tmp_path_factory.mktemp("corel"))


def numbered(n: int) -> dict[str, np.ndarray]:
    """Return a view whose rows tell which picture they are of."""
    return {"number": np.arange(n, dtype=np.float32)[:, None]}


@pytest.fixture(scope="module")
def splits(c: Corel5K) -> list[Split]:
    return make_splits(c, numbered(N_DEVELOPMENT), (0, 1), N_TRAIN)


def captions(part: Part) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in part.labels.toarray()]


def test_splits_part_the_development_pictures(splits: list[Split]) -> None:
    for split in splits:
        assert (len(split.train), len(split.validation)) == (N_TRAIN, N_DEVELOPMENT - N_TRAIN)
        rows = np.concatenate([split.train.rows, split.validation.rows])
        assert sorted(rows.tolist()) == list(range(N_DEVELOPMENT))
        for part in (split.train, split.validation):
            assert part.views["number"][:, 0].tolist() == part.rows.tolist()
    assert splits[0].train.rows.tolist() != splits[1].train.rows.tolist()


def test_the_same_seed_splits_the_same_way(c: Corel5K, splits: list[Split]) -> None:
    again = make_splits(c, numbered(N_DEVELOPMENT), (0,), N_TRAIN)[0]
    assert again.train.rows.tolist() == splits[0].train.rows.tolist()
    assert again.train.query_pictures == splits[0].train.query_pictures


def test_too_many_training_pictures_are_refused(c: Corel5K) -> None:
    with pytest.raises(ParameterError, match="n_train"):
        make_splits(c, {}, (0,))


def test_labels_are_words_of_the_vocabulary(c: Corel5K, splits: list[Split]) -> None:
    words = vocabulary(c)
    for part in (splits[0].train, splits[0].validation):
        for row, held in zip(part.rows, captions(part), strict=True):
            spelled = {c.words[w] for w in c.development[row].words}
            assert {words[t] for t in held} == spelled & set(words)


def test_queries_are_all_sets_of_words_that_a_caption_holds(splits: list[Split]) -> None:
    part = splits[0].train
    held = captions(part)
    want: dict[tuple[int, ...], list[int]] = {}
    for picture, words in enumerate(held):
        for n in range(1, len(words) + 1):
            for some in combinations(sorted(words), n):
                want.setdefault(some, []).append(picture)
    assert dict(part.query_pictures) == {terms: tuple(fit) for terms, fit in want.items()}
    assert [terms for terms, _ in part.query_pictures] == sorted(want)


def test_query_vectors_weigh_words_by_training_captions(splits: list[Split]) -> None:
    split = splits[0]
    counts = np.asarray(split.train.labels.sum(axis=0)).reshape(-1)
    idf = np.log(N_TRAIN / counts)
    assert split.idf == pytest.approx(idf)
    queries = split.validation_queries
    for i, (terms, _) in enumerate(split.validation.query_pictures):
        want = idf[list(terms)] / np.linalg.norm(idf[list(terms)])
        got = queries.weight[queries.start[i] : queries.start[i + 1]]
        assert got == pytest.approx(want, rel=1e-5)


def test_statistics_count(splits: list[Split]) -> None:
    part = splits[0].validation
    found = statistics(part)
    assert found.pictures == len(part) and found.queries == len(part.query_pictures)
    assert found.relevant == np.mean([len(fit) for _, fit in part.query_pictures])
    triplets = sum(len(fit) * (len(part) - len(fit)) for _, fit in part.query_pictures)
    assert found.triplets == triplets


def test_a_smaller_split_has_the_first_pictures_and_their_queries(splits: list[Split]) -> None:
    small = splits[0].smaller(10)
    assert small.train.rows.tolist() == splits[0].train.rows[:10].tolist()
    assert max(max(fit) for _, fit in small.train.query_pictures) < 10
    assert set(dict(small.train.query_pictures)) < set(dict(splits[0].train.query_pictures))
    assert small.idf is splits[0].idf and small.validation is splits[0].validation


def oracle(c: Corel5K, twice: bool = True) -> Scorer:
    """Return a scorer that knows the words of test pictures by their number."""
    words = vocabulary(c)
    distinct = list({r.picture: r for r in c.test}.values())
    table = np.array([[float(w in {c.words[i] for i in r.words}) for w in words] for r in distinct])

    def score(views: object) -> np.ndarray:
        at = views["number"][:, 0].astype(int)  # type: ignore[index]
        return np.asarray(table[at], np.float32)

    return Scorer(score, weighted_sum)


def test_a_method_that_knows_everything_is_perfect(c: Corel5K, splits: list[Split]) -> None:
    test_set = CorelTestSet(c, numbered(N_TEST), sheets=("sea sky", "no such query"))
    outcome = test_set.measure("oracle", oracle(c), splits[0])
    assert outcome.measured.avgp == pytest.approx(1.0)
    assert outcome.measured.p10.mean() == pytest.approx(test_set.ceiling)
    assert outcome.precision == pytest.approx(np.ones(11))
    (shown,) = outcome.top.values()
    assert all(fits for _, fits in shown.best[: shown.relevant])
    assert {p for p, _ in shown.best} <= {r.picture for r in c.test}


def test_precision_is_that_of_each_query_averaged(c: Corel5K, splits: list[Split]) -> None:
    test_set = CorelTestSet(c, numbered(N_TEST))
    rng = np.random.default_rng(0)
    table = rng.random((N_TEST + 1, len(vocabulary(c))), np.float32)
    outcome = test_set.measure("chance", Scorer(lambda v: table, weighted_sum), splits[0])
    part = test_set._part
    scores = weighted_sum(table, part.queries(splits[0].idf))
    curves = []
    for row, (_, fit) in zip(scores, part.query_pictures, strict=True):
        relevance = np.zeros(len(row))
        relevance[list(fit)] = 1
        curves.append(eleven_points(row, relevance).precision)
    assert outcome.precision == pytest.approx(np.mean(curves, axis=0))
    want = average_precisions(scores, part.queries(splits[0].idf))
    assert outcome.measured.avgp == pytest.approx(want.avgp)


def test_the_test_pictures_are_measured_once(c: Corel5K, splits: list[Split]) -> None:
    test_set = CorelTestSet(c, numbered(N_TEST))
    test_set.measure("a", oracle(c), splits[0])
    test_set.measure("a", oracle(c), splits[1])
    test_set.measure("b", oracle(c), splits[0])
    with pytest.raises(UsageError, match="measured on the test queries of split 0 before"):
        test_set.measure("a", oracle(c), splits[0])


def test_nothing_but_measure_and_counts_comes_out_of_the_test_set(c: Corel5K) -> None:
    test_set = CorelTestSet(c, numbered(N_TEST))
    public = {n for n in dir(test_set) if not n.startswith("_")}
    assert public == {"claim", "measure", "sizes", "statistics", "ceiling"}


def test_the_picture_listed_twice_counts_as_asked(c: Corel5K, splits: list[Split]) -> None:
    twice, once = (CorelTestSet(c, numbered(N_TEST), t) for t in (True, False))
    assert (twice.statistics.pictures, once.statistics.pictures) == (N_TEST + 1, N_TEST)
    assert twice.statistics.queries == once.statistics.queries
    n = len(c.test[3].words)
    more = twice.statistics.relevant - once.statistics.relevant
    assert more * twice.statistics.queries == pytest.approx(2**n - 1)


def test_groups(c: Corel5K, splits: list[Split]) -> None:
    test_set = CorelTestSet(c, numbered(N_TEST))
    outcome = test_set.measure("oracle", oracle(c), splits[0])
    groups, query_pictures = outcome.groups, test_set._part.query_pictures
    assert groups["all"].all()
    assert (groups["easy"] ^ groups["difficult"]).all()
    assert (groups["one-word"] ^ groups["multi-word"]).all()
    train, validation = (dict(p.query_pictures) for p in (splits[0].train, splits[0].validation))
    for i, (terms, fit) in enumerate(query_pictures):
        assert groups["easy"][i] == (len(fit) >= 3)
        assert groups["one-word"][i] == (len(terms) == 1)
        assert groups["not in train"][i] == (terms not in train)
        neither = terms not in train and terms not in validation
        assert groups["not in train or validation"][i] == neither
    sizes = test_set.sizes(splits)
    assert sizes["easy"] == [int(groups["easy"].sum())] * 2


def test_the_folder_is_not_touched(tmp_path: Path) -> None:
    from tests.factories.photos import fingerprint

    made = load_made(tmp_path / "corel5k")
    before = fingerprint(tmp_path)
    make_splits(made, numbered(N_DEVELOPMENT), (0,), N_TRAIN)
    made.checksum()
    assert fingerprint(tmp_path) == before
