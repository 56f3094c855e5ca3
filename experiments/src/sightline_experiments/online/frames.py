"""Which frame every descriptor is laid out in (`similarity.frames`), chosen by each fold.

The paper does not say how its descriptors are scaled, nor whether phi is against what is usual for
a picture (`similarity.context`). Here every fold chooses a frame for every
descriptor, and then whether to look at what is usual, by which some of its validation queries have
the best mAP, all similarities counting alike. All methods see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sightline._typing import Floats, Ints
from sightline.contracts import Progress
from sightline.similarity.frames import FRAMES, Frame
from sightline.similarity.pairs import Phi
from sightline_experiments.online.folds import Fold
from sightline_experiments.online.lists import ranked_lists

N_QUERIES = 100
# Enough to choose by; what is chosen is compared by more of them.
_PAIRS = 5000


def choose_frames(
    rows: Mapping[str, Floats],
    labels: Ints,
    fold: Fold,
    progress: Progress,
    n_queries: int = N_QUERIES,
    frames: Sequence[str] | None = None,
) -> dict[str, str]:
    """Return the best frame of each descriptor, by validation queries; of equals the first.

    `frames` are those to try, all by default.
    """
    tried = FRAMES if frames is None else tuple(frames)
    queries = some_queries(fold, n_queries)
    chosen = {}
    progress.start(f"fold {fold.number}: choose frames", len(rows) * len(tried))
    for name, own in rows.items():
        worth = {}
        for frame in tried:
            framed = framed_rows(own, frame, fold)
            phi = Phi.of((framed[fold.train],), pairs=_PAIRS)
            lists = ranked_lists(phi, (framed,), labels, queries)
            worth[frame] = lists.mean_avgp(lists.rows.sum(axis=1))
            progress.advance()
        chosen[name] = max(worth, key=lambda f: worth[f])
    progress.finish()
    return chosen


def some_queries(fold: Fold, n: int) -> Ints:
    """Return some validation queries of a fold."""
    random = np.random.default_rng(fold.number)
    chosen: Ints = np.sort(random.choice(fold.validation, min(n, len(fold.validation)), False))
    return chosen


def framed_rows(rows: Floats, frame: str, fold: Fold) -> Floats:
    """Return all rows in a frame that training pictures taught."""
    return np.asarray(Frame.of(frame, rows[fold.train])(rows))
