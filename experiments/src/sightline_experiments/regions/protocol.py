"""Halves of the pictures, and what learners see of one: rows of regions and pictures, and tags.

One half is for training, a fifth of it for validation, the other half for the test. Every scene is
divided equally, by seeded draws; scenes serve for this and for the last measure, no learner sees
them.

    classic   codewords of regions, and how often each occurs in the picture, as in the paper
    deep      vectors of a network trained on ImageNet, reduced on training regions, and those of
              whole pictures

Codebooks and reductions are fitted to the development pictures of their half alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Ints
from sightline.regions.codewords import Codewords
from sightline.regions.kernel_rows import KernelRows
from sightline.regions.segment import Segmenter
from sightline_experiments.datasets.msrc import MSRC
from sightline_experiments.regions.pool import Cut, Pool

_FIFTH = 5
# The latent model's initialisation was designed on the development pictures of so many halves.
DESIGNED_ON = 2


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """One division of the pictures, by their positions, ascending.

    Attributes
    ----------
    number : its number.
    train : training pictures during model selection.
    validation : validation pictures; training pictures as well of the final fit.
    """

    number: int
    train: Ints
    validation: Ints

    @property
    def development(self) -> Ints:
        """Return all pictures that are not for the test."""
        return np.sort(np.concatenate([self.train, self.validation]))


def make_halves(scenes: Sequence[int], n: int, seed: int = 0) -> tuple[list[Half], list[Ints]]:
    """Return n halves, and the test pictures of each, which only `evaluation` sees.

    >>> halves, tests = make_halves([0] * 20 + [1] * 20, 1)
    >>> len(halves[0].train), len(halves[0].validation), len(tests[0])
    (16, 4, 20)
    """
    labels = np.asarray(scenes, np.int64)
    halves, tests = [], []
    for number in range(n):
        random = np.random.default_rng((seed, number))
        parts: tuple[list[Ints], list[Ints], list[Ints]] = ([], [], [])
        for s in np.unique(labels):
            mixed = random.permutation(np.flatnonzero(labels == s))
            # Of an odd number the test gets one more in every second half.
            middle = (len(mixed) + (number + int(s)) % 2) // 2
            fifth = max(1, round(middle / _FIFTH))
            for part, some in zip(
                parts, (mixed[fifth:middle], mixed[:fifth], mixed[middle:]), strict=True
            ):
                part.append(some)
        train, validation, test = (np.sort(np.concatenate(p)) for p in parts)
        halves.append(Half(number, train, validation))
        tests.append(test)
    return halves, tests


def never_designed_on(tests: Sequence[Ints]) -> Ints:
    """Return the test pictures of all halves that the latent model was designed on.

    >>> never_designed_on([np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([4])]).tolist()
    [1, 2]
    """
    pictures = tests[0]
    for test in tests[1:DESIGNED_ON]:
        pictures = np.intersect1d(pictures, test)
    return pictures


@dataclass(frozen=True, slots=True, eq=False)
class HalfData:
    """Pictures of one half.

    Attributes
    ----------
    half : which pictures are for training, validation and test.
    regions : rows of each picture's regions.
    whole : a row for each picture.
    tags : (pictures, tags); those of test pictures are False here.
    labels : the region of each pixel, of each picture.
    words : of regions, where they are codewords.
    areas : of each picture's regions, as fractions of the picture.
    shares : means of pictures' regions, plain and by area.
    similarity : of codewords, the kernel of each picture's shares with those of training pictures.
    """

    half: Half
    regions: Sequence[Doubles]
    whole: Doubles
    tags: NDArray[np.bool_]
    labels: Sequence[NDArray[np.int32]]
    words: Codewords | None = None
    areas: Sequence[Doubles] = ()
    shares: Doubles = field(default_factory=lambda: np.zeros((0, 0)))
    similarity: Doubles = field(default_factory=lambda: np.zeros((0, 0)))

    def of(self, pictures: Ints) -> tuple[list[Doubles], Doubles, NDArray[np.bool_]]:
        """Return regions, whole rows and tags of some pictures."""
        return [self.regions[p] for p in pictures], self.whole[pictures], self.tags[pictures]


class RegionInputs:
    """Computes what learners see of each half."""

    def __init__(self, c: MSRC, pool: Pool, cuts: dict[str, Segmenter], reduced: int) -> None:
        self.c, self.pool, self.reduced = c, pool, reduced
        self._cuts = cuts
        self._cut_pictures: dict[str, list[Cut]] = {}

    def of_half(self, features: str, half: Half) -> HalfData:
        """Return the data of a half by "classic" or "deep" features."""
        if features not in self._cut_pictures:
            make = self.pool.classic if features == "classic" else self.pool.deep
            self._cut_pictures[features] = make(self._cuts[features])
        cuts = self._cut_pictures[features]
        tags = np.zeros_like(self.c.tags)
        tags[half.development] = self.c.tags[half.development]
        labels = [cut.labels for cut in cuts]
        if features == "classic":
            rows, words = self._words(cuts, half)
            whole = np.array([r.sum(axis=0) for r in rows])
            areas, shares = _by_area(rows, labels)
            similarity = KernelRows.fit(shares[half.development])(shares)
            return HalfData(half, rows, whole, tags, labels, words, areas, shares, similarity)
        rows, whole = _reduced(cuts, half.development, self.reduced)
        return HalfData(half, rows, whole, tags, labels, None, *_by_area(rows, labels))

    def _words(self, cuts: Sequence[Cut], half: Half) -> tuple[list[Doubles], Codewords]:
        development = half.development
        textures = self.pool.textures(cuts, development, f"of half {half.number}")
        described = [cut.described(t) for cut, t in zip(cuts, textures, strict=True)]
        words = Codewords.fit([described[p] for p in development])
        return [words.rows(d).astype(np.float64) for d in described], words


def _by_area(
    rows: Sequence[Doubles], labels: Sequence[NDArray[np.int32]]
) -> tuple[list[Doubles], Doubles]:
    """Return the areas of regions, and means of regions, plain and by area."""
    areas = [np.bincount(at.ravel()) / at.size for at in labels]
    means = [np.hstack([r.mean(axis=0), a @ r]) for r, a in zip(rows, areas, strict=True)]
    return areas, np.array(means)


def _reduced(cuts: Sequence[Cut], development: Ints, n: int) -> tuple[list[Doubles], Doubles]:
    """Return rows in the principal directions of the development pictures' regions.

    Rows have about length one; a constant last number lets every tag have an intercept.
    """
    some = np.concatenate([cuts[p].arrays["deep"] for p in development]).astype(np.float64)
    mean = some.mean(axis=0)
    # For ten thousand rows of two thousand numbers this is far faster than an SVD of the rows.
    strength, basis = np.linalg.eigh((some - mean).T @ (some - mean))
    directions = basis[:, ::-1][:, : min(n, int((strength > 1e-9).sum()))]
    scale = np.sqrt(np.square((some - mean) @ directions).sum(axis=1).mean())

    def rows(of: NDArray[np.float32]) -> Doubles:
        projected = (of - mean) @ directions / scale
        return np.hstack([projected, np.full((len(projected), 1), 0.1)])

    regions = [rows(cut.arrays["deep"]) for cut in cuts]
    return regions, np.concatenate([rows(cut.arrays["whole"]) for cut in cuts])
