"""Search by the words that pictures have, and by what a model predicts from them.

Exact matches, pictures that have every word of the query, come first. Partial matches on a word
that the model has not learned, with another word of the query, follow. Then come predicted ones:
the model ranks by the words it has learned (`ResolvedQuery`), their score is a probability, and
those below the cut-off, chosen on validation pictures, are left out; of words that few pictures
have, those that are no more likely than any picture. Other partial matches, pictures that have some
of the words, come next. Suggested pictures come last, if the model has learned none of the words: a
network trained on ImageNet answers the nouns (`starting_words`). Without the cut-off, predictions
below it follow those above in one order, whatever words they have; the first `within` pictures are
those above it.

Pictures that have words are ordered by the cosine of query and words, weighted by idf. Exact
matches get 1 added to it, and partial ones before the predictions a little above 1, so that scores
decrease from the first hit to the last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.collection.corrections import Correction, spellings_of
from sightline.collection.filters import allowed_ids
from sightline.collection.lexicon import word_forms
from sightline.collection.query import NotLearned, ResolvedQuery
from sightline.collection.results import MatchKind, ResultPart, Results, UnknownWord, hits_of
from sightline.collection.search.kept_rankings import DEEPER, ListRanking, ranking_of
from sightline.collection.search.signed_words import SignedWords, least_probability
from sightline.collection.search.starting_words import (
    LEAST_PROBABILITY,
    StartingQuery,
    StartingWords,
)
from sightline.errors import CollectionError, ParameterError, QueryError
from sightline.records import Hit, SparseQuery, Top, WordQuery, shown
from sightline.store.catalogue import Where
from sightline.store.folder import Reader
from sightline.words.grammar import PictureTerm, Query, parse
from sightline.words.tfidf import query_vector

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What counts as a hit.

    `untagged` keeps only pictures without any word; `cut` leaves out predicted hits below the
    cut-off; `predicted` false leaves out all predicted hits. `among` are the only pictures that may
    appear. `skip` returns the part of the list from a rank on, and `count` has the list counted;
    see `Part`.
    """

    untagged: bool = False
    cut: bool = True
    predicted: bool = True
    among: tuple[int, ...] | None = None
    skip: int | None = None
    count: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether nothing but filters was asked for."""
        return replace(self, untagged=False) == SearchOptions()

    def __post_init__(self) -> None:
        if self.skip is not None and self.skip < 0:
            raise ParameterError.of("skip", "search", "at least 0", self.skip)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Every picture that a query ranks, ids ascending, with its score as in `Results`.

    `exact` are those that have every word; `allowed` are the only ones that may appear, None for
    all; `not_learned`, `predicted` and `corrections` are as of `Results`; `suggested` are those
    that a network suggests, by the words in `starting`.
    """

    ids: Ints
    scores: NDArray[np.float64]
    exact: Ints
    allowed: Ints | None
    unknown: tuple[UnknownWord, ...]
    not_learned: tuple[NotLearned, ...] = ()
    predicted: bool | None = None
    corrections: tuple[Correction, ...] = ()
    suggested: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    starting: StartingWords = field(default_factory=StartingWords)

    def match(self) -> Callable[[int], MatchKind]:
        """Return how a picture matches the query, by its id."""
        exact, suggested = frozenset(self.exact.tolist()), frozenset(self.suggested.tolist())
        other: MatchKind = "predicted" if self.predicted is True else "partial"

        def match(picture: int) -> MatchKind:
            return "exact" if picture in exact else "suggested" if picture in suggested else other

        return match


def ranked(reader: Reader, text: str, where: Where | None = None, untagged: bool = False) -> Ranked:
    """Score all pictures by words, without looking up their files."""
    query = parse_words(text)
    options = SearchOptions(untagged, cut=False)
    return _Search(reader, b"", query, 1, where or Where(), options).everything()


