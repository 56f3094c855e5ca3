"""How time grows with pictures and with tags: the latent model on parts, and on more, of them.

More pictures are the same ones again; more tags are made by sharing each tag's pictures out among
several. That says nothing of how well is learnt, and is not measured by it.
"""

from __future__ import annotations

import time

import numpy as np

from sightline._typing import Bools
from sightline.regions.scored import ScoredRegionModel
from sightline_experiments.regions.methods import inputs
from sightline_experiments.regions.protocol import Seen
from sightline_experiments.regions.results import Growth

_ITERATIONS = 20
_TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)


def grown(seen: Seen, n_scenes: int) -> list[Growth]:
    """Return times for a quarter, half … of the pictures to learn from, and of the tags."""
    n, tags = len(seen.half.development), seen.tags.shape[1]
    sizes = [(round(n * k), tags) for k in _TIMES]
    sizes += [(n, round(tags * k)) for k in _TIMES if k != 1]
    return [_measured(seen, p, t, n_scenes) for p, t in sizes if p and t]


def _measured(seen: Seen, n: int, tags: int, n_scenes: int) -> Growth:
    mixed = np.random.default_rng(0).permutation(seen.half.development)
    some = np.sort(np.resize(mixed, n))
    given, Y = inputs(seen, some), shared_out(seen.tags[some], tags)
    model = ScoredRegionModel(
        n_scenes=n_scenes, max_iterations=_ITERATIONS, tolerance=0.0, least_pictures=1
    )
    began = time.process_time()
    model.fit(given[0], Y, given[1], given[2])
    middle = time.process_time()
    model.predict(*given)
    each = (time.process_time() - middle) / len(some)
    return Growth(n, tags, middle - began, len(model.model_.minimum_.values), each)


def shared_out(Y: Bools, tags: int) -> Bools:
    """Return so many tags: the first of those there are, or each as several, a picture has one of.

    >>> shared_out(np.ones((2, 1), bool), 2).sum(axis=1).tolist()
    [1, 1]
    """
    known = Y.shape[1]
    if tags <= known:
        return Y[:, :tags]
    copies = -(-tags // known)
    pick = np.random.default_rng(0).integers(0, copies, Y.shape)
    spread = Y[:, None, :] & (pick[:, None, :] == np.arange(copies)[:, None])
    return np.ascontiguousarray(spread.reshape(len(Y), -1)[:, :tags])
