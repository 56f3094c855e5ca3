"""Visterms: counts of some thousand typical blocks in a picture.

Blocks (`blocks`) of training pictures are grouped into K visual terms (`codebook`); a picture is
the bag of its blocks' terms, as a text is a bag of words. `describe` gives the plain counts; their
weights, p_i = tf_i idf_i / |tf idf| with idf_i = -log(share of training pictures that hold i),
depend on the training pictures of a learner: see `idf_of` and `weighted`.

Grangier, Bengio: A discriminative kernel-based approach to rank images from text queries, 2008;
there b = 64, K = 10,000 for the linear model. Departures: see `blocks` for the scaling and sampling
of blocks; K is lowered where the sample has fewer than 20 blocks for each term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Floats
from sightline.contracts import Json, Mapper
from sightline.features.local.blocks import Grid, block_descriptors
from sightline.features.local.codebook import assign, codebook, distinct
from sightline.features.local.color import choose_colors, color_table, sample_pixels
from sightline.features.local.fitted import checksum, needed
from sightline.vectors import l2_normalize, l2_norms

_LEAST_BLOCKS = 20  # in the sample, for each term
_SAMPLE = 400_000  # blocks; as many take 170 MB


class Visterms:
    """Counts of visual terms.

    A subclass with other class attributes has other parameters; they are part of the fingerprint.

    Attributes
    ----------
    blocks : tuple of int
        Sides of the blocks, each with a codebook of its own; `relative` to a picture of 384 pixels,
        or absolute.
    n_centers : int
        Terms of each block size, at most.
    n_colors : int
        Number of colours, at most.
    spatial : tuple of int
        1 counts the whole picture, 2 each of its 2×2 parts, and so on, one after the other.
    every : int
        2 samples the pixels of large blocks, 1 counts all; see `block_descriptors`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pictures = [rng.integers(0, 256, (64, 96, 3), dtype=np.uint8) for _ in range(4)]
    >>> visterms = Visterms(Visterms.fit(pictures))
    >>> counts = visterms.describe(pictures[0])
    >>> counts.shape == (visterms.length,), float(counts.sum())
    (True, 77.0)
    """

    name = "visterms"
    version = 1
    sparse = True

    blocks: ClassVar[tuple[int, ...]] = (64,)
    relative: ClassVar[bool] = True
    n_centers: ClassVar[int] = 10_000
    n_colors: ClassVar[int] = 50
    spatial: ClassVar[tuple[int, ...]] = (1,)
    every: ClassVar[int] = 2

    @classmethod
    def fit(
        cls,
        pictures: Sequence[RGB],
        seed: int = 0,
        shards: int = 1,
        compute: Mapper | None = None,
    ) -> dict[str, Floats]:
        """Fit the colours, and for each block size the centres, to some pictures."""
        colors = choose_colors(sample_pixels(pictures, seed=seed), cls.n_colors, seed)
        arrays = {"colors": colors}
        for block in cls.blocks:
            points = cls._sample(pictures, block, color_table(colors), len(colors), seed)
            n = max(2, min(cls.n_centers, len(points) // _LEAST_BLOCKS))
            n = min(n, len(distinct(points)))
            arrays[f"centers{block}"] = codebook(points, n, seed, None, 2, shards, compute)
        return arrays

    @classmethod
    def _sample(
        cls, pictures: Sequence[RGB], block: int, table: RGB, n_colors: int, seed: int
    ) -> Floats:
        rng = np.random.default_rng(seed)
        most = max(1, _SAMPLE // len(pictures))
        parts = []
        for rgb in pictures:
            ((_, points),) = block_descriptors(
                rgb, table, n_colors, (block,), cls.relative, cls.every
            )
            if len(points) > most:
                points = points[np.sort(rng.choice(len(points), most, replace=False))]
            parts.append(points)
        return np.concatenate(parts)

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        names = ["colors", *(f"centers{b}" for b in self.blocks)]
        self.arrays = needed(self.name, arrays, names)
        self._table = color_table(self.arrays["colors"])
        self._centers = [self.arrays[name] for name in names[1:]]
        parts = sum(n * n for n in self.spatial)
        self.length = parts * sum(len(c) for c in self._centers)

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {
            "blocks": list[Json](self.blocks),
            "relative": self.relative,
            "spatial": list[Json](self.spatial),
            "every": self.every,
            "arrays": checksum(self.arrays),
        }

    def describe(self, rgb: RGB) -> Floats:
        """Return how many blocks have each term, for each block size and part of the picture."""
        blocks = block_descriptors(
            rgb, self._table, len(self.arrays["colors"]), self.blocks, self.relative, self.every
        )
        rows = []
        for (where, points), centers in zip(blocks, self._centers, strict=True):
            terms = assign(points, centers)
            for n in self.spatial:
                places = terms + len(centers) * _part(where, n)
                rows.append(np.bincount(places, minlength=n * n * len(centers)))
        return np.concatenate(rows).astype(np.float32)


def _part(where: Grid, n: int) -> NDArray[np.int64]:
    """Return the part of the picture, of n×n, in which the middle of each block lies."""
    cells = (where.centers() * n).astype(np.int64)
    return cells[:, 0] * n + cells[:, 1]


def idf_of(counts: Any) -> Floats:
    """Return idf_i = -log(share of pictures that hold term i); 0 for one that none holds.

    Parameters
    ----------
    counts : ndarray or sparse matrix
        One row for each training picture, an array or a scipy sparse matrix.

    Examples
    --------
    >>> idf_of(np.array([[1, 0, 3], [2, 0, 0]]))
    array([0.       , 0.       , 0.6931472], dtype=float32)
    """
    held = np.asarray((counts > 0).sum(axis=0), np.float64).reshape(-1)
    share = held / counts.shape[0]
    idf = -np.log(np.where(held > 0, share, 1.0))
    # The logarithm of 1 is -0.0 after the sign changed.
    return (idf + 0.0).astype(np.float32)


def weighted(counts: Any, idf: Floats) -> Any:
    """Return tf·idf of each row, L2-normalised; a row without any weight stays zero.

    Parameters
    ----------
    counts : ndarray or sparse matrix
        One row for each picture: an array, or a scipy sparse matrix, which stays sparse.
    idf : ndarray of float32
        The idf of each term.

    Examples
    --------
    >>> weighted(np.array([[3, 4], [0, 0]]), np.ones(2, np.float32))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    if not hasattr(counts, "tocsr"):
        products = np.asarray(counts, np.float32) * idf
        return l2_normalize(products, l2_norms(products, np.float64))
    from scipy.sparse import csr_matrix

    rows = csr_matrix(counts, dtype=np.float32, copy=True)
    rows.data *= idf[rows.indices]
    rows = l2_normalize(rows)
    rows.eliminate_zeros()
    return rows
