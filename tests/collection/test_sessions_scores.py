"""What a session says of its scores: a sensible range, a share as measured, reasons that add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.sessions.explain import SessionExplanation
from sightline.collection.sessions.session import Session
from sightline.feedback.scale import LARGEST
from tests.factories.judging_collections import judged_collection, kind_of
from tests.factories.planted_stores import plant


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return 240 pictures and a model that is sure: what does not fit has next to no score."""
    c = judged_collection(tmp_path_factory.mktemp("taught"), n=240, noise=0.1)
    c.train(rankers=["pamir"])
    return c


@pytest.fixture(scope="module")
def untaught(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return judged_collection(tmp_path_factory.mktemp("untaught"), n=240, noise=1.0)


def judge_some(session: Session, kind: int = 2, n: int = 8) -> None:
    """Judge some pictures of a cluster, and some of others."""
    fit = [h.picture for h in session.next(60) if kind_of(h.picture) == kind][:n]
    session.mark(positive=fit, negative=[p for p in range(100, 121) if kind_of(p) != kind])


def shares_told(session: Session, whys: dict[int, SessionExplanation]) -> tuple[float, float]:
    """Return the share that a session tells, and that of what it says of each unjudged picture."""
    ranking = session.next(240, hide_judged=True)
    own = np.array([whys[h.picture].untrained for h in ranking])
    learnt = np.array([h.score for h in ranking]) - own
    return ranking.share, float(own.std() / (own.std() + learnt.std()))


@pytest.mark.parametrize("begun", ["word2", "word2 pair1", 3, "pair1"])
@pytest.mark.parametrize("which", ["taught", "untaught"])
def test_scores_are_bounded_and_the_share_is_measured(
    which: str, begun: str | int, request: pytest.FixtureRequest
) -> None:
    c: Collection = request.getfixturevalue(which)
    session = c.judge(begun) if isinstance(begun, str) else c.judge(pictures=begun)
    judge_some(session)
    ranking = session.next(240)
    assert max(abs(h.score) for h in ranking) <= 2 * LARGEST
    whys = {h.picture: session.why(h) for h in ranking}
    told, measured = shares_told(session, whys)
    if told < 1:
        assert told == pytest.approx(measured, abs=1e-3)
    for h in ranking:
        why = whys[h.picture]
        total = why.untrained + why.rest + sum(b.contribution for b in why.because)
        assert total == pytest.approx(h.score, abs=1e-4) and abs(why.untrained) <= LARGEST


def test_a_word_whose_pictures_are_all_judged_leaves_its_share_at_0(untaught: Collection) -> None:
    """Without a model words say nothing of the pictures that are left."""
    session = untaught.judge("word2")
    tagged = [h.picture for h in session.next(60) if h.tagged]
    others = [p for p in range(1, 60) if kind_of(p) != 2]
    session.mark(positive=tagged, negative=others)
    found = session.next(200, hide_judged=True)
    assert found.share == 0.0 and found.hits[0].learned
    assert {session.why(h).untrained for h in found} == {0.0}


def test_near_duplicates_do_not_blow_up_what_each_judgement_adds(tmp_path: Path) -> None:
    """Of two rows that hardly differ, a least-squares fit would give one a huge share."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 12)).astype(np.float32)
    rows[::6] += 2.0
    rows[6] = rows[0] * (1.0 + 1e-6 * random.normal(size=12))
    rows[7] = rows[1] * (1.0 + 1e-6 * random.normal(size=12))
    plant(tmp_path / "store", [["some"]] * 120, {"deep": rows})
    (tmp_path / "photos").mkdir()
    for i in range(120):
        (tmp_path / "photos" / f"{i:04d}.jpg").write_bytes(b"x")
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    session = c.judge(pictures=13)
    session.mark(positive=[1, 7, 19, 25], negative=[2, 8, 3, 4])
    assert session.share < 1
    for h in session.next(20):
        why = session.why(h)
        assert max(abs(b.contribution) for b in why.because) < 10, why.lines()
