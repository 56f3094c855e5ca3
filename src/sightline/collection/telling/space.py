"""The space that words and pictures share, read dimension by dimension.

Rankers across kinds (`lscmr`, `ssi`, `cca`) put words and pictures into a space of few dimensions.
A dimension has two ends, neither of which is the right one: the words and the pictures that lie
furthest towards each say what it is about. Words are near where they point the same way. A text of
any length is the sum of its words, and asks for the pictures that lie where it points.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.collection.learning.kinds import Arrays
from sightline.collection.learning.learners import kind_of
from sightline.collection.learning.serving import Learnt, segment_views
from sightline.collection.telling.words import learnt_of
from sightline.errors import UsageError
from sightline.store.home import Reader
from sightline.words.term_ids import term_id
from sightline.words.tokens import tokens
from sightline.words.vocabulary import near

Float = NDArray[np.float32]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Topic:
    """A dimension: words and pictures (ids) at its high and at its low end, furthest first."""

    dimension: int
    high: tuple[str, ...]
    low: tuple[str, ...]
    high_pictures: tuple[int, ...] = ()
    low_pictures: tuple[int, ...] = ()


class Space:
    """Words and pictures of a collection as points."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.learnt = reader, learnt_of(reader)
        self.words = word_points(self.learnt)
        spelled = dict(reader.catalogue.terms())
        self.spelled = [spelled.get(int(t), "?") for t in self.learnt.terms]

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def topics(self, n: int, pictures: int = 0, dimension: int | None = None) -> list[Topic]:
        """Return what lies at the ends of dimensions: n words, and some pictures."""
        if dimension is not None and not 0 <= dimension < len(self):
            raise UsageError(f"There are dimensions from 0 to {len(self) - 1}. Got {dimension}.")
        ids, points = self.pictures() if pictures else (np.zeros(0, np.int64), self.words[:0])
        found = []
        for d in range(len(self)) if dimension is None else (dimension,):
            order = np.argsort(-self.words[:, d], kind="stable")
            seen = ids[np.argsort(-points[:, d], kind="stable")].tolist()
            high, low = (tuple(self.spelled[w] for w in o[:n]) for o in (order, order[::-1]))
            found.append(Topic(d, high, low, tuple(seen[:pictures]), tuple(seen[::-1][:pictures])))
        return found

    def near(self, word: str, n: int) -> list[tuple[str, float]]:
        """Return the words nearest to one, with their cosines."""
        at = int(np.searchsorted(self.learnt.terms, term_id(word)))
        if at >= len(self.learnt.terms) or self.learnt.terms[at] != term_id(word):
            like = near(word, self.spelled)
            said = f" Near it in spelling: {', '.join(like)}." if like else ""
            raise UsageError(f"The word {word!r} was not learnt.{said}")
        lengths = np.linalg.norm(self.words, axis=1)
        unit = self.words / np.where(lengths > 0, lengths, 1.0)[:, None]
        cosines = unit @ unit[at]
        order = np.argsort(-cosines, kind="stable")
        return [(self.spelled[w], float(cosines[w])) for w in order[order != at][:n]]

    def text_point(self, text: str) -> tuple[Float, int]:
        """Return a text as a point, and how many of its different words were learnt.

        Words count as often as they occur, weighted by how rare they are.
        """
        said = Counter(term_id(word) for word in tokens(text))
        at = np.searchsorted(self.learnt.terms, list(said)) % len(self.learnt.terms)
        known = self.learnt.terms[at] == list(said)
        if not known.any():
            raise UsageError(
                f"Of the {len(said)} different words of the text none was learnt, so it puts "
                "pictures in no order."
            )
        at, times = at[known], np.array(list(said.values()), np.float64)[known]
        weights = times * self.learnt.idf[at]
        point: Float = np.asarray(weights @ self.words[at], np.float32)
        return point, len(at)

    def nearest_pictures(self, point: Float, allowed: Int | None, k: int) -> tuple[Int, Float]:
        """Return pictures that a point ranks first, by their inner product with it."""
        ids, points = self.pictures()
        if allowed is not None:
            kept = np.isin(ids, allowed)
            ids, points = ids[kept], points[kept]
        scores = points @ (point / max(float(np.linalg.norm(point)), 1e-30))
        best = np.argsort(-scores, kind="stable")[:k]
        return ids[best], scores[best]

    def pictures(self) -> tuple[Int, Float]:
        """Return all pictures that have the features the model sees, and their points."""
        served = self.learnt.served
        ids, points = [np.zeros(0, np.int64)], [self.words[:0]]
        for segment in self.reader.snapshot.segments:
            views = segment_views(segment, self.learnt.features)
            if views is None:
                continue
            alive = segment.alive()
            kind = kind_of(served.recipe.ranker)
            seen = [w(views[f]) for f, w in zip(served.recipe.features, served.weightings,
                                                strict=True)]  # fmt: skip
            ids.append(segment.ids[alive])
            points.append(kind.points(served.arrays, seen)[alive])
        return np.concatenate(ids), np.concatenate(points)


def word_points(learnt: Learnt) -> Float:
    """Return the words of a model as points, (words, k); refuse models that have no such space."""
    arrays: Arrays = dict(learnt.served.arrays)
    kind = kind_of(learnt.served.recipe.ranker)
    if not kind.shared_space:
        raise UsageError(
            f"The model in use, {learnt.served.recipe.ranker}, has no space that words and "
            "pictures share. Run: sightline train --ranker lscmr"
        )
    return kind.word_points(arrays)
