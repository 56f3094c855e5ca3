"""Bags of words of local descriptors: the histogram of 200 or 1,000 typical patches in a picture.

Descriptors of training pictures are grouped into K words (`codebook`); a picture is the bag of its
descriptors' words. Row: w_i = tf_i idf_i, scaled to length one; tf_i is how many of the picture's
descriptors have word i, and idf_i = 1 + log((1 + n) / (1 + n_i)), n_i of n training pictures having
it. The 1 keeps weight for words that are in every picture, of which small codebooks have many.

Two kinds of descriptor: `sift`, at keypoints, turned and scaled with them; and the dense gradients
of Fisher vectors (`gradients`), upright, on a grid, at two sizes. The nine features of paper D have
bags of SIFT and of SURF. SURF is not free to use. Of the free ones, ORB, BRISK and AKAZE have bits,
whose means k-means cannot take, and similar keypoints to SIFT's; dense gradients also describe
areas without keypoints, such as sky and grass, and need no other package.

Sivic, Zisserman: Video Google, 2003. Departures: SIFT is our own, see `sift`; K is lowered where
the sample has fewer than 20 descriptors for each word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Floats
from sightline.contracts import Json, Mapper
from sightline.errors import DataError
from sightline.features.local.codebook import assign, codebook, distinct
from sightline.features.local.fitted import checksum, needed
from sightline.features.local.gradients import dense_descriptors
from sightline.features.local.lbp import checked
from sightline.features.local.sift import CONTRAST, LENGTH, MOST, keypoints
from sightline.features.local.visterms import weighted

_SAMPLE_PICTURES = 400  # with 1,000 descriptors each they take 200 MB
_SAMPLE = 150_000  # descriptors that words are made of
_LEAST_POINTS = 20  # in the sample, for each word
_DENSE_CELLS, _DENSE_STEP = (4, 8), 6
_ARRAYS: Final = ("centers", "idf")


class Sift200:
    """A bag of 200 words of SIFT descriptors.

    Attributes
    ----------
    n_words : int
        Words, at most; `length` is how many there are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pictures = [rng.integers(0, 256, (64, 96, 3), dtype=np.uint8) for _ in range(4)]
    >>> bag = Sift200(Sift200.fit(pictures))
    >>> row = bag.describe(pictures[0])
    >>> row.shape == (bag.length,), float(np.linalg.norm(row).round(5))
    (True, 1.0)
    """

    name = "sift-200"
    version = 1

    n_words: ClassVar[int] = 200

    @classmethod
    def descriptors(cls, rgb: RGB) -> Floats:
        """Return the descriptors of a picture, one in a row; there can be none."""
        return _sift(checked(rgb).tobytes(), rgb.shape)

    @classmethod
    def settings(cls) -> dict[str, Json]:
        """Return the parameters of the descriptors."""
        return {"contrast": CONTRAST, "most": MOST}

    @classmethod
    def fit(
        cls,
        pictures: Sequence[RGB],
        seed: int = 0,
        shards: int = 1,
        compute: Mapper | None = None,
    ) -> dict[str, Floats]:
        """Fit the words to some pictures; return them and their idf."""
        if not len(pictures):
            raise DataError("There is no picture to fit words to. Give at least one.")
        rng = np.random.default_rng(seed)
        chosen = np.arange(len(pictures))
        if len(chosen) > _SAMPLE_PICTURES:
            chosen = np.sort(rng.choice(chosen, _SAMPLE_PICTURES, replace=False))
        bags = [cls.descriptors(pictures[i]) for i in chosen.tolist()]
        # Without any descriptor there is one word, which no picture of the sample has.
        points = np.concatenate(bags) if any(map(len, bags)) else np.zeros((1, LENGTH), np.float32)
        if len(points) > _SAMPLE:
            points = points[np.sort(rng.choice(len(points), _SAMPLE, replace=False))]
        n = max(2, min(cls.n_words, len(points) // _LEAST_POINTS))
        n = min(n, len(distinct(points)))
        centers = codebook(points, n, seed, None, 2, shards, compute)
        held = sum((_counted(f, centers) > 0 for f in bags), np.zeros(len(centers), np.int64))
        idf = 1 + np.log((1 + len(bags)) / (1 + held))
        return {"centers": centers, "idf": idf.astype(np.float32)}

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self.arrays = needed(self.name, arrays, _ARRAYS)
        self.length = len(self.arrays["centers"])

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {**self.settings(), "arrays": checksum(self.arrays)}

    def counts(self, rgb: RGB) -> NDArray[np.int64]:
        """Return how many descriptors of the picture have each word."""
        return _counted(self.descriptors(rgb), self.arrays["centers"])

    def describe(self, rgb: RGB) -> Floats:
        """Return the weights of the picture's words; all 0 if it has no descriptor."""
        row: Floats = weighted(self.counts(rgb)[None], self.arrays["idf"])[0]
        return row


class Sift1000(Sift200):
    """A bag of 1,000 words of SIFT descriptors."""

    name = "sift-1000"
    version = 1
    n_words: ClassVar[int] = 1000


class DenseSift200(Sift200):
    """A bag of 200 words of dense gradients, in place of SURF."""

    name = "dense-sift-200"
    version = 1

    @classmethod
    def descriptors(cls, rgb: RGB) -> Floats:
        """Return the descriptors of a picture, one in a row."""
        return _dense(checked(rgb).tobytes(), rgb.shape)

    @classmethod
    def settings(cls) -> dict[str, Json]:
        """Return the parameters of the descriptors."""
        return {"cells": list[Json](_DENSE_CELLS), "step": _DENSE_STEP}


class DenseSift1000(DenseSift200):
    """A bag of 1,000 words of dense gradients, in place of SURF."""

    name = "dense-sift-1000"
    version = 1
    n_words: ClassVar[int] = 1000


@lru_cache(2)
def _sift(pixels: bytes, shape: tuple[int, ...]) -> Floats:
    """Return SIFT descriptors; cached, since two features in a row need the same picture's.

    They depend on the pixels alone.
    """
    descriptors = keypoints(np.frombuffer(pixels, np.uint8).reshape(shape)).descriptors
    descriptors.flags.writeable = False
    return descriptors


@lru_cache(2)
def _dense(pixels: bytes, shape: tuple[int, ...]) -> Floats:
    """Return dense descriptors; cached as those of `_sift` are."""
    rgb = np.frombuffer(pixels, np.uint8).reshape(shape)
    descriptors = dense_descriptors(rgb, _DENSE_CELLS, _DENSE_STEP).gradients
    descriptors.flags.writeable = False
    return descriptors


def _counted(points: Floats, centers: Floats) -> NDArray[np.int64]:
    words = assign(points, centers) if len(points) else np.zeros(0, np.int32)
    return np.bincount(words, minlength=len(centers))
