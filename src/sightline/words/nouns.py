"""English nouns, and what the 1,000 classes of ImageNet say about each of them.

A table made from WordNet's noun graph (`tools/noun_table.py`) gives each sense of a noun the
classes at it, below it or near it, with weights from 0 to 1. So `dog` means the 118 breeds that the
networks know, `vehicle` 67 kinds of them, and `giraffe`, which is no class, its nearest relatives.
WordNet 3.0 is by Princeton University; its licence lies beside the table.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.words.tokens import fold

TABLE = Path(__file__).parent / "wordnet" / "nouns.npz"

_SEPARATORS = re.compile(r"[\s'._/-]+")
# Endings of plurals and of what they are plurals of (WordNet's rules for nouns).
_ENDINGS = (
    ("ies", "y"), ("ves", "f"), ("men", "man"), ("ches", "ch"), ("shes", "sh"), ("ses", "s"),
    ("xes", "x"), ("zes", "z"), ("s", ""),
)  # fmt: skip
_LONGEST = 4  # Words of a phrase.


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun that the classes say something about.

    Attributes
    ----------
    text : str
        The words of the query that name it.
    weights : ndarray of shape (n_classes,)
        How much each class says about it, 0 to 1.
    closeness : float
        1 if all its senses are above or at a class; less for senses that are only near some.
    """

    text: str
    weights: NDArray[np.float32]
    closeness: float

    def classes(self, k: int) -> tuple[str, ...]:
        """Return the names of the k classes with the largest weights."""
        order = np.argsort(-self.weights, kind="stable")[:k]
        return tuple(noun_table().class_names[i] for i in order.tolist() if self.weights[i] > 0)


@dataclass(frozen=True, slots=True, eq=False)
class NounTable:
    """The table: nouns in order, the senses of each, the classes of each sense."""

    nouns: list[str]
    class_names: list[str]
    arrays: dict[str, NDArray[np.generic]]

    def noun(self, text: str) -> Noun | None:
        """Return a noun by a word or phrase, singular or plural; None if it is not known.

        Some things are known in the plural alone, such as binoculars.

        >>> noun_table().noun("Dogs").classes(1), noun_table().noun("xyzzy")
        (('Chihuahua',), None)
        """
        key = squashed(text)
        for form in (key, *_singulars(key), key + "s") if key else ():
            at = bisect_left(self.nouns, form)
            if at < len(self.nouns) and self.nouns[at] == form:
                return self._noun(at, text)
        return None

    def find(self, words: Sequence[str]) -> list[Noun]:
        """Return the nouns of a text, longest phrases first; other words are left out.

        >>> [n.text for n in noun_table().find(["grand", "piano", "xyzzy", "cats"])]
        ['grand piano', 'cats']
        """
        nouns, at = [], 0
        while at < len(words):
            for end in range(min(len(words), at + _LONGEST), at, -1):
                noun = self.noun(" ".join(words[at:end]))
                if noun is not None:
                    nouns.append(noun)
                    at = end
                    break
            else:
                at += 1
        return nouns

    def _noun(self, at: int, text: str) -> Noun:
        a = self.arrays
        weights, closeness = np.zeros(len(self.class_names), np.float32), 0.0
        first, last = a["sense_start"][at : at + 2].tolist()
        for sense, share in zip(a["sense"][first:last], a["share"][first:last], strict=True):
            begin, end = a["class_start"][sense : sense + 2].tolist()
            of_sense = a["class_weight"][begin:end].astype(np.float32) / 255
            classes = a["class_index"][begin:end]
            weights[classes] = np.maximum(weights[classes], of_sense * share / 255)
            closeness += float(of_sense.max() * share / 255)
        return Noun(text, weights, min(1.0, closeness))


@cache
def noun_table() -> NounTable:
    """Return the table, read once in each process."""
    with np.load(TABLE) as file:
        arrays = {name: file[name] for name in file.files}
    nouns, names = (arrays.pop(n).tobytes().decode().split("\n") for n in ("nouns", "class_names"))
    return NounTable(nouns, names, arrays)


def squashed(noun: str) -> str:
    """Return the form in which nouns are compared: folded, without what separates words.

    >>> squashed("Merry-go-round"), squashed("T_shirt")
    ('merrygoround', 'tshirt')
    """
    return _SEPARATORS.sub("", fold(noun))


def _singulars(key: str) -> list[str]:
    """Return what a noun may be the plural of.

    >>> _singulars("butterflies")
    ['butterfly', 'butterflie']
    """
    return [key.removesuffix(end) + one for end, one in _ENDINGS if key.endswith(end)]
