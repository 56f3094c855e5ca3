"""Online updates of the word model: an answer changes predictions at the next search.

An answer says that a picture fits a word, or that it does not. Of the answers since the training on
word t, with y_i the label, f_t what the model predicts of labels and k the kernel of a compact
space of the model's features (`similarity.compact`),

    f_t(p) + sum_i c_i k(p_i, p)        c = (K + I)^-1 (y - f_t)

which is kernel ridge on what the model got wrong: a block update for all answers of a word, so that
their order does not matter. Numbers are published on another scale than labels
(`words.combination`): x = origin + gain f. Pictures that were answered themselves get the number of
a tagged picture, or at most that of a picture whose predicted label is 0.

Nothing of it is stored but codes of the pictures, beside the scores that the model published:
updates follow from the event log, so they are the same after a restart, and an answer that is
undone or reverted does not count. Held-out pictures prove models without any update. The next
training learns from all answers anew.

Answers are judgements of words, in sessions and in reviews; words that sessions were saved as; and
words of pictures that were indexed after the training. Of a word the last `MOST` count. A word that
the model has not learned, or has no published scores of, waits for the next training; so does what
undoes an answer that the model has learned from.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Doubles, Floats, Ints
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.recipe import Fitted, ranker_spec
from sightline.contracts import Json
from sightline.records import Tags, WordUpdate
from sightline.similarity.compact import LEARNED_FROM, CompactSpace, kernel_of_codes
from sightline.store.events import OF_SESSION, Event, EventLog
from sightline.store.folder import Reader, StoreFolder
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.words.combination import Combination
from sightline.words.grammar import parse
from sightline.words.probability import logit_of_log
from sightline.words.term_ids import term_id
from sightline.words.tokens import caption_terms

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel

# Answers that count for a word, the last ones.
MOST = 128
_NOISE = 1.0
_PREFIX = "online."
_BLOCK = 4_096
# The gain of other rankers is that of a regression on labels, in which few positives make outliers:
# it is at most this much above or below the median.
_SPREAD = 4.0
# The ranker whose scores are predicted labels.
LABEL_SCALE = "ridge"
_KINDS = ("judged", "mark-undone", "session-reverted", "words")


@dataclass(frozen=True, slots=True, eq=False)
class OnlineSpace:
    """What online updates need of a training.

    Attributes
    ----------
    space : CompactSpace
        Of the model's features.
    gain, origin : ndarray of float64
        By word, what a label more adds to a picture's number, and the number of a picture whose
        predicted label is 0; before the logs are taken, where logs are published.
    """

    space: CompactSpace
    gain: Doubles
    origin: Doubles

    def codes(self, fitted: Fitted, views: Mapping[str, Any]) -> NDArray[np.uint8]:
        """Return pictures as points of the space, from their rows as they are stored."""
        n = next(iter(views.values())).shape[0]
        out = np.empty((n, self.space.basis.shape[1]), np.uint8)
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            part = {f: _some(views[f], rows) for f in fitted.recipe.features}
            out[rows] = self.space.codes(fitted.weighted(part))
        return out

    def to_arrays(self) -> Arrays:
        """Return it as arrays of a model."""
        arrays = {**self.space.to_arrays(), "gain": self.gain, "origin": self.origin}
        return {f"{_PREFIX}{name}": array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> OnlineSpace | None:
        """Return that of a model; None for models of earlier releases."""
        if f"{_PREFIX}basis" not in arrays:
            return None
        part = {n.removeprefix(_PREFIX): a for n, a in arrays.items() if n.startswith(_PREFIX)}
        gain, origin = (np.asarray(part[name], np.float64) for name in ("gain", "origin"))
        return cls(CompactSpace.from_arrays(part), gain, origin)

    def labels(self, numbers: Doubles, column: int) -> Doubles:
        """Return what a model predicts of labels, from numbers before logs are taken."""
        labels = (numbers - self.origin[column]) / self.gain[column]
        return np.asarray(np.clip(labels, 0.0, 1.0), np.float64)


def learn_space(dataset: Dataset, fitted: Fitted, combination: Combination) -> OnlineSpace | None:
    """Return the space of a fitted model; None where there are too few pictures for one."""
    if len(dataset) < 2:
        return None
    step = -(-len(dataset) // LEARNED_FROM)
    rows = np.arange(0, len(dataset), step)
    views = {f: _some(dataset.views[f], rows) for f in fitted.recipe.features}
    space = CompactSpace.of(fitted.weighted(views))
    gain, origin = _scale(dataset, fitted, combination, rows, views)
    return OnlineSpace(space, gain, origin)


def _some(view: Any, rows: Ints | slice) -> Any:
    return view.read(rows) if hasattr(view, "read") else view[rows]


def _scale(
    dataset: Dataset,
    fitted: Fitted,
    combination: Combination,
    rows: Ints,
    views: Mapping[str, Any],
) -> tuple[Doubles, Doubles]:
    """Return gain and origin of each word: by what is known of the scores, or by regression."""
    spec = ranker_spec(fitted.recipe.ranker)
    if fitted.recipe.ranker == LABEL_SCALE:
        return combination.slope_.copy(), combination.offset_.copy()
    unseen, below = fitted.unseen, fitted.independent
    if spec.stacked_on and unseen is not None and below is not None:
        gain, origin = _regression(below, _numbers(combination, unseen))
        return np.maximum(gain, 0.0), origin
    numbers = _numbers(combination, fitted.scores(views))
    labels = np.asarray(dataset.labels[rows].todense(), np.float64)
    slope, _ = _regression(numbers, labels)
    positive = slope[slope > 0]
    if not len(positive):
        return np.zeros(len(slope)), np.zeros(len(slope))
    middle = float(np.median(positive))
    slope = np.clip(slope, middle / _SPREAD, middle * _SPREAD)
    gain = 1.0 / slope
    return gain, numbers.mean(axis=0) - gain * labels.mean(axis=0)


def _numbers(combination: Combination, scores: Floats) -> Doubles:
    return np.asarray(scores * combination.slope_ + combination.offset_, np.float64)


def _regression(x: Floats | Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Return slope and offset of each column of y on that of x by least squares."""
    mean_x, mean_y = x.mean(axis=0, dtype=np.float64), y.mean(axis=0)
    above = x - mean_x
    variance = np.einsum("ij,ij->j", above, above)
    slope = np.einsum("ij,ij->j", above, y - mean_y) / np.maximum(variance, 1e-12)
    return slope, mean_y - slope * mean_x


