"""Texts for a picture, and pictures for a text.

A text is everything written about one picture of the collection, of any length. Its score is the
probability that it has a word in common with this picture's own words, the relevance used in
training. Equal texts, with the same labels in any order and the same captions, are returned once,
with their first picture. A text without any learned word has no point in the shared space and is
left out.

A text of any length asks for pictures by the text model. The word model answers instead where there
is no text model, where that has learned none of the words, and where it ranked held-out pictures
better for their texts when the text model was trained (`TextAnswer`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Floats
from sightline.collection.filters import allowed_ids
from sightline.collection.index.tags import terms_of
from sightline.collection.models.any_word import rank_by_any_word
from sightline.collection.models.online import load_updated_model
from sightline.collection.models.text_model import FITS, TextModel, load_text_model
from sightline.collection.models.word_model import WordModel
from sightline.collection.query import Wording, count_not_learned
from sightline.collection.results import Results, TextAnswer, hits_of
from sightline.collection.search.annotate import views_of
from sightline.collection.search.topics import LearnedWords, SharedSpace
from sightline.collection.similarity.query import find
from sightline.contracts import Compute
from sightline.errors import CollectionError, NoModel, UsageError
from sightline.records import Tags
from sightline.settings import Settings
from sightline.store.folder import Reader
from sightline.words.tokens import tokens

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike
    from sightline.store.catalogue import Where

# Scores of equal texts differ only by rounding, which depends on the position of rows.
_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A text: the first picture that has it, the number of these, and its probability.

    `own` is true for the text of the query picture itself.
    """

    picture: int
    path: bytes
    text: str
    pictures: int
    score: float
    fits: bool
    own: bool


@dataclass(frozen=True, slots=True)
class TextMatches:
    """The texts for a picture, most likely first, and its id if it is in the collection."""

    picture: int | None
    texts: tuple[TextMatch, ...]
    version: int


def describe_texts(
    reader: Reader,
    root: bytes,
    picture: PictureLike,
    k: int,
    settings: Settings,
    compute: Compute | None = None,
) -> TextMatches:
    """Rank texts for a picture; see `Collection.describe_texts`."""
    space = SharedSpace(reader)
    query_picture = find(reader, root, picture)
    views = views_of(reader, space.model, query_picture, settings, compute)
    point = space.model.served.points(views)[0]
    if not point.any():
        raise CollectionError(
            "The picture has no point in the shared space (its features are all zero, or unlike "
            "those of every training picture), so no texts can be ranked for it. Name another one."
        )
    groups = _groups(reader, space, point, k)
    chances = space.likely(np.array([g.score for g in groups], np.float32)).tolist()
    facts = reader.catalogue.facts([g.first for g in groups])
    matches = [
        TextMatch(g.first, facts[g.first].path, g.text, len(g.pictures), round(chance, 6),
                 chance >= FITS, query_picture.picture in g.pictures)
        for g, chance in zip(groups, chances, strict=True)
    ]  # fmt: skip
    return TextMatches(query_picture.picture, tuple(matches), reader.snapshot.version)


@dataclass(slots=True)
class _Group:
    """One text with all pictures that have it; `first` is the one it is shown with."""

    text: str
    score: float
    first: int
    pictures: set[int]


def _groups(reader: Reader, space: SharedSpace, point: Floats, k: int) -> list[_Group]:
    """Return the k best distinct texts, each with all of its pictures.

    More texts are read until every group is complete.
    """
    texts = _TextScorer(reader, space)
    where, depth = space.with_texts(), 2 * k + 8
    while True:
        top = space.texts(point, depth, where)
        groups: dict[object, _Group] = {}
        for i, score in zip(top.ids.tolist(), top.scores.tolist(), strict=True):
            if (key_and_text := texts.of(i)) is None:
                continue
            key, text = key_and_text
            group = groups.setdefault(key, _Group(text, score, i, set()))
            group.pictures.add(i)
            if i < group.first:
                group.first, group.text = i, text
        best = list(groups.values())[:k]
        slack = _ROUNDING * float(np.abs(top.scores).max(initial=1.0))
        if len(top.ids) < depth or (len(best) == k and top.scores[-1] < best[-1].score - slack):
            return best
        depth *= 2


