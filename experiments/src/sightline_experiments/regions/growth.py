"""Time of the latent model against the number of pictures and of tags.

More pictures are the same ones repeated; more tags divide each tag's pictures among several. Only
time is measured, since the predictions of such data mean nothing.
"""

from __future__ import annotations

import time

import numpy as np

from sightline._typing import Bools
from sightline.regions.scored import ScoredRegionModel
from sightline_experiments.regions.methods import inputs
from sightline_experiments.regions.protocol import HalfData
from sightline_experiments.regions.results import Growth

_ITERATIONS = 20
_TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)


def grown(data: HalfData, n_scenes: int) -> list[Growth]:
    """Return times for a quarter, half … of the training pictures, and of the tags."""
    n, tags = len(data.half.development), data.tags.shape[1]
    sizes = [(round(n * k), tags) for k in _TIMES]
    sizes += [(n, round(tags * k)) for k in _TIMES if k != 1]
    return [_measured(data, p, t, n_scenes) for p, t in sizes if p and t]


def _measured(data: HalfData, n: int, tags: int, n_scenes: int) -> Growth:
    mixed = np.random.default_rng(0).permutation(data.half.development)
    some = np.sort(np.resize(mixed, n))
    model_inputs, Y = inputs(data, some), shared_out(data.tags[some], tags)
    model = ScoredRegionModel(
        n_scenes=n_scenes, max_iterations=_ITERATIONS, tolerance=0.0, least_pictures=1
    )
    began = time.process_time()
    model.fit(model_inputs[0], Y, model_inputs[1], model_inputs[2])
    middle = time.process_time()
    model.predict(*model_inputs)
    each = (time.process_time() - middle) / len(some)
    return Growth(n, tags, middle - began, len(model.model_.minimum_.values), each)


def shared_out(Y: Bools, tags: int) -> Bools:
    """Return so many tags: the first ones, or copies, of which a picture has one for each tag.

    >>> shared_out(np.ones((2, 1), bool), 2).sum(axis=1).tolist()
    [1, 1]
    """
    n_tags = Y.shape[1]
    if tags <= n_tags:
        return Y[:, :tags]
    copies = -(-tags // n_tags)
    pick = np.random.default_rng(0).integers(0, copies, Y.shape)
    spread = Y[:, None, :] & (pick[:, None, :] == np.arange(copies)[:, None])
    return np.ascontiguousarray(spread.reshape(len(Y), -1)[:, :tags])