@dataclass(frozen=True, slots=True)
class WordAnswer:
    """Whether a picture fits a term, and the event that says so."""

    picture: int
    term: int
    fits: bool
    seq: int


class AnswerLog:
    """The answers in the log after some event, read further as it grows."""

    def __init__(self, after: int) -> None:
        self.last, self._n_events = after, 0
        self._given: list[tuple[_Mark, tuple[WordAnswer, ...]]] = []
        self._undone: set[_Mark] = set()
        self._reverted: set[str | None] = set()
        self._judged_not: dict[str | None, list[tuple[_Mark, int]]] = {}

    def __len__(self) -> int:
        """Return how many events say, or take back, an answer."""
        return self._n_events

    def read(self, log: EventLog) -> None:
        """Read what was added to the log."""
        last = log.last_seq()
        if last <= self.last:
            return
        for e in log.read(self.last, _KINDS, in_sessions=True):
            self._add(e)
            last = max(last, e.seq)
        self.last = last

    def _add(self, e: Event) -> None:
        self._n_events += 1
        mark = e.session, e.body.get("mark")
        if e.kind == "mark-undone":
            self._undone.add(mark)
        elif e.kind == "session-reverted":
            self._reverted.add(str(e.body.get("session")))
        elif e.picture is not None and e.kind == "judged":
            fits = float(str(e.body.get("relevance", 0))) > 0
            terms = _asked(str(e.body.get("query", "")), fits)
            self._given.append((mark, _answers(e.picture, terms, fits, e.seq)))
            if not fits:
                self._judged_not.setdefault(e.session, []).append((mark, e.picture))
        elif e.picture is not None and str(e.body.get("source", "")).startswith(OF_SESSION):
            terms = _given_terms(e)
            self._given.append((mark, _answers(e.picture, terms, True, e.seq)))
            for earlier, picture in self._judged_not.get(e.session, ()):
                self._given.append((earlier, _answers(picture, terms, False, e.seq)))

    def answers(self) -> list[WordAnswer]:
        """Return the last answer on each picture and term, in order of time."""
        last: dict[tuple[int, int], WordAnswer] = {}
        for mark, given in self._given:
            if mark in self._undone or mark[0] in self._reverted:
                continue
            for a in given:
                last.pop((a.picture, a.term), None)
                last[a.picture, a.term] = a
        return list(last.values())


