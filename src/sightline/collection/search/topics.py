"""The shared space of words, texts and pictures, and its dimensions as topics.

The text model maps words and pictures into a space of few dimensions; so does a word model of one
of its rankers (`lscmr`, `ssi`, `cca`, `semantic-matching`), which serves where there is no other.
The sign of a dimension is arbitrary: the words and pictures with the largest and with the smallest
coordinates say what it is about. Words are close if their cosine is high. A text of any length is
the sum of its words and ranks pictures by inner product; a picture ranks texts in the same way. The
points of pictures and texts are published with the model, so a query is one scan over short rows
(`Store.top`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.collection.lexicon import word_forms
from sightline.collection.models.text_model import (
    PICTURES,
    TEXTS,
    TextModel,
    likely,
    load_text_model,
)
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.contracts import Json
from sightline.errors import CollectionError, NoSpace, UsageError
from sightline.records import DenseQuery, Top
from sightline.store.folder import Reader
from sightline.vectors import l2_normalize
from sightline.words.term_ids import term_id
from sightline.words.tokens import tokens
from sightline.words.vocabulary import near


@dataclass(frozen=True, slots=True)
class Topic:
    """A dimension: words and pictures (ids) at its high and at its low end, extreme first."""

    dimension: int
    high: tuple[str, ...]
    low: tuple[str, ...]
    high_pictures: tuple[int, ...] = ()
    low_pictures: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return the dimension as JSON."""
        return {
            "dimension": self.dimension, "high": list[Json](self.high),
            "low": list[Json](self.low), "high_pictures": list[Json](self.high_pictures),
            "low_pictures": list[Json](self.low_pictures),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class LearnedWords:
    """The words of a text by what a model learned them as.

    Attributes
    ----------
    terms : ndarray of int64
        The terms that the model knows them by, each once.
    times : tuple of int
        How often the text has each.
    missing : tuple of str
        Words that were not learned.
    stop_words : tuple of str
        Words that were left out because they say nothing of a picture.
    """

    terms: Ints
    times: tuple[int, ...]
    missing: tuple[str, ...]
    stop_words: tuple[str, ...]

    @classmethod
    def of(
        cls, reader: Reader, model: WordModel | TextModel, counts: Mapping[str, int]
    ) -> LearnedWords:
        """Return the words of a text, counted."""
        table = word_forms(reader)
        times: Counter[int] = Counter()
        stop_words = tuple(w for w in counts if table.lexicon.is_stop_word(w))
        missing = []
        for word, n in counts.items():
            if word in stop_words:
                continue
            term = model.learned_term([term_id(word), *table.terms_of(word).tolist()])
            if term is None:
                missing.append(word)
            else:
                times[term] += n
        terms = np.array(list(times), np.int64)
        return cls(terms, tuple(times.values()), tuple(missing), stop_words)

    def __bool__(self) -> bool:
        return bool(self.times)


class SharedSpace:
    """The points of a collection's words, texts and pictures."""

    def __init__(self, reader: Reader, model: TextModel | None = None) -> None:
        self.reader = reader
        self.model = require_text_model(reader) if model is None else model
        self.words = self.model.served.word_points()
        spelled = dict(reader.catalogue.terms())
        self.spelled = [spelled.get(int(t), "?") for t in self.model.terms]

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def topics(self, n: int, pictures: int = 0, dimension: int | None = None) -> list[Topic]:
        """Return the extremes of dimensions: n words, and some pictures, of each end."""
        if dimension is not None and not 0 <= dimension < len(self):
            raise UsageError(f"There are dimensions from 0 to {len(self) - 1}. Got {dimension}.")
        topics = []
        for d in range(len(self)) if dimension is None else (dimension,):
            order = np.argsort(-self.words[:, d], kind="stable")
            high, low = (tuple(self.spelled[w] for w in o[:n]) for o in (order, order[::-1]))
            topics.append(Topic(d, high, low, *(self._end(d, s, pictures) for s in (1.0, -1.0))))
        return topics

    def _end(self, dimension: int, sign: float, n: int) -> tuple[int, ...]:
        if not n:
            return ()
        weights = np.zeros(len(self), np.float32)
        weights[dimension] = sign
        return tuple(self.pictures(weights, n).ids.tolist())

    def near(self, word: str, n: int) -> list[tuple[str, float]]:
        """Return the words closest to one, with their cosines."""
        forms = word_forms(self.reader).terms_of(word).tolist()
        term = self.model.learned_term([term_id(word), *forms])
        if term is None:
            near_words = near(word, self.spelled)
            hint = f" Near it in spelling: {', '.join(near_words)}." if near_words else ""
            raise UsageError(f"The text model has not learned {word!r}.{hint}")
        at = int(np.searchsorted(self.model.terms, term))
        unit_vectors = l2_normalize(self.words)
        cosines = unit_vectors @ unit_vectors[at]
        order = np.argsort(-cosines, kind="stable")
        return [(self.spelled[w], float(cosines[w])) for w in order[order != at][:n]]

    def text_point(self, text: str) -> tuple[Floats, tuple[str, ...]]:
        """Return the point of a text, and its distinct words that were not learned.

        Words are weighted by tf-idf.
        """
        words = LearnedWords.of(self.reader, self.model, Counter(tokens(text)))
        if not words:
            raise UsageError(
                "The text model has learned none of the words of the text, so no pictures can be "
                "ranked for it. Use other words."
            )
        return self.point_of(words), words.missing

    def point_of(self, words: LearnedWords) -> Floats:
        """Return the point of a text by its learned words."""
        from scipy.sparse import csr_matrix

        at = np.searchsorted(self.model.terms, words.terms)
        times = np.array(words.times, np.float64)
        row = csr_matrix((times, ([0] * len(at), at)), shape=(1, len(self.model.terms)))
        point: Floats = self.model.served.text_points(row)[0]
        return point

    def likely(self, scores: Floats) -> NDArray[np.float64]:
        """Return the probabilities that pictures and texts with these scores fit each other."""
        if self.model.curve is None:
            raise CollectionError(self._old())
        return likely(scores, self.model.curve)

    def pictures(self, point: Floats, k: int, where: Ints | None = None) -> Top:
        """Return the best pictures of a point, by inner product."""
        return self._top(PICTURES, point, k, where)

    def texts(self, point: Floats, k: int, where: Ints | None = None) -> Top:
        """Return the pictures with the best texts of a point, by inner product."""
        return self._top(TEXTS, point, k, where)

    def with_texts(self) -> Ints:
        """Return the pictures whose texts have a point: they contain a learned word."""
        ids = [np.zeros(0, np.int64)]
        for s in self.reader.snapshot.segments:
            points = s.matrix(self.model.points_of(TEXTS))
            if points is not None:
                ids.append(s.ids[s.alive() & np.asarray(points).any(axis=1)])
        return np.sort(np.concatenate(ids))

    def _top(self, what: str, point: Floats, k: int, where: Ints | None) -> Top:
        name, snapshot = self.model.points_of(what), self.reader.snapshot
        scored = (s for s in snapshot.segments if s.scores and s.scores.model == self.model.name)
        if any(s.matrix(name) is None for s in scored):
            raise CollectionError(self._old())
        return snapshot.top(DenseQuery(name, point), k, where)

    def _old(self) -> str:
        return (
            f"The model in use, {self.model.name}, was trained before pictures and texts had "
            "points in the store. Run: sightline train text"
        )


def served_text_model(reader: Reader) -> TextModel | None:
    """Return the text model in use, else a word model with a shared space; None if neither is."""
    model = load_text_model(reader.store_folder, reader.snapshot.text)
    if model is not None:
        return model
    words = load_word_model(reader.store_folder, reader.snapshot.model)
    return words.as_text_model() if words is not None and words.served.shared_space else None


def require_text_model(reader: Reader) -> TextModel:
    """Return what `served_text_model` does; raise if there is none."""
    model = served_text_model(reader)
    if model is None:
        raise NoSpace("There is no text model yet. Run: sightline train text")
    return model
