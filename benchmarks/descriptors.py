"""descriptors: what it costs to describe a decoded picture of 384×256, one descriptor at a time.

SIFT (keypoints and their 128 numbers) stands beside scikit-image's, which finds about as many. The
others are told by themselves: nobody else has them to the same definition. CPU time of one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.bench import FULL, Bench
from benchmarks.paper_size import RGB, decode, files
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline import plugins
from sightline.features.local.gradients import dense_descriptors
from sightline.features.local.lbp import padded_grey
from sightline.features.local.sift import keypoints

NAME = "descriptors"
_WHOLE = ("color", "edges", "gabor", "lbp", "gist", "ehd", "cedd")
ROWS = ("descriptors/sift", "descriptors/dense-sift", *(f"descriptors/{n}" for n in _WHOLE))
_SIFT = Goal("ratio", 1.0)
_PICTURES = 10


def measure(bench: Bench) -> list[Row]:
    """Describe the same pictures by each descriptor in turn."""
    sift = _theirs()
    jpegs = files(bench, _PICTURES if bench.sizes == FULL else 3)
    decoded = [decode(f) for f in jpegs.data]
    greys = [padded_grey(rgb)[2:-2, 2:-2] for rgb in decoded]
    n_ours = sum(len(keypoints(p).descriptors) for p in decoded) / len(decoded)
    n_reference = sum(_n_theirs(sift, g) for g in greys) / len(greys)
    if not 0.3 < n_ours / max(n_reference, 1.0) < 3:
        raise BenchmarkError(f"Ours finds {n_ours:.0f} keypoints, scikit-image {n_reference:.0f}.")
    described: list[Callable[[RGB], object]] = [keypoints, _dense]
    described += [plugins.load("features", name)().describe for name in _WHOLE]
    sides = [_side(decoded, d) for d in described]
    sides.append(_side(greys, lambda g: _n_theirs(sift, g)))
    n = len(decoded)
    taken = [[1e3 * s / n for s in cpus(c)] for c in interleaved(bench.sizes.repetitions, sides)]
    note = f"{n_ours:.0f} keypoints, {n_reference:.0f} by scikit-image; {jpegs.what}"
    rows = [compared(ROWS[0], "CPU ms", taken[0], "CPU ms scikit-image", taken[-1], _SIFT, note)]
    rows += [alone(r, "CPU ms", t) for r, t in zip(ROWS[1:], taken[1:-1], strict=True)]
    return rows


def _side(pictures: Sequence[Any], describe: Callable[[Any], object]) -> Callable[[], Cost]:
    return lambda: clocked(lambda: [describe(p) for p in pictures])


def _dense(rgb: RGB) -> object:
    return dense_descriptors(rgb, (4, 8), 6)


def _theirs() -> Any:
    try:
        from skimage.feature import SIFT
    except ImportError as e:
        raise BenchmarkError("scikit-image is missing. Run: pip install 'sightline[bench]'") from e
    return SIFT


def _n_theirs(sift: Any, grey: Any) -> int:
    found = sift()
    found.detect_and_extract(grey)
    return len(found.descriptors)