# A session, and the mark by which judgements that were made together are undone.
_Mark = tuple[str | None, Json]


def _answers(picture: int, terms: Iterable[int], fits: bool, seq: int) -> tuple[WordAnswer, ...]:
    return tuple(WordAnswer(picture, term, fits, seq) for term in terms)


@lru_cache(1_024)
def _asked(query: str, fits: bool) -> tuple[int, ...]:
    """Return the terms of a query that a judgement answers."""
    words = [t.text for t in parse(query).terms]
    # Of several words it is not known which one does not fit.
    return tuple(term_id(w) for w in words) if fits or len(words) == 1 else ()


def _given_terms(e: Event) -> tuple[int, ...]:
    """Return the terms that a session gave a picture as words."""
    given = e.body.get("tags")
    labels = tuple(str(t) for t in given) if isinstance(given, list) else ()
    return tuple(term_id(w) for w in caption_terms(Tags(str(e.body["source"]), labels)))


class OnlineUpdates:
    """The updates of a model's words by the answers since its training.

    Parameters
    ----------
    snapshot : Snapshot
        The version that is searched.
    model : WordModel
        The model in use; it must have an online space.
    answers : iterable of Answer
        In order of time.
    last_picture : int
        The largest id that the model may have learned from.
    n_events : int, default=0
        The events that the answers follow from: other answers have another number.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        model: WordModel,
        answers: Iterable[WordAnswer],
        last_picture: int,
        n_events: int = 0,
    ) -> None:
        self.n_events = n_events
        self._snapshot, self._model, self._last_picture = snapshot, model, last_picture
        self._newer = [s for s in snapshot.segments if len(s.ids) and s.ids[-1] > last_picture]
        self._answers: dict[int, list[WordAnswer]] = {}
        given = list(answers)
        named = model.aliases.names_of(np.array([a.term for a in given], np.int64))
        published = set(model.terms[model.published].tolist())
        for term, a in zip(named.tolist(), given, strict=True):
            if term in published:
                self._answers.setdefault(term, []).append(a)
        self._made: dict[int, WordUpdate | None] = {}

    def labels(self) -> dict[int, dict[int, bool]]:
        """Return whether pictures fit the words that were answered, by term and picture."""
        new = {int(t) for s in self._newer for t in s.base["terms"].tolist()}
        named = self._model.aliases.names_of(np.array(sorted(new), np.int64)).tolist()
        learned = set(self._model.terms[self._model.published].tolist())
        terms = sorted({*self._answers, *(learned & set(named))})
        found = {term: self._labels(term)[0] for term in terms}
        return {term: known for term, known in found.items() if known}

    def of(self, terms: Ints) -> dict[int, WordUpdate]:
        """Return the updates of some terms."""
        updates = {}
        for term in terms.tolist():
            if term not in self._made:
                self._made[term] = self._update(term)
            if (update := self._made[term]) is not None:
                updates[term] = update
        return updates

    def _labels(self, term: int) -> tuple[dict[int, bool], list[int]]:
        """Return whether pictures fit a term, and which of them were answered."""
        known = {a.picture: a.fits for a in self._answers.get(term, [])[-MOST:]}
        answered = sorted(known)
        new = self._newly_tagged(term, MOST - len(known), known)
        return known | dict.fromkeys(new, True), answered

    def _update(self, term: int) -> WordUpdate | None:
        labels, answered = self._labels(term)
        if not labels:
            return None
        ids, judged = (np.array(sorted(p), np.int64) for p in (labels, answered))
        return update_of(self._model, term, self._snapshot.segments, ids, labels, judged)

    def _newly_tagged(self, term: int, most: int, known: Mapping[int, bool]) -> list[int]:
        """Return the last pictures that were indexed after the training and have a term."""
        forms = self._model.aliases.forms_of(term)
        new: list[int] = []
        for s in self._newer:
            ids = s.ids[s.living(s.postings_of(forms).astype(np.int64))]
            new += ids[ids > self._last_picture].tolist()
        return [p for p in sorted(new) if p not in known][-most:] if most > 0 else []


def update_of(
    model: WordModel,
    term: int,
    segments: Sequence[OpenSegment],
    ids: Ints,
    labels: Mapping[int, bool],
    judged: Ints,
) -> WordUpdate | None:
    """Return the update of a word by pictures (ids ascending) with labels.

    `judged` are those whose own numbers are then known. None where the pictures have no scores.
    """
    online = model.online_space
    column = int(np.searchsorted(model.terms, term))
    at, codes, published = _stored(segments, model.name, term, ids)
    if online is None or not len(at):
        return None
    is_log = model.combination.how == "product"
    fits = np.array([labels[p] for p in at.tolist()])
    coefficients, kept = np.zeros(0, np.float32), codes[:0]
    if online.gain[column] > 0:
        before = logit_of_log(published) if is_log else published.astype(np.float64)
        residual = fits - online.labels(before, column)
        solution = coefficients_of(codes, residual, online.space.gamma)
        coefficients, kept = (solution * online.gain[column]).astype(np.float32), codes
    none = _of_number(float(online.origin[column]), is_log)
    answered = np.isin(at, judged)
    known = float(model.combination.known_[column])
    numbers = np.where(fits, known, np.minimum(published, none))[answered].astype(np.float32)
    return WordUpdate(kept, coefficients, online.space.gamma, is_log, at[answered], numbers)


def coefficients_of(codes: NDArray[np.uint8], residual: Doubles, gamma: float) -> Doubles:
    """Return the coefficients of kernel ridge on what a model got wrong of some pictures."""
    K = kernel_of_codes(codes, codes, gamma).astype(np.float64)
    K[np.diag_indices_from(K)] += _NOISE
    return np.asarray(np.linalg.solve(K, residual))


def _of_number(number: float, is_log: bool) -> float:
    return float(-np.logaddexp(0.0, -number)) if is_log else number


def _stored(
    segments: Sequence[OpenSegment], model: str, term: int, ids: Ints
) -> tuple[Ints, NDArray[np.uint8], Floats]:
    """Return which pictures a model has scored, ids ascending, their codes and a word's numbers."""
    found, codes, numbers = [], [], []
    for s in segments:
        scores, rows = s.scores, s.rows_of(ids)
        if scores is None or scores.model != model or scores.codes is None or not len(rows):
            continue
        row = scores.row(term)
        if row is not None:
            found.append(s.ids[rows])
            codes.append(scores.codes[rows])
            numbers.append(row[rows])
    if not found:
        return ids[:0], np.zeros((0, 0), np.uint8), np.zeros(0, np.float32)
    at = np.concatenate(found)
    order = np.argsort(at)
    return at[order], np.concatenate(codes)[order], np.concatenate(numbers)[order]