class _TextScorer:
    """The texts of pictures, each looked up once."""

    def __init__(self, reader: Reader, space: SharedSpace) -> None:
        self.reader = reader
        self.spelled = dict(zip(space.model.terms.tolist(), space.spelled, strict=True))
        self._read_before: dict[int, tuple[object, str] | None] = {}

    def of(self, picture: int) -> tuple[object, str] | None:
        """Return the key by which equal texts are grouped, and the text; None if it is gone.

        The catalogue may be newer than the served version. If its words differ from those that were
        scored, the scored words are returned.
        """
        if picture not in self._read_before:
            self._read_before[picture] = self._read(picture)
        return self._read_before[picture]

    def _read(self, picture: int) -> tuple[object, str] | None:
        catalogue = self.reader.catalogue
        if picture not in catalogue.facts([picture]):
            return None
        words = catalogue.words(picture)
        scored = self._scored(picture)
        if set(terms_of(words).ids) != scored:
            spelled = [self.spelled[t] for t in sorted(scored) if t in self.spelled]
            words = [Tags("version", tuple(sorted(spelled)))]
        captions = frozenset(" ".join(w.text.split()) for w in words if w.text.strip())
        return (captions, frozenset(t for w in words for t in w.tags)), as_text(words)

    def _scored(self, picture: int) -> set[int]:
        ids = np.array([picture], np.int64)
        rows = ((s, r) for s in self.reader.snapshot.segments for r in s.rows_of(ids).tolist())
        return {t for s, r in rows for t in s.words(r).tolist()}


def as_text(words: list[Tags]) -> str:
    r"""Return all texts of a picture as one line, each label and caption once.

    >>> as_text([Tags("iptc", ("sea", "old barn")), Tags("txt", ("sea",), "A barn by\nthe sea.")])
    'A barn by the sea. sea, old barn'
    """
    captions = dict.fromkeys(" ".join(w.text.split()) for w in words if w.text.strip())
    labels = dict.fromkeys(t for w in words for t in w.tags)
    return " ".join([*captions, ", ".join(labels)]).strip()


def search_text(
    reader: Reader, root: bytes, text: str, k: int, where: Where, untagged: bool
) -> Results:
    """Rank pictures for a text."""
    counts = Counter(tokens(text))
    allowed = allowed_ids(reader, where, untagged)
    models = ((m, a, LearnedWords.of(reader, m, counts)) for m, a in _answering(reader))
    asked = next(((m, a, words) for m, a, words in models if words), None)
    if asked is None:
        raise UsageError(
            "No model has learned any of the words of the text, so no pictures can be ranked for "
            "it. Use other words."
        )
    model, answer, words = asked
    if isinstance(model, TextModel):
        space = SharedSpace(reader, model)
        top = space.pictures(space.point_of(words), k, allowed)
        scores = space.likely(top.scores).tolist()
    else:
        top = rank_by_any_word(reader.snapshot, model, words.terms, words.times, k, allowed)
        scores = top.scores.tolist()
    proven = isinstance(model, TextModel) or not np.isin(words.terms, model.unproven).all()
    likely = scores if proven else None
    hits, missing = hits_of(
        reader, root, top.ids.tolist(), scores, "predicted", True, likely, proven
    )
    return Results(
        tuple(hits), (), reader.snapshot.version, missing, served=reader.notice(), predicted=True,
        not_learned=count_not_learned(reader.snapshot, words.missing),
        wording=Wording(words.stop_words, of_text=True), store_folder=reader.store_folder,
        text_answer=answer,
    )  # fmt: skip


def _answering(reader: Reader) -> list[tuple[TextModel | WordModel, TextAnswer]]:
    """Return the models that can rank pictures for a text, the one to ask first first."""
    text = load_text_model(reader.store_folder, reader.snapshot.text)
    words = load_updated_model(reader)
    if text is None and words is None:
        raise NoModel("There is no word model yet, nor a text model. Run: sightline train")
    if words is None:
        assert text is not None
        return [(text, TextAnswer("text"))]
    by_words = words.as_text_model() if words.served.shared_space else words
    if text is None:
        return [(by_words, TextAnswer("words", "no text model"))]
    of_text, of_words = _text_figures(text)
    if of_words > of_text:
        better = TextAnswer("words", "better", of_text, of_words)
        return [(words, better), (text, TextAnswer("text", "no word learned"))]
    return [(text, TextAnswer("text")), (by_words, TextAnswer("words", "no word learned"))]


def _text_figures(text: TextModel) -> tuple[float, float]:
    """Return the mean AvgP of pictures for held-out texts, by the text model and by words."""
    figures = text.about.get("figures")
    measured = figures if isinstance(figures, dict) else {}
    values = measured.get("text_to_picture"), measured.get("word_model")
    a, b = (float(v) if isinstance(v, int | float) else 0.0 for v in values)
    return a, b
