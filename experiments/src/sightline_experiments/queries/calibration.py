"""How well the probabilities of shown hits agree with what is there, by size of the collection.

Of the tagged pictures n are drawn, a fresh collection with these tags alone is trained, and each
word it learned is searched for as its owner would. The first twenty hits that are shown count, on
measured pictures alone, none of which has a tag.

    calibration error   hits fall into ten bins of equal width by their probability; the mean over
                        hits of |share of right hits - mean probability| of their bin
    Brier skill         1 - sum (p - y)^2 / sum (b - y)^2, with b the share of tagged pictures that
                        have the word: what is known without looking at a picture
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Bools, Doubles
from sightline.collection import Collection
from sightline.errors import SightlineError
from sightline.words.grammar import Term
from sightline_experiments.queries.collection import ids_of
from sightline_experiments.queries.pictures import WordedPictures

SIZES = (30, 100, 300, 1_000, 5_000)
FIRST_SHOWN, BINS = 20, 10


@dataclass(frozen=True, slots=True, eq=False)
class ShownHits:
    """The first shown hits of all learned words of one collection.

    Attributes
    ----------
    tagged : int
        How many pictures have tags.
    probability, base_rate : ndarray of float64
        Of each hit.
    is_right : ndarray of bool
        Whether the picture has the word.
    words, silent : int
        Learned words, and those of them for which nothing is shown.
    why : str
        Why nothing was learned; "" where it was.
    """

    tagged: int
    probability: Doubles
    is_right: Bools
    base_rate: Doubles
    words: int = 0
    silent: int = 0
    why: str = ""

    @property
    def error(self) -> float:
        """The calibration error; NaN without hits."""
        return calibration_error(self.probability, self.is_right)

    @property
    def skill(self) -> float:
        """The Brier skill; NaN without hits."""
        return brier_skill(self.probability, self.is_right, self.base_rate)


def calibration_error(probability: Doubles, is_right: Bools, bins: int = BINS) -> float:
    """Return the expected calibration error over bins of equal width; NaN of nothing.

    >>> calibration_error(np.array([0.25, 0.25, 0.75, 0.75]), np.array([0, 0, 1, 1], bool))
    0.25
    """
    if not len(probability):
        return float("nan")
    at = np.minimum((probability * bins).astype(np.int64), bins - 1)
    difference = np.bincount(at, probability - is_right, minlength=bins)
    return float(np.abs(difference).sum() / len(probability))


def brier_skill(probability: Doubles, is_right: Bools, base_rate: Doubles) -> float:
    """Return the Brier skill against the base rate; NaN of nothing.

    >>> half = np.array([0.5, 0.5])
    >>> brier_skill(half, np.array([1, 0], bool), half)
    0.0
    """
    reference = float(np.square(base_rate - is_right).sum())
    return 1 - float(np.square(probability - is_right).sum()) / reference if reference else np.nan


def shown_hits(collection: Collection, pictures: WordedPictures) -> ShownHits:
    """Search for each learned word of a trained collection; return the first shown hits."""
    ids = ids_of(collection, pictures.files)
    words_of = {int(ids[i]): set(pictures.words[i]) for i in np.flatnonzero(pictures.measured)}
    n_tagged, counts = int(pictures.tagged.sum()), pictures.counts()
    rows: list[tuple[float, bool, float]] = []
    learned = silent = 0
    for word, n in sorted(counts.items()):
        results = collection.search(str(Term(word)), FIRST_SHOWN, ids=list(words_of))
        if not results.predicted or results.not_learned:
            continue
        learned += 1
        silent += not results.hits
        rows += [(h.score, word in words_of[h.picture], n / n_tagged) for h in results.hits]
    p, y, b = np.array(rows, np.float64).reshape(-1, 3).T
    return ShownHits(n_tagged, p, y > 0, b, learned, silent)


def nothing_learned(pictures: WordedPictures, why: SightlineError) -> ShownHits:
    """Return that a training failed."""
    nothing = np.zeros(0)
    return ShownHits(int(pictures.tagged.sum()), nothing, nothing > 0, nothing, why=str(why))


def reliability(hits: Sequence[ShownHits]) -> list[tuple[float, float, int]]:
    """Return for each bin with hits the mean probability, the share of right ones, and how many."""
    if not hits:
        return []
    p, y = (np.concatenate([getattr(h, n) for h in hits]) for n in ("probability", "is_right"))
    at = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return [
        (float(p[at == b].mean()), float(y[at == b].mean()), int((at == b).sum()))
        for b in range(BINS)
        if (at == b).any()
    ]