@dataclass(slots=True)
class _ServedUpdates:
    """The answers to a model, and the updates that were made of them last."""

    model: str
    answers: AnswerLog
    of: tuple[int, int] = (-1, -1)
    updates: OnlineUpdates | None = None


_KEPT: WeakKeyDictionary[StoreFolder, _ServedUpdates] = WeakKeyDictionary()
_LOCK = threading.Lock()


def load_updated_model(reader: Reader) -> WordModel | None:
    """Return the word model in use with its updates; None if there is none."""
    if not reader.snapshot.model:
        return None
    from sightline.collection.models.word_model import load_word_model

    model = load_word_model(reader.store_folder, reader.snapshot.model)
    return None if model is None else with_updates(reader, model)


def with_updates(reader: Reader, model: WordModel) -> WordModel:
    """Return a model with the updates by all answers in the log since its training."""
    seq = model.about.get("learned_until")
    if model.online_space is None or not isinstance(seq, int):
        return model
    last_picture = int(str(model.about.get("last_picture", 0)))
    folder, version = reader.store_folder, reader.snapshot.version
    with _LOCK, contextlib.closing(EventLog(folder.events, write=False)) as log:
        kept = _KEPT.get(folder)
        if kept is None or kept.model != model.name:
            kept = _KEPT[folder] = _ServedUpdates(model.name, AnswerLog(seq))
        kept.answers.read(log)
        state = (version, len(kept.answers))
        if kept.updates is None or kept.of != state:
            answers = kept.answers.answers()
            kept.updates = OnlineUpdates(reader.snapshot, model, answers, last_picture, state[1])
            kept.of = state
        return replace(model, online=kept.updates)
