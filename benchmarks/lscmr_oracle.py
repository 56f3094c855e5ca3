"""lscmr-oracle: the most violated order of lists of 40 candidates, for average precision.

Scores are drawn at random, ten candidates of a list are relevant. The baseline is the same greedy
choice in numpy, a table of relevant by other candidates for each list, its sums and its maxima; it
must find the same values. Beside it the exact programme, and lists of twice the candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import clocked, cpus, interleaved
from sightline.solvers.oracles import CandidateLists, Criterion, separate

NAME = "lscmr-oracle"
ROWS = ("lscmr-oracle/map", "lscmr-oracle/programme", "lscmr-oracle/twice-the-candidates")
_GOAL = Goal("ratio", 0.05)
_LISTS, _CANDIDATES, _RELEVANT = 20_000, 40, 10
_UNIT = "CPU µs/list"
_MAP = Criterion.named("map")
Doubles = NDArray[np.float64]


def measure(bench: Bench) -> list[Row]:
    """Separate all lists, in turn with the baseline."""
    n = _LISTS if bench.sizes == FULL else _LISTS // 20
    lists, scores = _made(n, _CANDIDATES)
    wide, wide_scores = _made(n, 2 * _CANDIDATES)
    ours = separate(scores, lists, _MAP).values
    theirs = _all_in_numpy(scores, lists)
    if not np.allclose(ours, theirs):
        raise BenchmarkError(f"The oracle is off by {np.abs(ours - theirs).max():g} from numpy's.")
    sides = [
        lambda: clocked(lambda: separate(scores, lists, _MAP)),
        lambda: clocked(lambda: _all_in_numpy(scores, lists)),
        lambda: clocked(lambda: separate(scores, lists, _MAP, exact=True)),
        lambda: clocked(lambda: separate(wide_scores, wide, _MAP)),
    ]
    greedy, numpy, programme, longer = (
        [1e6 * s / n for s in cpus(costs)] for costs in interleaved(bench.sizes.repetitions, sides)
    )
    note = f"{n:,} lists of {_CANDIDATES}, {_RELEVANT} of them relevant"
    return [
        compared(ROWS[0], _UNIT, greedy, f"{_UNIT}, numpy", numpy, _GOAL, note),
        alone(ROWS[1], _UNIT, programme, note=note),
        compared(ROWS[2], _UNIT, longer, f"{_UNIT}, {_CANDIDATES} candidates", greedy,
                 note=f"{2 * _CANDIDATES} candidates, twice as many relevant"),
    ]  # fmt: skip


def _made(n: int, candidates: int) -> tuple[CandidateLists, Doubles]:
    rng = np.random.default_rng(0)
    relevant = np.zeros((n, candidates), dtype=bool)
    relevant[:, : candidates * _RELEVANT // _CANDIDATES] = True
    relevant = rng.permuted(relevant, axis=1)
    places = np.broadcast_to(np.arange(candidates), relevant.shape)
    return CandidateLists.of(places, relevant), rng.normal(scale=0.5, size=n * candidates)


def _all_in_numpy(scores: Doubles, lists: CandidateLists) -> Doubles:
    parts = zip(lists.start[:-1], lists.start[1:], strict=True)
    return np.array([_in_numpy(scores[a:b], lists.relevant[a:b]) for a, b in parts])


def _in_numpy(scores: Doubles, relevant: NDArray[Any]) -> float:
    a, b = np.sort(scores[relevant])[::-1], np.sort(scores[~relevant])[::-1]
    n, m = len(a), len(b)
    i, j = np.arange(1, n + 1)[:, None], np.arange(1, m + 1)
    gains = (j / (j + i) - (j - 1) / (j + i - 1)) / n - 2 * (a[:, None] - b) / (n * m)
    sums = np.zeros((n + 1, m))
    sums[:n] = np.cumsum(gains[::-1], axis=0)[::-1]
    # The last of equal maxima is the largest place.
    place = n - np.argmax(sums[::-1], axis=0)
    above = np.searchsorted(place, np.arange(n), side="right")
    total = np.concatenate([[0.0], np.cumsum(b)])
    loss = 1 - np.mean(i[:, 0] / (i[:, 0] + above))
    return float(loss - 2 * np.sum(above * a - total[above]) / (n * m))
