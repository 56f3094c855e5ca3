"""What a network's classes say of words with few tags, added to the scores that tags teach.

A noun has a mass m(x) on every picture x: the probability of the network's classes at it, below it
or near it (`words.nouns`). `few_tags` has the formula, and what it is fitted to; here is what a
model keeps of it, and how pictures are scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Floats, Int32s, Ints
from sightline.collection.models.dataset import View

if TYPE_CHECKING:
    from sightline.features.deep.classes import ClassLayer
    from sightline.words.nouns import Noun

_FEW = 1e-6  # Added to masses before their logarithm.
_PREFIX = "network."
_BLOCK = 1_024


@dataclass(frozen=True, eq=False)
class NetworkPrior:
    """The part of some words' scores that a network gives.

    Attributes
    ----------
    network : str
        Its name.
    size : int
        The side of the pictures that it saw.
    view : int
        Which of the recipe's features has the rows that its class layer takes.
    words : ndarray of int64
        Positions of the words, ascending.
    start : ndarray of int64
        Where the classes of each word begin, and where those of the last one end.
    classes, weights : ndarray of int32, ndarray of float32
        The classes that say something about each word, and how much.
    centre, scale : ndarray of float32
        What is taken from a logarithm of masses, and what the rest is multiplied by.
    """

    network: str
    size: int
    view: int
    words: Ints
    start: Ints
    classes: Int32s
    weights: Floats
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, network: str, size: int, view: int, nouns: Mapping[int, Noun]) -> Self:
        """Return what a network says of nouns by position, which adds nothing yet."""
        words = np.array(sorted(nouns), np.int64)
        said = [np.flatnonzero(nouns[w].weights) for w in words.tolist()]
        weights = [nouns[w].weights[c] for w, c in zip(words.tolist(), said, strict=True)]
        start = np.concatenate([[0], np.cumsum([len(c) for c in said])]).astype(np.int64)
        none = np.zeros(len(words), np.float32)
        joined = np.concatenate(said).astype(np.int32), np.concatenate(weights)
        return cls(network, size, view, words, start, *joined, none, none)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self | None:
        """Return the prior among the arrays of a fitted recipe; None without one."""
        if f"{_PREFIX}words" not in arrays:
            return None
        stored = {n: arrays[f"{_PREFIX}{n}"] for n in ("name", "size", "view", *_STORED)}
        name = np.asarray(stored.pop("name"), np.uint8).tobytes().decode()
        size, view = (int(stored.pop(n)[0]) for n in ("size", "view"))
        return cls(name, size, view, **stored)

    def to_arrays(self) -> Arrays:
        """Return all that `from_arrays` needs."""
        name = np.frombuffer(self.network.encode(), np.uint8)
        stored = {n: getattr(self, n) for n in _STORED}
        numbers = {"size": np.array([self.size]), "view": np.array([self.view])}
        arrays: Arrays = {"name": name, **numbers, **stored}
        return {f"{_PREFIX}{n}": a for n, a in arrays.items()}

    def logs(self, rows: Floats) -> Floats:
        """Return the logarithm of the mass of each word, (pictures, words)."""
        out = np.empty((len(rows), len(self.words)), np.float32)
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = np.log(self._layer.probabilities(rows[part]) @ self._mass_weights + _FEW)
        return out

    def term(self, rows: Floats) -> Floats:
        """Return what is added to the scores of `words`, (pictures, words)."""
        return self.term_of(self.logs(rows))

    def term_of(self, logs: Floats) -> Floats:
        """Return the same by the logarithms of the masses."""
        return (logs - self.centre) * self.scale

    def add(self, scores: Floats, views: Sequence[View], words: Ints | None) -> None:
        """Add it to scores of pictures for all words, or for those at some positions."""
        if words is None:
            scores[:, self.words] += self.term(views[self.view])
            return
        columns, own = np.nonzero(np.asarray(words)[:, None] == self.words)
        if len(columns):
            scores[:, columns] += self.term(views[self.view])[:, own]

    @cached_property
    def _mass_weights(self) -> Floats:
        out = np.zeros((len(self._layer.bias), len(self.words)), np.float32)
        out[self.classes, np.repeat(np.arange(len(self.words)), np.diff(self.start))] = self.weights
        return out

    @cached_property
    def _layer(self) -> ClassLayer:
        from sightline.features.deep.classes import class_layer
        from sightline.features.deep.network import LITE0, LITE1, LITE2

        return class_layer({n.name: n for n in (LITE0, LITE1, LITE2)}[self.network], self.size)


_STORED = ("words", "start", "classes", "weights", "centre", "scale")