def rank(reader: Reader, text: str, ids: Sequence[int]) -> tuple[list[tuple[int, float]], int]:
    """Return pictures with their scores for words, best first, and the version."""
    ranking = ranked(reader, text)
    scores = dict(zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True))
    pairs = [(p, round(float(scores.get(p, 0.0)), 6)) for p in ids]
    return sorted(pairs, key=lambda x: -x[1]), reader.snapshot.version


def parse_words(text: str) -> Query:
    """Parse a query in the search-box grammar; it must contain a word."""
    query = parse(text)
    if not query.terms:
        raise QueryError(f"The query {text!r} names no word to look for. Add one, such as: tree")
    return query


def pictures_of(text: str) -> tuple[PictureTerm, ...]:
    """Return the pictures of a query that takes words or pictures, not both."""
    query = parse(text)
    if query.pictures and (query.terms or query.excluded):
        word = query.terms[0] if query.terms else f"-{query.excluded[0]}"
        raise QueryError(
            f"{query.pictures[0]} is a picture and {word} is a word; they can be mixed in a "
            "search alone. Name words, or pictures."
        )
    return query.pictures


def search(
    reader: Reader, root: bytes, text: str, k: int, where: Where, options: SearchOptions
) -> Results:
    """Answer a query in the search-box grammar."""
    if not os.path.isdir(root):
        raise CollectionError(f"The folder {shown(root)} is not there. Is its disk mounted?")
    return _Search(reader, root, parse_words(text), k, where, options).results()


