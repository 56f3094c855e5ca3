"""Words that were saved from judging sessions, and how they join the model of ordinary words.

Nobody but a session gave them to pictures, so what is known of them is a few pictures that fit and
some that do not. They are learnt from pictures of their own (`samples`), by kernel ridge, whatever
learns the ordinary words: what those have learnt stays, to the last digit, as it is without any
session. Of each saved word the report says on how many pictures it is, and what the held-out ones
among them say of it, if there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline.collection.clicks.labels import FromClicks, known_judgements
from sightline.collection.index import tags
from sightline.collection.models.dataset import MOST_WORDS, Sample, load_sample, split
from sightline.collection.models.held_out import HeldOutQueries
from sightline.collection.models.queries import carriers, one_word
from sightline.collection.models.recipe import SAVED_BY, Fitted, Recipe, fit
from sightline.collection.models.registry import KINDS
from sightline.collection.models.selection import Choice, measure
from sightline.collection.models.trials import fit_combination
from sightline.collection.sessions.log import SOURCE, Record, read_sessions
from sightline.rankers.cutoff import CutOff
from sightline.records import Judgement, Tags
from sightline.store.events import EventLog
from sightline.store.home import Reader
from sightline.words.combining import Combination, How
from sightline.words.grammar import Term
from sightline.words.term_ids import term_id
from sightline.words.tokens import caption_terms, labels

Int = NDArray[np.int64]
Floats = NDArray[np.float64]
N = TypeVar("N", np.int64, np.float64)


@dataclass(frozen=True, slots=True)
class SavedWord:
    """What became of a saved word.

    Attributes
    ----------
    word : as it is spelled.
    pictures, negatives : how many pictures that fit it was learnt from, and that do not.
    held_out : how many of `pictures` are held out.
    avgp, untrained : what those say of the word, learnt without them, and of an order of chance,
        as if no picture fitted that nobody judged: both are too low where some do. None where none
        is held out, or none is left to learn from.
    """

    word: str
    pictures: int
    negatives: int
    held_out: int
    avgp: float | None = None
    untrained: float | None = None

    def __str__(self) -> str:
        known = f"{self.word!r} is on {self.pictures} pictures, {self.held_out} of them held out"
        if self.avgp is None or self.untrained is None:
            return f"{known}: nothing measures it yet. Judge more pictures, and save them again"
        said = f"{known}: AvgP {self.avgp:.3f}, untrained {self.untrained:.3f}, if no other fits"
        more = "; it ranks them no better than chance, so judge more pictures"
        return said + more * (self.avgp <= self.untrained)


@dataclass(frozen=True, slots=True, eq=False)
class SavedWordModel:
    """Saved words, fitted to everything and without the held-out pictures."""

    sample: Sample
    served: Fitted
    proof: Fitted
    words: tuple[SavedWord, ...]


def load_known(
    reader: Reader,
    log: EventLog,
    wanted: Sequence[str] = (),
    most_words: int = MOST_WORDS,
    session_cap: int | None = None,
    shared_space: bool = False,
) -> tuple[Sample, FromClicks]:
    """Return what there is to learn from now, and what of it is by clicks.

    Rankers that put words and pictures into one space (`shared_space`) learn all words together, so
    that saved words are for them as any other, unless there are no others.
    """
    judgements, clicks = known_judgements(log, reader.snapshot, session_cap)
    records = saved_sessions(log)
    judgements += _negatives(records, session_cap)
    given = (reader.snapshot, judgements, wanted, most_words)
    sample = load_sample(*given, saved_terms(reader, records))
    if shared_space and sample.saved is not None:
        sample = load_sample(*given)
    return sample, clicks


def saved_sessions(log: EventLog) -> list[Record]:
    """Return the judging sessions that were saved as words.

    Reviews of proposed words are sessions too, but were asked of some pictures alone.
    """
    return [r for r in read_sessions(log) if r.start is not None and r.words and not r.reverted]


def _negatives(records: Sequence[Record], cap: int | None) -> list[Judgement]:
    """Return which pictures do not fit a saved word, of each session the last ones judged."""
    found = []
    for r in records:
        judged = list(r.judged.items())
        last = judged if cap is None else judged[len(judged) - min(cap, len(judged)) :]
        for label in r.words:
            query = str(Term(labels(label)[0]))
            found += [Judgement(query, p, 0.0, SOURCE, r.seq) for p, fits in last if not fits]
    return found


def saved_terms(reader: Reader, records: Sequence[Record]) -> frozenset[int]:
    """Return the terms that pictures carry by saved sessions alone."""
    pictures: dict[int, set[int]] = {}
    for r in records:
        here = set(reader.catalogue.with_source(tags.SESSION + r.session))
        for term in caption_terms(Tags(r.session, r.words)):
            pictures.setdefault(term_id(term), set()).update(here)
    sources = {tags.SESSION + r.session for r in records}

    def only_saved(picture: int, term: int) -> bool:
        others = (w for w in reader.catalogue.words(picture) if w.source not in sources)
        return not any(term in map(term_id, caption_terms(w)) for w in others)

    return frozenset(
        term
        for term, here in pictures.items()
        if all(
            p in here and only_saved(p, term)
            for p in reader.snapshot.carrying([term], every=False).tolist()
        )
    )


def saved_recipe(features: Sequence[str]) -> Recipe:
    """Return how saved words are learnt: by a strong regulariser, which few pictures ask for.

    Left-out errors, by which alpha is chosen elsewhere, take pictures that nobody labelled for
    negatives. Of alphas from .03 to 3 this one ranked best on eight classes of Caltech-101 and on
    made clusters, with 2, 3, 8 and 15 positives; the chosen one ranked worse throughout.
    """
    settings = {**KINDS[SAVED_BY].grid[0], "alpha": 3.0}
    return Recipe(SAVED_BY, tuple(features), tuple(sorted(settings.items())))


def learn_saved(
    sample: Sample, features: Sequence[str], spelled: Mapping[int, str]
) -> SavedWordModel:
    """Learn saved words by some features, and measure them on held-out pictures."""
    recipe = saved_recipe(features)
    served = fit(recipe, sample)
    rest = sample.only(~split(sample)[0])
    proof = fit(recipe, rest) if carriers(rest.labels).any() else served
    combination = fit_combination("product", _unseen(served), sample)
    return SavedWordModel(sample, served, proof, saved_report(sample, proof, combination, spelled))


def saved_report(
    sample: Sample, proof: Fitted, combination: Combination, spelled: Mapping[int, str]
) -> tuple[SavedWord, ...]:
    """Say of each saved word what held-out pictures tell of it."""
    if sample.unlabelled is None:
        return ()
    held = HeldOutQueries.of(sample)
    found: dict[int, tuple[float, float]] = {}
    if len(held.queries):
        measured = measure(proof, combination, held.sample, held.queries, held.idf)
        pairs = zip(measured.avgp.tolist(), held.untrained().tolist(), strict=True)
        for i, figures in enumerate(pairs):
            if one_word(held.queries)[i]:
                found[int(held.queries.terms_of(i)[0])] = figures
    fit_to, held_out = carriers(sample.labels), carriers(held.sample.labels)
    negatives = (~sample.unlabelled).sum(axis=0) - fit_to
    return tuple(
        SavedWord(
            spelled.get(t, "?"), int(fit_to[w]), int(negatives[w]), int(held_out[w]),
            *found.get(w, (None, None)),
        )
        for w, t in enumerate(sample.terms.tolist())
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Ordinary and saved words as one vocabulary; `is_saved` says which are which."""

    terms: Int
    is_saved: NDArray[np.bool_]
    saved: SavedWordModel

    @classmethod
    def of(cls, terms: Int, saved: SavedWordModel) -> Joined:
        every = np.union1d(terms, saved.sample.terms)
        return cls(every, np.isin(every, saved.sample.terms), saved)

    def values(self, own: NDArray[N], theirs: NDArray[N]) -> NDArray[N]:
        """Return a number for each word, from those of ordinary and of saved words."""
        out = np.empty(len(self.terms), own.dtype)
        out[~self.is_saved], out[self.is_saved] = own, theirs
        return out

    def fitted(self, own: Fitted, theirs: Fitted) -> Fitted:
        """Return what scores all words."""
        return replace(own, saved=theirs, is_saved=self.is_saved)

    def choice(self, choice: Choice) -> Choice:
        """Return the choice with the saved words in its combination and its cut-off."""
        own, arrays = choice.combination, choice.cutoff.to_arrays()
        # Where the lists of most words end, those of saved words do.
        usual_end = float(np.median(arrays["h"]))
        ends = np.full(len(self.saved.sample.terms), usual_end)
        cutoff = CutOff.from_arrays({**arrays, "h": self.values(arrays["h"], ends)})
        known = float(np.median(own.known_))
        end = usual_end + float(arrays["offsets"][0]) + choice.cutoff.follow_ * known
        slope, offset, theirs = self._scale(own.how, known, end)
        made = Combination(own.how)
        made.slope_ = self.values(own.slope_, slope)
        made.offset_ = self.values(own.offset_, offset)
        made.known_ = self.values(own.known_, theirs)
        made.shown_ = own.shown_
        return replace(choice, combination=made, cutoff=cutoff)

    def _scale(self, how: How, known: float, end: float) -> tuple[Floats, Floats, Floats]:
        """Return slope, offset and the number of a picture known to carry it, of each saved word.

        Products are of probabilities, whatever scored them. Sums are of scores as they are, which
        another learner has in another size: so that a picture which is as likely as not lies where
        the list of an ordinary word ends (`end`), and one that carries the word at `known`.
        """
        unseen, sample = _unseen(self.saved.served), self.saved.sample
        likely = fit_combination("product", unseen, sample)
        if how == "product":
            return likely.slope_, likely.offset_, likely.known_
        even = -likely.offset_ / likely.slope_
        best = fit_combination("sum", unseen, sample).known_
        # A word whose own pictures are hardly likely must not be blown up.
        gap = np.maximum(best - even, 0.25 * unseen.std(axis=0, dtype=np.float64) + 1e-9)
        slope = max(known - end, 1e-9) / gap
        return slope, end - slope * even, np.full(len(slope), known)


def _unseen(fitted: Fitted) -> NDArray[np.float32]:
    scores = fitted.unseen
    if scores is None:
        raise ValueError(f"{fitted.recipe.ranker} has no scores of left-out pictures.")
    return scores
