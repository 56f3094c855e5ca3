"""The protocol of paper B: queries, measures, and sessions that go all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.feedback.blend import Blend
from sightline.feedback.relevance_score import RelevanceScore
from sightline.feedback.simulation import SimulatedUser, simulate
from sightline.measures import average_precision_at, precision_at
from sightline.progress import NoProgress
from sightline_experiments.feedback import paper
from sightline_experiments.feedback.judging import best, depth, measured
from sightline_experiments.feedback.methods import (
    LINEAR,
    MACHINE,
    METHODS,
    PAPERS,
    SHIPPED,
    UNPLACED,
)
from sightline_experiments.feedback.sessions import Track, run_sessions
from sightline_experiments.feedback.space import Space, choose_queries

ROUNDS, SHOWN, MOST = 3, 6, 12


@pytest.fixture(scope="module")
def space() -> Space:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), [30, 20, 9, 15, 26])
    rows = random.normal(size=(5, 12))[labels] + 1.1 * random.normal(size=(len(labels), 12))
    return Space(rows.astype(np.float32), labels, "unit", 25)


def test_queries_cover_all_classes_and_depend_on_the_seed_alone() -> None:
    labels = np.repeat(np.arange(20), 5)
    queries = choose_queries(labels, 30)
    assert len(set(queries.tolist())) == 30 and set(labels[queries]) == set(range(20))
    assert queries.tolist() == choose_queries(labels, 30).tolist()
    assert queries.tolist() != choose_queries(labels, 30, seed=1).tolist()
    with pytest.raises(DataError, match="must be from 20 to 100"):
        choose_queries(labels, 10)
    # Of a class of one no picture could be found.
    assert 3 not in choose_queries([0, 0, 1, 2, 1], 3)


def test_the_best_are_ordered_by_score_and_then_by_place() -> None:
    scores = np.random.default_rng(0).integers(0, 6, 50).astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    for k in (1, 7, 30, 50, 80):
        assert best(scores, k).tolist() == order[:k].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_measures_of_the_best_are_those_of_the_whole_ranking(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, fits = random.normal(size=80), random.random(80) < 0.3
    query = int(np.flatnonzero(fits)[0])
    judged = np.append(query, random.choice(np.delete(np.arange(80), query), 20, replace=False))
    found = measured(best(scores, depth(21, SHOWN, MOST)), fits, query, judged, SHOWN, MOST)
    n = int(fits.sum())
    without = np.delete(np.arange(80), query)
    assert found.precision == pytest.approx(precision_at(scores[without], fits[without], k=SHOWN))
    T = min(n - 1, MOST)
    assert found.average == pytest.approx(average_precision_at(scores[without], fits[without], k=T))
    assert found.paper_precision == pytest.approx(precision_at(scores, fits, k=SHOWN))
    assert found.paper_average == pytest.approx(average_precision_at(scores, fits, k=min(n, MOST)))
    new = np.setdiff1d(np.arange(80), judged)
    possible = min(SHOWN, int(fits[new].sum()))
    assert found.unjudged == pytest.approx(
        precision_at(scores[new], fits[new], k=SHOWN) * SHOWN / possible
    )


def test_where_all_relevant_ones_are_judged_nothing_is_possible() -> None:
    fits = np.array([True, True, False, False])
    found = measured(np.arange(4), fits, 0, np.array([0, 1]), 2, 2)
    assert np.isnan(found.unjudged) and found.precision == 0.5 and found.average == 1.0


def _alone(make: Any, space: Space, query: int, from_query: bool, flipped: float) -> list[Any]:
    """Measure one session by itself, from whole rankings."""
    fits = space.labels == space.labels[query]
    user = SimulatedUser(fits, flipped, random_state=query)
    learner = make()
    start = learner.start
    # Sessions by themselves know no background.
    learner.start = lambda query_weights=None: start(query_weights, space.background)
    rounds = simulate(learner, space.rows, query, user, ROUNDS, SHOWN, from_query)
    return [measured(best(r.scores, 100), fits, query, r.judged, SHOWN, MOST) for r in rounds]


NAMES = [*METHODS, "blended RS"]
# Judged pictures lie at an SVM's margin, where rounding orders them; with wrong judgements that
# shows.
CASES = [(name, 0.0) for name in NAMES] + [(name, 0.2) for name in NAMES if name != MACHINE]


@pytest.mark.parametrize(("name", "flipped"), CASES)
def test_sessions_at_once_are_sessions_by_themselves(
    name: str, flipped: float, space: Space
) -> None:
    method = METHODS.get(name)
    make = method.learner if method else lambda: Blend(learner=RelevanceScore())
    from_query = method.from_query if method else True
    queries = choose_queries(space.labels, 7)
    track = run_sessions(
        make, space, queries, NoProgress(), rounds=ROUNDS, shown=SHOWN, most=MOST,
        from_query=from_query, flipped=flipped,
    )  # fmt: skip
    assert track.average.shape == (ROUNDS + 1, 7)
    for i, query in enumerate(queries.tolist()):
        alone = np.array(_alone(make, space, query, from_query, flipped))
        assert track.precision[:, i] == pytest.approx(alone[:, 0])
        assert track.average[:, i] == pytest.approx(alone[:, 1])
        assert track.unjudged[:, i] == pytest.approx(alone[:, 4], nan_ok=True)


def test_judged_pictures_are_placed_unless_they_are_not_to_be(space: Space) -> None:
    queries = choose_queries(space.labels, 7)
    first, second = (
        run_sessions(METHODS[SHIPPED].learner, space, queries, NoProgress(), rounds=ROUNDS,
                     shown=SHOWN, most=MOST, flipped=0.2, place=place)
        for place in (True, False)
    )  # fmt: skip
    assert METHODS[UNPLACED].placed is False
    assert first.average[0].tolist() == second.average[0].tolist()
    assert first.average[1:].tolist() != second.average[1:].tolist()


def test_distances_are_those_between_rows(space: Space) -> None:
    rows = space.rows.astype(np.float64)
    twin = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert space.squared == pytest.approx(twin, abs=1e-5)
    assert not space.squared.diagonal().any()


def track(average: Any, precision: Any = None) -> Track:
    a = np.asarray(average, dtype=np.float64)
    p = a if precision is None else np.asarray(precision, dtype=np.float64)
    return Track(p, a, p, a, a, 0.0, np.zeros(a.shape[1]))


def test_harm_is_a_lower_end_than_the_beginning() -> None:
    found = track([[0.5, 0.5, 0.5, 0.2], [0.9, 0.1, 0.5, 0.3], [0.4, 0.6, 0.5, 0.1]])
    assert found.harmed() == 0.5
    assert found.gain() == pytest.approx(-0.025)


def curves(**last: float) -> dict[str, Track]:
    """Straight curves of five rounds from 0 to the last value, for each of the paper's methods."""

    def straight(value: float) -> NDArray[np.float64]:
        return np.linspace(0, value, 6)[:, None]

    names = dict(zip(("pa", "kernel", "svm", "rs"), PAPERS, strict=True))
    return {name: track(straight(last[key])) for key, name in names.items()}


def test_the_papers_statements_are_held_against_figures() -> None:
    as_said = curves(pa=0.6, kernel=0.4, svm=0.3, rs=0.5)
    assert PAPERS[0] == LINEAR
    held = dict(paper.claims("ehd", as_said))
    assert [so for text, so in held.items() if "after one round" not in text] == [True] * 5
    # A straight curve is lower from the first round on.
    assert not held["kernel PA is not below linear PA after one round, in AP@T"]
    assert not dict(paper.claims("cedd", as_said))["kernel PA is below SVM, in AP@T at the end"]
    other = dict(paper.claims("ehd", curves(pa=0.3, kernel=0.4, svm=0.6, rs=0.5)))
    assert sum(other.values()) == 1  # kernel PA after one round
    assert not list(paper.claims("deep", as_said))
