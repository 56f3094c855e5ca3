"""Agreement with trec_eval, through ir_measures, on random runs."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest

from sightline.measures import Judged, RankedList, eleven_points, evaluate, judged_run

JUDGE = {
    "AvgP": ir_measures.AP,
    "BEP": ir_measures.Rprec,
    "MRR": ir_measures.RR,
    "P@5": ir_measures.P @ 5,
    "P@20": ir_measures.P @ 20,
    "NDCG@10": ir_measures.nDCG(gains={2: 3, 3: 7}) @ 10,
    "NDCG": ir_measures.nDCG(gains={2: 3, 3: 7}),
}


def random_run(seed: int, *, tied: bool) -> tuple[list[RankedList], list[Judged]]:
    """Runs that miss some judged pictures and hold some that nobody judged."""
    generator = np.random.default_rng(seed)
    lists, judged = [], []
    for q in range(12):
        found = generator.choice(60, 40, replace=False)
        scores = generator.integers(0, 8, 40) if tied else generator.permutation(40)
        known = generator.choice(60, 30, replace=False)
        grades = generator.choice([-1, 0, 1, 2, 3], 30, p=[0.1, 0.5, 0.2, 0.1, 0.1])
        names = tuple(f"p{i:02d}" for i in found)
        lists.append(RankedList(f"q{q}", names, tuple(scores.astype(float))))
        names = tuple(f"p{i:02d}" for i in known)
        judged.append(Judged(f"q{q}", names, tuple(grades.astype(float))))
    return lists, judged


def judge(
    lists: list[RankedList], judged: list[Judged], name: str, *, mirrored: bool
) -> dict[str, float]:
    def spelled(picture: str) -> str:
        # trec_eval breaks ties by id descending, so the judge sees the ids mirrored.
        return f"p{99 - int(picture[1:]):02d}" if mirrored else picture

    run = [
        ir_measures.ScoredDoc(x.query, spelled(i), s)
        for x in lists
        for i, s in zip(x.ids, x.scores, strict=True)
    ]
    qrels = [
        ir_measures.Qrel(j.query, spelled(i), int(g))
        for j in judged
        for i, g in zip(j.ids, j.grades, strict=True)
    ]
    return {m.query_id: m.value for m in ir_measures.iter_calc([JUDGE[name]], qrels, run)}


@pytest.mark.parametrize("name", JUDGE)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_query_by_query(name: str, tied: bool, seed: int) -> None:
    lists, judged = random_run(seed, tied=tied)
    held = judged_run(lists, judged)
    (ours,) = evaluate(held.rankings, [name])
    theirs = judge(lists, judged, name, mirrored=tied)
    assert ours.values == pytest.approx([theirs[q] for q in held.queries], abs=1e-9)


def test_eleven_points_agree() -> None:
    generator = np.random.default_rng(3)
    # trec_eval rounds recall levels in its own way; with ten relevant pictures both are exact.
    grades = generator.permutation([1.0] * 10 + [0.0] * 40)
    names = [f"p{i:02d}" for i in range(50)]
    run = [ir_measures.ScoredDoc("q", n, 50.0 - i) for i, n in enumerate(names)]
    qrels = [ir_measures.Qrel("q", n, int(g)) for n, g in zip(names, grades, strict=True)]
    wanted = [ir_measures.IPrec @ (i / 10) for i in range(11)]
    theirs = ir_measures.calc_aggregate(wanted, qrels, run)
    ours = eleven_points(grades).precision
    assert ours == pytest.approx([theirs[m] for m in wanted])
