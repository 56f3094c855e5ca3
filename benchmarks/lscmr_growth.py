"""lscmr-growth: what a round of LSCMR costs, as lists and candidates become 16 times as many.

A round looks at every list once: scores of all candidates, the most violated order, and the slopes
of both factors. Rows are sparse like texts and bags of visual words, the space has 10 dimensions,
the measure is MAP, and a quarter of the candidates is relevant. CPU time for each candidate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from benchmarks.bench import FULL, Bench
from benchmarks.rows import Goal, Row, curve
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.rankers._lscmr_planes import planes_of
from sightline.rankers.lscmr import Factors
from sightline.solvers.oracles import CandidateLists, Criterion

NAME = "lscmr-growth"
ROWS = ("lscmr-growth/lists", "lscmr-growth/candidates")
_GOAL = Goal("ratio", 1.1)
_LISTS, _CANDIDATES, _TIMES = 2_000, 40, (1, 4, 16)
_WORDS, _VISTERMS, _NUMBERS = 5_000, 1_000, 60
_UNIT = "CPU ns/candidate and round"


def measure(bench: Bench) -> list[Row]:
    """Return the cost of a round at the largest size beside the smallest."""
    lists = _LISTS if bench.sizes == FULL else _LISTS // 10
    sizes = {
        ROWS[0]: [(lists * t, _CANDIDATES) for t in _TIMES],
        ROWS[1]: [(lists, _CANDIDATES * t) for t in _TIMES],
    }
    out = []
    for (name, grown), what, at in zip(sizes.items(), ("lists", "candidates"), (0, 1), strict=True):
        taken = interleaved(bench.sizes.repetitions, [_round(n, c) for n, c in grown])
        each = [
            [1e9 * s / (n * c) for s in cpus(costs)]
            for (n, c), costs in zip(grown, taken, strict=True)
        ]
        out.append(curve(name, _UNIT, [g[at] for g in grown], what, each, _GOAL))
    return out


def _round(n: int, candidates: int) -> Callable[[], Cost]:
    rng = np.random.default_rng(0)
    Q, D = _rows(rng, n, _WORDS), _rows(rng, max(2_000, n), _VISTERMS)
    chosen = rng.integers(0, D.shape[0], (n, candidates))
    relevant = rng.permuted(np.tile(np.arange(candidates) % 4 == 0, (n, 1)), axis=1)
    planes = planes_of(Q, D, CandidateLists.of(chosen, relevant), Criterion.named("map"))
    factors = Factors(planes, 10, 1e-3, 1, rng)

    def run() -> None:
        batch = factors.separate()
        factors.violations([batch])
        factors.slope(batch)

    return lambda: clocked(run)


def _rows(rng: np.random.Generator, n: int, columns: int) -> sparse.csr_matrix:
    values = rng.random(n * _NUMBERS) / _NUMBERS**0.5
    places = rng.integers(0, columns, n * _NUMBERS)
    return sparse.csr_matrix((values, places, np.arange(n + 1) * _NUMBERS), shape=(n, columns))
