"""How rows of a descriptor are laid out before they are compared, learnt from training pictures.

    plain      as they are
    unit       of length 1
    root       signed square roots, of length 1
    standard   each number less its mean, by its deviation, within 3 deviations
    ranks      each number by the share of training pictures that have a smaller one
    damped     centred, strong directions damped (`similarity.whitening`), of length 1
    rooted     as root, and then damped
    reduced    of length 1, centred, the 128 directions in which training pictures differ most, of
               length 1; of shorter descriptors half of the directions

The paper does not say how its descriptors are scaled, nor whether phi is against what is usual for
a picture (`similarity.context`). Here every fold chooses a frame for every
descriptor, and then whether to look at what is usual, by which some of its validation queries have
the best mAP, all similarities counting alike. All methods see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Progress
from sightline.reproduce.online.folds import Fold
from sightline.reproduce.online.lists import ranked_lists
from sightline.similarity.pairs import Phi
from sightline.similarity.whitening import Whitening

N_QUERIES = 100
_WIDEST = 3.0
# Enough to choose by; what is chosen is compared by more of them.
_PAIRS = 5000
_DIRECTIONS = 128

Floats = NDArray[np.float32]
Int = NDArray[np.int64]
Frame = Callable[[Floats, Floats], Floats]


def _plain(rows: Floats, train: Floats) -> Floats:
    return rows


def _unit(rows: Floats, train: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    found: Floats = rows / np.where(lengths > 0, lengths, 1.0).astype(np.float32)[:, None]
    return found


def _root(rows: Floats, train: Floats) -> Floats:
    return _unit(np.sign(rows) * np.sqrt(np.abs(rows)), train)


def _standard(rows: Floats, train: Floats) -> Floats:
    mean, spread = train.mean(axis=0), train.std(axis=0)
    # Rounding of a number that never differs is no spread.
    known = spread > 1e-6 * np.abs(train).max(axis=0)
    found = (rows - mean) / np.where(known, spread, 1.0)
    out: Floats = np.clip(found * known, -_WIDEST, _WIDEST).astype(np.float32)
    return out


def _ranks(rows: Floats, train: Floats) -> Floats:
    out = np.empty(rows.shape, dtype=np.float32)
    for k, column in enumerate(np.sort(train, axis=0).T):
        out[:, k] = np.searchsorted(column, rows[:, k]) / len(column)
    return out


def _damped(rows: Floats, train: Floats) -> Floats:
    return np.asarray(Whitening.of(train)(rows), np.float32)


def _rooted(rows: Floats, train: Floats) -> Floats:
    return _damped(_root(rows, train), _root(train, train))


def _reduced(rows: Floats, train: Floats) -> Floats:
    from scipy.linalg import eigh

    own, units = _unit(rows, train), _unit(train, train)
    mean = units.mean(axis=0, dtype=np.float64)
    centred = units - mean
    V = eigh(centred.T @ centred)[1][:, ::-1][:, : min(_DIRECTIONS, (rows.shape[1] + 1) // 2)]
    # A library may return either sign of a direction.
    V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    return _unit(((own - mean) @ V).astype(np.float32), train)


FRAMES: dict[str, Frame] = {
    "plain": _plain,
    "unit": _unit,
    "root": _root,
    "standard": _standard,
    "ranks": _ranks,
    "damped": _damped,
    "rooted": _rooted,
    "reduced": _reduced,
}
"""The frames by name: from all rows, and those of training pictures, to rows."""


def choose_frames(
    rows: Mapping[str, Floats],
    labels: Int,
    fold: Fold,
    progress: Progress,
    n_queries: int = N_QUERIES,
    frames: Sequence[str] | None = None,
) -> dict[str, str]:
    """Return the best frame of each descriptor, by validation queries; of equals the first.

    `frames` are those to try, all by default.
    """
    tried = tuple(FRAMES) if frames is None else tuple(frames)
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


def some_queries(fold: Fold, n: int) -> Int:
    """Return some validation queries of a fold."""
    random = np.random.default_rng(fold.number)
    chosen: Int = np.sort(random.choice(fold.validation, min(n, len(fold.validation)), False))
    return chosen


def framed_rows(rows: Floats, frame: str, fold: Fold) -> Floats:
    """Return all rows in a frame that training pictures taught."""
    return FRAMES[frame](rows, rows[fold.train])
