"""The pictures of a collection with the words of their owner: some tagged, the others measured on.

Corel5K has its published words: training pictures are tagged, test pictures are not. Caltech-101
has the names of its classes; half of the pictures, by a hash of their path, are tagged. Its second
set of words adds made attributes, each a property of the pixels:

    grey      no colour: the channels differ by less than 6 of 255 on average
    white     a white margin: four fifths of the outermost pixels are above 230 in every channel
    upright   at least a tenth higher than wide
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline._typing import RGB, Bools
from sightline.contracts import Compute, Progress
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.extraction import Files, Pictures, decoded

GREY, WHITE, UPRIGHT = "grey", "white", "upright"
ATTRIBUTES = (GREY, WHITE, UPRIGHT)
CLASSES, MADE_PAIRS = "classes", "classes and attributes"
PUBLISHED = "published words"
_DIFFERENCE, _BRIGHT, _MOSTLY, _HIGHER = 6.0, 230, 0.8, 1.1


@dataclass(frozen=True, slots=True, eq=False)
class WordedPictures:
    """Pictures by position, with their words.

    Attributes
    ----------
    title, words_from : str
        The data set, and which of its words these are.
    files : tuple of str
        Paths inside the collection.
    words : tuple
        All words of each picture, whether the owner tagged it or not.
    tagged, measured : ndarray of bool
        Whose words the owner gave; which of the others are measured on.
    """

    title: str
    words_from: str
    files: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    tagged: Bools
    measured: Bools

    def counts(self) -> Counter[str]:
        """Return how many tagged pictures have each word."""
        return Counter(w for i in np.flatnonzero(self.tagged) for w in self.words[i])

    def withheld(self, n: int, seed: int = 0) -> WordedPictures:
        """Return the same with n tagged pictures in the place of those measured on.

        Whatever is chosen, is chosen on these.
        """
        tagged = np.flatnonzero(self.tagged)
        chosen = np.random.default_rng(seed).permutation(tagged)[: min(n, len(tagged) // 2)]
        measured = np.zeros(len(self.files), np.bool_)
        measured[chosen] = True
        return replace(self, tagged=self.tagged & ~measured, measured=measured)

    def with_tagged(self, n: int, seed: int) -> WordedPictures:
        """Return the same with n of the tagged pictures alone tagged, drawn at random."""
        tagged = np.flatnonzero(self.tagged)
        kept = np.zeros(len(self.files), np.bool_)
        kept[np.random.default_rng((seed, n)).permutation(tagged)[:n]] = True
        return replace(self, tagged=kept)

    def with_measured(self, n: int) -> WordedPictures:
        """Return the same with at most n pictures to measure on, drawn at random."""
        measured = np.flatnonzero(self.measured)
        kept = np.zeros(len(self.files), np.bool_)
        kept[np.random.default_rng(n).permutation(measured)[:n]] = True
        return replace(self, measured=kept)

    def with_word(self, word: str) -> WordedPictures:
        """Return the same with a word on the first tagged picture."""
        first = int(np.flatnonzero(self.tagged)[0])
        words = list(self.words)
        words[first] = (*words[first], word)
        return replace(self, words=tuple(words))


def of_corel(c: Corel5K) -> WordedPictures:
    """Return Corel5K: training pictures are tagged, the distinct test pictures are not.

    The one picture in neither list is in the collection too, and not measured on.
    """
    rows: dict[int, tuple[str, ...]] = dict.fromkeys(sorted(c.files), ())
    for r in (*c.development, *c.test):
        rows[r.picture] = tuple(dict.fromkeys(c.words[w] for w in r.words))
    train, test = ({r.picture for r in part} for part in (c.development, c.test))
    tagged, measured = (np.array([p in part for p in rows], np.bool_) for part in (train, test))
    files = tuple(c.files[p] for p in rows)
    return WordedPictures("Corel5K", PUBLISHED, files, tuple(rows.values()), tagged, measured)


def of_classes(c: Classed) -> WordedPictures:
    """Return a data set of classes: their names are words, half of the pictures are tagged."""
    tagged = np.array([_is_odd(name) for name in c.files], np.bool_)
    names = [name.replace("_", " ").lower() for name in c.classes]
    words = tuple((names[label],) for label in c.labels)
    return WordedPictures(c.kind.title, CLASSES, c.files, words, tagged, ~tagged)


def _is_odd(name: str) -> bool:
    return bool(hashlib.sha256(name.encode()).digest()[0] % 2)


def with_attributes(pictures: WordedPictures, attributes: Sequence[Bools]) -> WordedPictures:
    """Return the same with the words of the attributes that hold."""
    words = tuple(
        (*own, *(name for name, holds in zip(ATTRIBUTES, attributes, strict=True) if holds[i]))
        for i, own in enumerate(pictures.words)
    )
    return replace(pictures, words_from=MADE_PAIRS, words=words)


def attributes_of(
    c: Classed, compute: Compute, cache: ArrayCache, progress: Progress
) -> tuple[Bools, ...]:
    """Return for each attribute on which pictures it holds, from the cache where they are there."""
    known = cache.get("attributes")
    if known is None:
        progress.start(f"{c.kind.title}: attributes", len(c))
        rows = []
        for rgb in _decoded(c, compute):
            rows.append(attributes_of_picture(rgb))
            progress.advance()
        progress.finish()
        table = np.array(rows, np.uint8)
        known = {name: table[:, i] for i, name in enumerate(ATTRIBUTES)}
        cache.put("attributes", known)
    return tuple(known[name].astype(np.bool_) for name in ATTRIBUTES)


def _decoded(c: Pictures, compute: Compute) -> Iterator[RGB]:
    files: Files = c.files
    assert isinstance(files, Sequence)
    return decoded(c, range(len(files)), compute)


def attributes_of_picture(rgb: RGB) -> tuple[bool, bool, bool]:
    """Return whether a picture is grey, has a white margin, and is upright.

    >>> attributes_of_picture(np.full((20, 10, 3), 255, np.uint8))
    (True, True, True)
    >>> attributes_of_picture(np.full((10, 20, 3), (200, 20, 20), np.uint8))
    (False, False, False)
    """
    height, width = rgb.shape[:2]
    difference = float((rgb.max(axis=2).astype(np.float64) - rgb.min(axis=2)).mean())
    margin = np.concatenate([rgb[0], rgb[-1], rgb[:, 0], rgb[:, -1]])
    bright = float((margin.min(axis=1) >= _BRIGHT).mean())
    return difference < _DIFFERENCE, bright >= _MOSTLY, height >= _HIGHER * width