class _Search:
    def __init__(
        self,
        reader: Reader,
        root: bytes,
        query: Query,
        k: int,
        where: Where,
        options: SearchOptions,
    ) -> None:
        self.reader, self.root, self.query, self.k, self.where = reader, root, query, k, where
        self.options, self.snapshot = options, reader.snapshot
        self.asked = ResolvedQuery.of(reader, query, options.predicted)
        self.terms, self.model = self.asked.terms, self.asked.model
        # Probability of the last predicted hit: partial matches come after it.
        self.least = 1.0
        # Number of pictures before the predicted ones, and of predicted ones above the cut-off.
        self.tagged = self.above = 0

    def results(self) -> Results:
        hits: list[Hit] = []
        missing, want = 0, self.k
        allowed = self._allowed()
        if self.options.skip is not None or self.options.count:
            return self._part(allowed)
        while self.answerable:
            ranked, hits, missing = self._hits(want, allowed)
            if len(hits) >= self.k or ranked < want:
                break
            want *= (
                4  # Files of some hits are missing: read further down the ranking, in few steps.
            )
        return self._answer(hits[: self.k], missing)

    @cached_property
    def starting(self) -> StartingQuery | None:
        """The nouns that a network answers; None where the owner's model does, or nothing shall."""
        model_answers = self.asked.predicted is True or not self.options.predicted
        if model_answers or not self.reader.store_folder.starting_words:
            return None
        words = [t.text for t in self.asked.query.terms]
        left_out = self.asked.wording.stop_words
        return StartingQuery(self.reader, [w for w in words if w not in left_out])

    @property
    def answerable(self) -> bool:
        """Whether any picture can match."""
        return bool(len(self.terms) or (self.starting and self.starting.words))

    def _suggested(self, n_hits: int, n_suggested: int) -> StartingWords:
        """Return the words that a network answered; what it lacks matters only without any hit."""
        if (n_hits and not n_suggested) or self.starting is None:
            return StartingWords()
        return self.starting.words

    def _answer(
        self, hits: list[Hit], missing: int, part: ResultPart | None = None, served: str = ""
    ) -> Results:
        asked = self.asked
        suggested = self._suggested(len(hits), sum(h.match == "suggested" for h in hits))
        return Results(
            tuple(hits), self._unknown(), self.snapshot.version, missing, part=part,
            served=self.reader.notice() or served, not_learned=asked.not_learned,
            predicted=asked.predicted, constraints=asked.constraints,
            corrections=asked.corrections, wording=asked.wording,
            store_folder=self.reader.store_folder, suggested=suggested, unproven=asked.unproven,
        )  # fmt: skip

    def _unknown(self) -> tuple[UnknownWord, ...]:
        unknown = self.asked.unknown
        if not unknown:
            return ()
        table = word_forms(self.reader)
        spellings, is_stop_word = spellings_of(table), table.lexicon.is_stop_word
        return tuple(UnknownWord(w, () if is_stop_word(w) else spellings.near(w)) for w in unknown)

    def _part(self, allowed: Ints | None) -> Results:
        """Return one part of the list, cut from the ranking that is kept of it if there is one.

        Only its own pictures are looked up.
        A missing file leaves a gap, so that parts always begin at fixed ranks.
        """
        skip, count = self.options.skip or 0, self.options.count
        end = skip + self.k
        size = self.snapshot.size()
        # Whoever reads on will read further.
        want = size if count else min(size, (end * DEEPER if skip else end) + 1)
        ranking = ranking_of(self.snapshot, self._key(), want, allowed, self._ranking(allowed))
        tops, ranked = ranking.tops, len(ranking)
        self.tagged, self.above = ranking.tagged, ranking.above
        hits, missing = self._looked_up(_between(tops, skip, end))
        within = None
        if count and self.model is not None:
            within = self.above + self.tagged
        elif count and tops and len(tops[-1][0].ids):
            # Suggested pictures come last, those below their cut-off at the end.
            within = ranked - int((tops[-1][0].scores < LEAST_PROBABILITY).sum())
        part = ResultPart(min(ranked, end), ranked > end, ranked if count else None, within)
        return self._answer(hits, missing, part, ranking.served)

    def _key(self) -> Hashable:
        """Return what a ranking depends on besides the version and the pictures allowed."""
        options = replace(self.options, untagged=False, skip=None, count=False)
        folder = self.reader.store_folder
        words, model = (word_forms(self.reader), folder.starting_words), self.asked.model
        online = 0 if model is None or model.online is None else model.online.n_events
        return self.query, options, model is None, online, words, self.snapshot.engine

    def _ranking(self, allowed: Ints | None) -> Callable[[int], ListRanking]:
        """Return what ranks the pictures allowed to some depth."""

        def rank(depth: int) -> ListRanking:
            tops = self._tops(depth, allowed) if depth and self.answerable else []
            served = self.reader.notice()
            return ListRanking(depth, tops, allowed, self.tagged, self.above, served)

        return rank

    def _allowed(self) -> Ints | None:
        """Return the ids that filters, required and excluded words leave; None without any.

        Pictures without tags are left where a required word can be predicted.
        """
        left = allowed_ids(self.reader, self.where, self.options.untagged)
        parts = [] if left is None else [left]
        if self.options.among is not None:
            parts.append(np.unique(np.array(self.options.among, np.int64)))
        for c in self.asked.constraints:
            tagged = self.snapshot.tagged_with(c.forms.tolist(), every=False)
            if not c.required:
                parts.append(_without(self.snapshot.ids(), tagged))
            elif c.predicted:
                parts.append(np.union1d(tagged, self.snapshot.without_words()))
            else:
                parts.append(tagged)
        if not parts:
            return None
        out = parts[0]
        for p in parts[1:]:
            out = _both(out, p)
        return out

    def _hits(self, k: int, allowed: Ints | None) -> tuple[int, list[Hit], int]:
        """Return the number of ranked pictures, the hits, and the number of missing files."""
        tops = self._tops(k, allowed)
        hits, lost = self._looked_up(tops)
        return sum(len(top.ids) for top, _ in tops), hits, lost

    def everything(self) -> Ranked:
        """Return all pictures the query ranks, however low their scores."""
        allowed = self._allowed()
        n = self.snapshot.size()
        tops = self._tops(n, allowed) if n and self.answerable else []
        ids = np.concatenate([*(t.ids for t, _ in tops), np.zeros(0, np.int64)])
        parts = [np.asarray(t.scores, np.float64) + (match == "exact") for t, match in tops]
        scores = np.concatenate([*parts, np.zeros(0)])
        order = np.argsort(ids)
        exact = tops[0][0].ids if tops else np.zeros(0, np.int64)
        asked = self.asked
        words = self._unknown(), asked.not_learned, asked.predicted, asked.corrections
        suggested = tops[-1][0].ids if tops else _NOTHING.ids
        more = suggested, self._suggested(len(ids), len(suggested))
        return Ranked(ids[order], scores[order], np.sort(exact), allowed, *words, *more)

    def _tops(self, k: int, allowed: Ints | None) -> list[tuple[Top, MatchKind]]:
        """Return the best pictures in five groups, in the order of the results."""
        full = self._with_all_words(allowed)
        first = self._top(k, full) if len(full) else _NOTHING
        left = k - len(first.ids)
        rest = _NOTHING
        predicted = _NOTHING
        rare = self._with_rare_words(allowed, full)
        some = self._top(left, rare) if left and len(rare) else _NOTHING
        some = Top(some.ids, 1.0 + _BARELY * some.scores)
        left -= len(some.ids)
        self.tagged = len(first.ids) + len(some.ids)
        ranked = np.concatenate([full, rare])
        if left and self.model is not None:
            predicted = self._found(self.model, left, allowed, ranked)
            left -= len(predicted.ids)
        if left and len(self.terms):
            rest = self._with_some(left, allowed, np.concatenate([ranked, predicted.ids]))
            left -= len(rest.ids)
        suggested = _NOTHING
        if left and self.starting is not None:
            earlier = np.concatenate([ranked, predicted.ids, rest.ids])
            suggested = self.starting.top(left, full, allowed, earlier, self.options.cut)
        tops: list[tuple[Top, MatchKind]] = [(first, "exact"), (some, "partial")]
        return [*tops, (predicted, "predicted"), (rest, "partial"), (suggested, "suggested")]

    def _with_rare_words(self, allowed: Ints | None, without: Ints) -> Ints:
        """Return pictures that have a word the model has not learned, and another of the query.

        Such a word is on few pictures, and no prediction takes it into account: that a picture has
        it says more than any probability of the other words.
        """
        out = _NOTHING.ids
        for forms in self.asked.rare_forms:
            out = np.union1d(out, self.snapshot.tagged_with_every(forms))
        out = _without(out, without)
        return out if allowed is None else _both(out, allowed)

    def _with_some(self, k: int, allowed: Ints | None, without: Ints) -> Top:
        """Return partial matches; their scores are below those of predicted ones, if any."""
        some = self.snapshot.tagged_with(np.concatenate(self.asked.forms).tolist(), every=False)
        others = _without(some if allowed is None else _both(some, allowed), without)
        top = self._top(k, others)
        return Top(top.ids, top.scores * np.float32(self.least))

    def _found(self, model: WordModel, k: int, allowed: Ints | None, without: Ints) -> Top:
        """Return the predicted pictures, with their probabilities."""
        if allowed is not None and not len(allowed):
            return _NOTHING
        asked = self.asked
        query = model.query(asked.learned, asked.learned_weights, asked.learned_forms)
        top = self._by_probability(model, query, k, allowed, without)
        if not len(top.ids):
            return _NOTHING
        fits = top.scores >= np.float32(self._end(model, query))
        self.above = int(fits.sum())
        likely = top.scores[fits] if self.options.cut else top.scores
        self.least = float(likely[-1]) if len(likely) else 1.0
        return Top(top.ids[: len(likely)], likely)

    def _by_probability(
        self, model: WordModel, query: WordQuery, k: int, allowed: Ints | None, without: Ints
    ) -> Top:
        """Return the k best predicted pictures, after words with a sign.

        A sign only lowers the score of a picture. So once k pictures stay above all that were not
        read, no other picture can be among them; nor can one below the cut-off where that applies.
        """
        signed = SignedWords(self.snapshot, model, self.asked.constraints)
        depth = k
        while True:
            top = self.snapshot.top(query, depth, allowed, model.more, without)
            before = model.probability(query, top.scores).astype(np.float32)
            if not signed:
                return Top(top.ids, before)
            scores = signed.scores_after(top.ids, before)
            order = np.lexsort((top.ids, -scores))
            order = order[scores[order] > 0][:k]
            ends = self.options.cut and before[-1] < self._end(model, query)
            complete = len(top.ids) < depth or ends
            if complete or (len(order) == k and scores[order[-1]] > before[-1]):
                return Top(top.ids[order], scores[order])
            depth *= _DEEPER

    def _end(self, model: WordModel, query: WordQuery) -> float:
        """Return the lowest probability to show.

        Where words have too few pictures for a cut-off, it is that of any picture, and for words
        saved from sessions even odds.
        """
        if model.supports_cutoff(query):
            return least_probability(self.snapshot, model, query)
        return model.floor(query)

    def _with_all_words(self, allowed: Ints | None) -> Ints:
        if self.asked.unknown:
            return np.zeros(0, np.int64)
        full = self.snapshot.tagged_with_every(self.asked.forms)
        return full if allowed is None else _both(full, allowed)

    def _top(self, k: int, where: Ints | None) -> Top:
        if where is not None and not len(where):
            return _NOTHING
        forms = self.asked.forms
        idf = self.snapshot.idf_of(forms)
        at, values = query_vector(range(len(self.terms)), idf, self.asked.weights)
        query = SparseQuery(self.terms[at], values, tuple(forms[i] for i in at))
        return self.snapshot.top(query, k, where)

    def _looked_up(self, tops: list[tuple[Top, MatchKind]]) -> tuple[list[Hit], int]:
        """Turn ids into hits; an exact match scores above 1."""
        hits, missing = [], 0
        for top, match in tops:
            scores = [s + (match == "exact") for s in top.scores.tolist()]
            part = top.ids.tolist(), scores
            proven = match != "predicted" or not self.asked.unproven
            with_probability = match in ("predicted", "suggested") and proven
            likely = top.scores.tolist() if with_probability else None
            found, lost = hits_of(
                self.reader, self.root, *part, match, match == "predicted", likely, proven
            )
            hits += found
            missing += lost
        return hits, missing


