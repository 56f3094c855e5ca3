"""region-inference: the best tags of a picture's regions, exactly, against general solvers.

Worths of 25 regions to 20 tags are drawn at random, as are gains of tags: none below 0, where an
assignment is exact, or mostly below, where branches are needed. The baselines are the paper's
linear programme and the same with integers, both by HiGHS, their constraints built anew for each
picture as one who uses it would. All must agree: the search with the integers, the assignment with
both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Row, compared
from benchmarks.timing import clocked, cpus, interleaved
from sightline.regions.inference import choose_tags
from sightline.regions.programme import by_integers, relax

NAME = "region-inference"
ROWS = ("region-inference/assignment", "region-inference/exact", "region-inference/integers")
_PICTURES, _REGIONS, _TAGS = 60, 25, 20
_UNIT = "CPU ms/picture"

Doubles = NDArray[np.float64]
Problems = list[tuple[Doubles, Doubles]]


def measure(bench: Bench) -> list[Row]:
    """Solve all problems, in turn with the baselines."""
    n = _PICTURES if bench.sizes == FULL else _PICTURES // 10
    free, costly = _made(n)
    share = _checked(free, costly)
    sides = [
        lambda: clocked(lambda: [choose_tags(a, b) for a, b in free]),
        lambda: clocked(lambda: [relax(a, b) for a, b in free]),
        lambda: clocked(lambda: [choose_tags(a, b) for a, b in costly]),
        lambda: clocked(lambda: [relax(a, b) for a, b in costly]),
        lambda: clocked(lambda: [by_integers(a, b) for a, b in costly]),
    ]
    assigned, free_relaxed, exact, relaxed, integers = (
        [1e3 * s / n for s in cpus(costs)] for costs in interleaved(bench.sizes.repetitions, sides)
    )
    size = f"{n} pictures of {_REGIONS} regions, {_TAGS} tags"
    note = f"{size}; the linear programme was fractional in {share:.0%}"
    programme = f"{_UNIT}, linear programme"
    return [
        compared(ROWS[0], _UNIT, assigned, programme, free_relaxed, note=f"{size}, no gain < 0"),
        compared(ROWS[1], _UNIT, exact, programme, relaxed, note=note),
        compared(ROWS[2], _UNIT, exact, f"{_UNIT}, integers by HiGHS", integers, note=note),
    ]


def _made(n: int) -> tuple[Problems, Problems]:
    """Return pictures whose tags cost nothing, and some whose tags mostly cost."""
    random = np.random.default_rng(0)
    worths = random.normal(size=(n, _REGIONS, _TAGS))
    gains = random.normal(-2.0, 1.0, (n, _TAGS))
    return list(zip(worths, np.abs(gains), strict=True)), list(zip(worths, gains, strict=True))


def _checked(free: Problems, costly: Problems) -> float:
    """Return how often the linear programme is fractional; refuse answers that differ."""
    for a, b in free:
        _agree(choose_tags(a, b).value, relax(a, b).bound)
    for a, b in costly:
        _agree(choose_tags(a, b).value, by_integers(a, b).value)
    return float(np.mean([relax(a, b).fractional for a, b in costly]))


def _agree(ours: float, theirs: float) -> None:
    if not np.isclose(ours, theirs, rtol=1e-6, atol=1e-6):
        raise BenchmarkError(f"The best tags are worth {ours:g} here and {theirs:g} by HiGHS.")
