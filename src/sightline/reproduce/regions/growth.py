"""How time grows with pictures and with tags: the latent model on parts of what there is."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from sightline.regions.scored import ScoredRegionModel
from sightline.reproduce.regions.methods import inputs
from sightline.reproduce.regions.results import Growth
from sightline.reproduce.regions.seeing import Seen

_ITERATIONS = 20
_PARTS = 4


def grown(seen: Seen, n_scenes: int) -> list[Growth]:
    """Return times for halves, quarters … of the pictures to learn from, and of the tags."""
    known = seen.half.development
    mixed = np.random.default_rng(0).permutation(known)
    tags = seen.tags.shape[1]
    sizes = [(len(known) >> k, tags) for k in reversed(range(_PARTS))]
    sizes += [(len(known), tags >> k) for k in reversed(range(1, _PARTS)) if tags >> k]
    return [_measured(seen, mixed[:n], t, n_scenes) for n, t in sizes if n]


def _measured(seen: Seen, some: NDArray[np.int64], tags: int, n_scenes: int) -> Growth:
    given, Y = inputs(seen, np.sort(some)), seen.tags[np.sort(some)][:, :tags]
    model = ScoredRegionModel(
        n_scenes=n_scenes, max_iterations=_ITERATIONS, tolerance=0.0, least_pictures=1
    )
    began = time.process_time()
    model.fit(given[0], Y, given[1], given[2])
    middle = time.process_time()
    model.predict(*given)
    each = (time.process_time() - middle) / len(some)
    iterations = len(model.model_.minimum_.values)
    return Growth(len(some), tags, middle - began, iterations, each)
