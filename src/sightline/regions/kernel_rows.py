"""Whole pictures by a kernel: rows on which linear models are kernel models.

Weighted sums of codeword counts predict badly: 3 regions of a colour instead of 2 are not half as
much more. Two pictures' shares of codewords are compared by chi-squared instead,

    k(p, p') = exp(-chi2(p, p') / mean chi2),     k(p, p') = row(p).row(p')

and rows are computed from the training pictures (`similarity.grams.inverse_root`), so that a linear
model is one of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.similarity.grams import inverse_root
from sightline.similarity.kernels import MeanKernel, bandwidth

MOST_LANDMARKS = 2000


class KernelRows:
    """Makes rows of pictures' shares of codewords.

    Parameters
    ----------
    arrays : mapping
        As `fit` and `to_arrays` give them.

    Examples
    --------
    >>> shares = np.array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.1, 0.9]])
    >>> rows = KernelRows.fit(shares)(shares)
    >>> near, far = np.linalg.norm(rows[0] - rows[1]), np.linalg.norm(rows[0] - rows[2])
    >>> bool(near < far)
    True
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)
        self._kernel = MeanKernel(("chi2",), (float(arrays["bandwidth"][0]),), (1.0,))

    @classmethod
    def fit(cls, shares: Doubles, seed: int = 0) -> Self:
        """Choose landmarks to compare pictures with: all, or a sample of more than 2,000."""
        some = np.asarray(shares, np.float64)
        if len(some) > MOST_LANDMARKS:
            random = np.random.default_rng(seed)
            some = some[np.sort(random.choice(len(some), MOST_LANDMARKS, replace=False))]
        wide = bandwidth(some, "chi2", statistic="mean", random_state=seed)
        table = MeanKernel(("chi2",), (wide,), (1.0,))((some,)).astype(np.float64)
        root = inverse_root(table)
        return cls(
            {
                "bandwidth": np.array([wide]), "landmarks": some, "root": root,
                "mean": (table @ root).mean(axis=0),
            }
        )  # fmt: skip

    def __call__(self, shares: Doubles) -> Doubles:
        """Return the rows of pictures."""
        a = self._arrays
        similarities = self._kernel((np.asarray(shares, np.float64),), (a["landmarks"],))
        rows: Doubles = similarities.astype(np.float64) @ a["root"] - a["mean"]
        return rows

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fitted arrays; `KernelRows(arrays)` is the same again."""
        return dict(self._arrays)
