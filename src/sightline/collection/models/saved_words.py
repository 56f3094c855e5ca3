"""Words that were saved from judging sessions, and how they join the model of ordinary words.

No picture has them but by a session, so a few positives and some negatives are all there is. Words
that the tagged pictures cannot teach, since few are tagged or nearly all have the word, are learned
in the same way (`dataset.load_dataset`).
They are learned by kernel ridge from a data set of their own, whatever ranker learns the ordinary
words, which therefore do not change with sessions. Each saved word is reported by itself: on how
many pictures it is, and how it does on the held-out ones among them. Fewer than `FEWEST_HELD_OUT`
of these say little: each picture is then ranked by its score of a fit without it, which is known
without fitting again, and the word is not yet proven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Ints
from sightline.collection.clicks.labels import FromClicks, known_judgements
from sightline.collection.models.dataset import MOST_WORDS, Dataset, load_dataset, split
from sightline.collection.models.evidence import Evidence, gather_evidence
from sightline.collection.models.held_out import HeldOutQueries, measure
from sightline.collection.models.probabilities import fit_combination
from sightline.collection.models.queries import one_word, picture_counts
from sightline.collection.models.recipe import Fitted, fit, saved_recipe
from sightline.collection.models.selection import Selection
from sightline.collection.sessions.log import SOURCE, SessionRecord, read_sessions
from sightline.contracts import Json
from sightline.measures.many import untrained_average_precision
from sightline.measures.ranking import average_precision
from sightline.rankers.cutoff import CutOff
from sightline.records import Judgement, Tags
from sightline.store.events import OF_SESSION, EventLog
from sightline.store.folder import Reader
from sightline.words.combination import Combination, How
from sightline.words.grammar import Term
from sightline.words.term_ids import term_id
from sightline.words.tokens import caption_terms, labels

N = TypeVar("N", np.int64, np.float64)

# A word with fewer held-out pictures is measured by leaving out one picture after the other.
FEWEST_HELD_OUT = 5


@dataclass(frozen=True, slots=True)
class SavedWord:
    """A saved word as it was learned.

    Attributes
    ----------
    word : str
        As it is spelled.
    pictures, negatives : int
        The numbers of training pictures that fit it, and that do not.
    held_out : int
        How many of `pictures` are held out.
    avgp, untrained : float or None
        AvgP of the word, and in the untrained order. Pictures that nobody judged count as not
        fitting, so both are too low where some fit. None if nothing measures it.
    measured_by : {"held-out", "leave-one-out", ""}
        "held-out", by a model fitted without the held-out pictures; "leave-one-out", each picture
        by a fit without it, where fewer than `FEWEST_HELD_OUT` are held out.
    term : int
        The term it was learned as.
    """

    word: str
    pictures: int
    negatives: int
    held_out: int
    avgp: float | None = None
    untrained: float | None = None
    measured_by: str = ""
    term: int = 0

    @property
    def is_proven(self) -> bool:
        """Whether enough of its pictures are held out to tell."""
        return self.measured_by == "held-out"

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "word": self.word, "pictures": self.pictures, "negatives": self.negatives,
            "held_out": self.held_out, "avgp": self.avgp, "untrained": self.untrained,
            "measured_by": self.measured_by,
        }  # fmt: skip

    def __str__(self) -> str:
        many = f"{self.pictures} picture{'s' * (self.pictures != 1)}"
        known = f"{self.word!r} is on {many}, {self.held_out} of them held out"
        if self.avgp is None or self.untrained is None:
            return f"{known}: nothing measures it yet. Add pictures that fit"
        figures = f"AvgP {self.avgp:.3f}, untrained {self.untrained:.3f}, if no other fits"
        if not self.is_proven:
            figures = f"not yet proven; with each left out in turn: {figures}"
        more = "; it ranks them no better than chance, so add pictures that fit"
        return f"{known}: {figures}" + more * (self.avgp <= self.untrained)


@dataclass(frozen=True, slots=True, eq=False)
class SavedWordModel:
    """Saved words, fitted to everything and without the held-out pictures."""

    dataset: Dataset
    served: Fitted
    proof: Fitted
    words: tuple[SavedWord, ...]


def load_known(
    reader: Reader,
    log: EventLog,
    feature_names: Sequence[str] = (),
    most_words: int = MOST_WORDS,
    session_cap: int | None = None,
    shared_space: bool = False,
    memory: int = 0,
) -> tuple[Dataset, FromClicks]:
    """Return what there is to learn from now, and what of it is by clicks.

    Rows of pictures that would take more than `memory` bytes stay on the disk (`load_dataset`).

    Rankers that put words and pictures into one space (`shared_space`) learn all words together, so
    that saved words are for them as any other, unless there are no others.
    """
    judgements, clicks = known_judgements(log, reader.snapshot, session_cap)
    records = saved_sessions(log)
    judgements += _negatives(records, session_cap)
    source = (reader.snapshot, judgements, feature_names, most_words)
    evidence = gather_evidence(reader, judgements)
    saved = _only_saved(saved_terms(reader, records), evidence)
    dataset = load_dataset(*source, saved, evidence, memory=memory)
    if shared_space and dataset.saved is not None:
        dataset = load_dataset(*source, evidence=evidence, against_untagged=False, memory=memory)
    return dataset, clicks


def _only_saved(saved: frozenset[int], evidence: Evidence) -> frozenset[int]:
    """Return what saved terms are learned as, where sessions alone gave all forms of the word."""
    counts_as = evidence.counts_as
    names = {name for t in saved if (name := counts_as.get(t, t)) is not None}
    others = {name for t, name in counts_as.items() if t not in saved and t in evidence.spelled}
    return frozenset(n for n in names - others if n in saved)


def saved_sessions(log: EventLog) -> list[SessionRecord]:
    """Return the judging sessions that were saved as words.

    Reviews of proposed words are sessions too, but only of some pictures.
    """
    return [r for r in read_sessions(log) if r.start is not None and r.words and not r.reverted]


def _negatives(records: Sequence[SessionRecord], cap: int | None) -> list[Judgement]:
    """Return which pictures do not fit a saved word, of each session the last ones judged."""
    judgements = []
    for r in records:
        judged = list(r.judged.items())
        last = judged if cap is None else judged[len(judged) - min(cap, len(judged)) :]
        for label in r.words:
            query = str(Term(labels(label)[0]))
            judgements += [Judgement(query, p, 0.0, SOURCE, r.seq) for p, fits in last if not fits]
    return judgements


def saved_terms(reader: Reader, records: Sequence[SessionRecord]) -> frozenset[int]:
    """Return the terms that pictures have by saved sessions alone."""
    pictures: dict[int, set[int]] = {}
    for r in records:
        tagged = set(reader.catalogue.with_source(OF_SESSION + r.session))
        for term in caption_terms(Tags(r.session, r.words)):
            pictures.setdefault(term_id(term), set()).update(tagged)
    sources = {OF_SESSION + r.session for r in records}

    def only_saved(picture: int, term: int) -> bool:
        others = (w for w in reader.catalogue.words(picture) if w.source not in sources)
        return not any(term in map(term_id, caption_terms(w)) for w in others)

    return frozenset(
        term
        for term, tagged in pictures.items()
        if all(
            p in tagged and only_saved(p, term)
            for p in reader.snapshot.tagged_with([term], every=False).tolist()
        )
    )


def learn_saved(
    dataset: Dataset, features: Sequence[str], spelled: Mapping[int, str]
) -> SavedWordModel:
    """Learn saved words by some features, and measure them on held-out pictures."""
    recipe = saved_recipe(features)
    served = fit(recipe, dataset)
    rest = dataset.only(~split(dataset)[0])
    proof = fit(recipe, rest) if picture_counts(rest.labels).any() else served
    combination = fit_combination("product", _unseen(served), dataset)
    words = saved_report(dataset, proof, combination, spelled, served)
    return SavedWordModel(dataset, served, proof, words)


def saved_report(
    dataset: Dataset,
    proof: Fitted,
    combination: Combination,
    spelled: Mapping[int, str],
    served: Fitted | None = None,
) -> tuple[SavedWord, ...]:
    """Return the figures of each saved word.

    `proof` was fitted without the held-out pictures, `served`, if there is one, to all.
    """
    if dataset.unlabelled is None:
        return ()
    held = HeldOutQueries.of(dataset)
    held_out = picture_counts(held.dataset.labels)
    figures = _leave_one_out(dataset, served)
    if len(held.queries):
        measured = measure(proof, combination, held)
        pairs = zip(measured.avgp.tolist(), held.untrained().tolist(), strict=True)
        for i, values in enumerate(pairs):
            word = int(held.queries.terms_of(i)[0])
            few = held_out[word] < FEWEST_HELD_OUT and word in figures
            if one_word(held.queries)[i] and not few:
                figures[word] = (*values, "held-out")
    pictures = picture_counts(dataset.labels)
    negatives = (~dataset.unlabelled).sum(axis=0) - pictures
    words = []
    for w, t in enumerate(dataset.terms.tolist()):
        counts = int(pictures[w]), int(negatives[w]), int(held_out[w])
        avgp, untrained, by = figures.get(w, (None, None, ""))
        words.append(SavedWord(spelled.get(t, "?"), *counts, avgp, untrained, by, t))
    return tuple(words)


def _leave_one_out(dataset: Dataset, served: Fitted | None) -> dict[int, tuple[float, float, str]]:
    """Return AvgP and that of the untrained order of each word, every picture left out in turn."""
    scores = None if served is None else served.unseen
    if scores is None:
        return {}
    columns = dataset.labels.tocsc()
    pictures = picture_counts(dataset.labels)
    untrained = untrained_average_precision(pictures, len(dataset))
    figures = {}
    for w, n in enumerate(pictures.tolist()):
        # Without its only picture, nothing is left to learn a word from.
        if n > 1:
            has_word = np.zeros(len(dataset), np.bool_)
            has_word[columns.indices[columns.indptr[w] : columns.indptr[w + 1]]] = True
            avgp = average_precision(scores[:, w], has_word)
            figures[w] = (avgp, float(untrained[w]), "leave-one-out")
    return figures


@dataclass(frozen=True, slots=True, eq=False)
class JointVocabulary:
    """Ordinary and saved words as one vocabulary; `is_saved` says which are which."""

    terms: Ints
    is_saved: NDArray[np.bool_]
    saved: SavedWordModel

    @classmethod
    def of(cls, terms: Ints, saved: SavedWordModel) -> JointVocabulary:
        """Return the union of ordinary terms and the terms of a model of saved words."""
        every = np.union1d(terms, saved.dataset.terms)
        return cls(every, np.isin(every, saved.dataset.terms), saved)

    def values(self, ordinary: NDArray[N], saved: NDArray[N]) -> NDArray[N]:
        """Return a number for each word, from those of ordinary and of saved words."""
        out = np.empty(len(self.terms), ordinary.dtype)
        out[~self.is_saved], out[self.is_saved] = ordinary, saved
        return out

    def fitted(self, ordinary: Fitted, saved: Fitted) -> Fitted:
        """Return what scores all words."""
        return replace(ordinary, saved=saved, is_saved=self.is_saved)

    def selection(self, selected: Selection) -> Selection:
        """Return the choice with the saved words in its combination and its cut-off."""
        ordinary, arrays = selected.combination, selected.cutoff.to_arrays()
        # Saved words have the median cut-off of ordinary ones.
        usual_end = float(np.median(arrays["h"]))
        ends = np.full(len(self.saved.dataset.terms), usual_end)
        cutoff = CutOff.from_arrays({**arrays, "h": self.values(arrays["h"], ends)})
        known = float(np.median(ordinary.known_))
        end = usual_end + float(arrays["offsets"][0]) + selected.cutoff.follow_ * known
        slope, offset, known_saved, curve = self._scale(ordinary.how, known, end)
        combination = Combination(ordinary.how)
        combination.slope_ = self.values(ordinary.slope_, slope)
        combination.offset_ = self.values(ordinary.offset_, offset)
        combination.known_ = self.values(ordinary.known_, known_saved)
        combination.shown_ = ordinary.shown_
        if ordinary.curves_ is not None:
            curves = ordinary.curves_
            combination.curves_ = replace(
                curves, slope=self.values(curves.slope, curve[0]),
                offset=self.values(curves.offset, curve[1]),
            )  # fmt: skip
        return replace(selected, combination=combination, cutoff=cutoff)

    def _scale(
        self, how: How, known_score: float, end: float
    ) -> tuple[Doubles, Doubles, Doubles, tuple[Doubles, Doubles]]:
        """Return slope, offset and the number of a picture known to have it, of each saved word.

        Also return the slope and offset that make its published numbers logits.

        Products are of probabilities, whatever scored them. Sums are of scores as they are, which
        another learner has in another size: so that a picture which is as likely as not lies where
        the list of an ordinary word ends (`end`), and one that has the word at `known`.
        """
        unseen, dataset = _unseen(self.saved.served), self.saved.dataset
        likely = fit_combination("product", unseen, dataset)
        if how == "product":
            same = np.ones(len(likely.slope_)), np.zeros(len(likely.slope_))
            return likely.slope_, likely.offset_, likely.known_, same
        even_score = -likely.offset_ / likely.slope_
        best_score = fit_combination("sum", unseen, dataset).known_
        # The scores of a word whose own pictures are improbable must not be magnified.
        gap = np.maximum(
            best_score - even_score, 0.25 * unseen.std(axis=0, dtype=np.float64) + 1e-9
        )
        slope = max(known_score - end, 1e-9) / gap
        offset = end - slope * even_score
        # Published is slope g + offset, and the logit likely.slope_ g + likely.offset_.
        to_logit = likely.slope_ / slope
        curve = to_logit, likely.offset_ - to_logit * offset
        return slope, offset, np.full(len(slope), known_score), curve


def _unseen(fitted: Fitted) -> NDArray[np.float32]:
    scores = fitted.unseen
    if scores is None:
        raise ValueError(f"{fitted.recipe.ranker} has no scores of left-out pictures.")
    return scores
