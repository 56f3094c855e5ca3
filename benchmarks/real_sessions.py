"""Sessions over real pictures: Caltech-101 by CEDD, made as many rows as a benchmark wants.

The rows of all pictures are laid out as at most 128 numbers and repeated, each number of a copy
times 1 + N(0, .1^2). A session is a picture whose nearest 20 were judged by their class, so that
weights are those of real queries.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.compute.local import LocalCompute
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.progress import NoProgress
from sightline.similarity.scaling import FeatureScaling
from sightline_experiments.cache import kept
from sightline_experiments.datasets.classed import CALTECH, load_classed
from sightline_experiments.feedback.space import choose_queries
from sightline_experiments.online.pool import Describer
from sightline_experiments.online.protocol import Fold

_JUDGED = 20
_NOISE = 0.1

Matrix = NDArray[np.float32]


class RealSessions:
    """Rows of real pictures, and the weights their sessions come to."""

    def __init__(self, rows: Matrix, labels: NDArray[np.int64], n_sessions: int) -> None:
        self.rows, self.labels = rows, labels
        self.queries = choose_queries(labels, n_sessions)

    def __len__(self) -> int:
        return len(self.queries)

    def weights(self, number: int) -> NDArray[np.float64]:
        """Return the weights of a session after its first round."""
        query = self.queries[number]
        scores = self.rows @ self.rows[query]
        judged = np.argsort(-scores, kind="stable")[: _JUDGED + 1]
        signs = np.where(self.labels[judged] == self.labels[query], 1, -1)
        learner = PassiveAggressive(random_state=number).start(self.rows[query])
        w = learner.partial_fit(self.rows[judged], signs).w_
        return np.asarray(self.rows[query] if w is None else w, np.float64)

    def repeated(self, n: int) -> Matrix:
        """Return n rows: the real ones, then copies that differ a little."""
        random = np.random.default_rng(31)
        out = np.empty((n, self.rows.shape[1]), dtype=np.float32)
        for begin in range(0, n, len(self.rows)):
            part = self.rows[: n - begin]
            if begin:
                noise = random.standard_normal(part.shape, dtype=np.float32)
                part = part * (1 + np.float32(_NOISE) * noise)
            out[begin : begin + len(part)] = part
        return out


def real_sessions(data: Path, n_sessions: int, feature: str = "cedd") -> RealSessions | None:
    """Return sessions over the pictures of a data folder; None if they are not there."""
    real = real_rows(data, feature)
    if real is None:
        return None
    rows, labels = real
    return RealSessions(FeatureScaling.of("reduced", rows)(rows), labels, n_sessions)


def real_rows(data: Path, feature: str) -> tuple[Matrix, NDArray[np.int64]] | None:
    """Return the rows and classes of Caltech-101; None if it is not in the data folder."""
    c = load_classed(data, CALTECH)
    if c is None:
        return None
    cache = kept(f"{c.kind.name}-classes", c.checksum())
    with LocalCompute(1) as compute:
        describer = Describer(c, compute, cache, NoProgress())
        rows = describer.describe([Fold(0, np.arange(len(c)), np.arange(0))], [feature])[0][feature]
    return np.asarray(rows, np.float32), np.asarray(c.labels)