# All id arrays are distinct already; making them so again would dominate the time.


def _both(a: Ints, b: Ints) -> Ints:
    few, many = (a, b) if len(a) <= len(b) else (b, a)
    if len(few) * _FEWER > len(many):
        return np.intersect1d(a, b, assume_unique=True)
    at = np.minimum(np.searchsorted(many, few), len(many) - 1)
    both: Ints = few[many[at] == few]
    return both


def _without(a: Ints, b: Ints) -> Ints:
    return np.setdiff1d(a, b, assume_unique=True)


def _between(
    tops: list[tuple[Top, MatchKind]], begin: int, end: int
) -> list[tuple[Top, MatchKind]]:
    """Return the entries between two ranks, in their groups."""
    out = []
    for top, match in tops:
        out.append((Top(top.ids[begin:end], top.scores[begin:end]), match))
        begin, end = (max(0, n - len(top.ids)) for n in (begin, end))
    return out


# What a partial match before the predicted ones scores above 1, so that it stays below exact ones.
_BARELY = np.float32(1e-3)
# The factor by which the depth of reading grows where a sign moves pictures down.
_DEEPER = 4
# A list that is shorter than another by this factor has its ids looked up in it.
_FEWER = 8
_NOTHING = Top(np.zeros(0, np.int64), np.zeros(0, np.float32))
