"""describe: what the features that `train` computes by default cost, beside the least they can.

Ours decodes a JPEG file, makes its thumbnail and computes `deep`, `deep-stages`, `deep-peaks` and
`classic`. The limit decodes the same file and runs the network once on it, and nothing else. The
second row has the deep features of earlier versions, which ran the network twice. CPU time of one
thread; what the processes of an index exchange is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchmarks.bench import FULL, Bench
from benchmarks.paper_size import files
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from sightline import plugins
from sightline.collection.index.options import default_features
from sightline.compute.features import load_feature
from sightline.contracts import Feature
from sightline.features.deep import framing, session
from sightline.features.deep.vector import DeepVector
from sightline.pictures.decode import decode
from sightline.pictures.thumbnails import thumbnail
from sightline.registry import definitions

NAME = "describe"
ROWS = ("describe/default", "describe/earlier")
_GOAL = Goal("ratio", 1.35)
_BESIDE = "CPU ms/picture decoded and through the network once"
_PICTURES = 100


def measure(bench: Bench) -> list[Row]:
    """Describe the same pictures by current and earlier definitions and the limit, in turn."""
    if not session.is_available():
        raise BenchmarkError("The network is missing. Run: pip install 'sightline[deep]'")
    jpegs = files(bench, _PICTURES if bench.sizes == FULL else 10)
    paths = {n: plugins.place("features", n) for n in plugins.expanded(default_features())}
    current = [load_feature(path) for path in paths.values()]
    earlier = [load_feature(definitions(n, path)[-1]) for n, path in paths.items()]
    works = [_limit, lambda f: _describe(f, current), lambda f: _describe(f, earlier)]
    taken = [_in_turn(jpegs.data, works) for _ in range(bench.sizes.repetitions + 1)][1:]
    limit, ours, before = zip(*taken, strict=True)
    return [
        compared(ROWS[0], "CPU ms/picture", ours, _BESIDE, limit, _GOAL, jpegs.what),
        compared(ROWS[1], "CPU ms/picture", before, _BESIDE, limit),
    ]


def _describe(file: bytes, features: Sequence[Feature]) -> object:
    rgb = decode(file).rgb
    return thumbnail(rgb), [f.describe(rgb) for f in features]


def _limit(file: bytes) -> object:
    feature = DeepVector()
    picture = framing.framed(decode(file).rgb, feature.sizes[0], feature.framing)
    return session.run(feature.network, picture[None], "vector")


def _in_turn(data: Sequence[bytes], works: Sequence[Callable[[bytes], object]]) -> list[float]:
    """Return the CPU milliseconds a picture of each work, which take turns picture by picture."""
    spent = [0.0] * len(works)
    for file in data:
        for i, work in enumerate(works):
            begun = time.process_time()
            work(file)
            spent[i] += time.process_time() - begun
    return [1e3 * s / len(data) for s in spent]
