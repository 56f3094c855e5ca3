"""Words that pictures lack and probably fit, and words they carry that probably do not.

A word is proposed where its margin is above the threshold that keeps the promised precision on the
collection's own pictures (`thresholds`); a word without such a threshold is never proposed, and
named. The promise is about pictures whose words nobody knows. Of pictures that carry words already,
what is left to propose is what the model and the owner disagree about. What somebody has judged is
neither proposed nor doubted again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sightline.collection.models.dataset import carried, cleaned, term_verdicts
from sightline.collection.tagging.dataset import (
    Bools,
    Inputs,
    Int,
    cut_otherwise,
    cuts,
    kept_ids,
    spelled,
    table,
)
from sightline.collection.tagging.model import RegionTagger, current_region_tagger
from sightline.collection.tagging.thresholds import (
    Thresholds,
    least_pictures,
    thresholds,
    wilson_lower,
)
from sightline.contracts import Progress
from sightline.records import Judgement, ProposedWord
from sightline.regions.kept import CutPicture
from sightline.regions.outlines import Box, Mask
from sightline.store.events import EventLog
from sightline.store.home import Home, Reader

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word to add to a picture, or to take from it.

    Attributes
    ----------
    picture : int
        Of the collection.
    path : bytes
        Of the collection.
    word : str
        As it is spelt.
    add : bool
        False where the picture carries the word and probably should not.
    confidence : float
        Of a word to add, how likely it is right; of one to take away, how rarely pictures that look
        so carry it. Both by pictures that were not learnt from.
    scene : int
        Of the picture, from 0.
    box : Box
        Where the word lies, if anywhere.
    mask : Mask
        Where the word lies, if anywhere.
    """

    picture: int
    path: bytes
    word: str
    add: bool
    confidence: float
    scene: int
    box: Box
    mask: Mask


@dataclass(frozen=True, slots=True)
class Abstained:
    """A word that is never proposed: how many pictures carry it, and why it is not."""

    word: str
    pictures: int
    why: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A word that is proposed, and how sure that is by pictures that nobody learnt from.

    `pictures` carry it; of those that look as much like it as a proposal must, `given`, so many
    were `right` to carry it; `promised` is the least share that makes likely (Wilson, 95 %).
    """

    word: str
    pictures: int
    given: int
    right: int
    promised: float


@dataclass(frozen=True, slots=True)
class Suggestions:
    """All suggestions, most sure first.

    `words` are those that are proposed, `abstained` words that never are; `without_regions` counts
    pictures that were asked about and lack the regions the model knows, `cut_otherwise` those of
    them that have others; `judged` are suggestions not made since somebody has judged them.
    """

    suggestions: tuple[Suggestion, ...]
    abstained: tuple[Abstained, ...]
    precision: float
    pictures: int
    without_regions: int
    judged: int
    version: int
    cut_otherwise: int = 0
    words: tuple[Promise, ...] = ()

    def __len__(self) -> int:
        return len(self.suggestions)

    def proposed(self) -> dict[int, list[ProposedWord]]:
        """Return the words to add, by picture, as `Collection.export` takes them."""
        found: dict[int, list[ProposedWord]] = {}
        for s in self.suggestions:
            if s.add:
                box = (s.box.left, s.box.top, s.box.width, s.box.height)
                found.setdefault(s.picture, []).append(ProposedWord(s.word, s.confidence, box))
        return found


def suggest(
    home: Home,
    pictures: Int | None,
    precision: float,
    removals: bool,
    progress: Progress,
) -> Suggestions:
    """Look at pictures, all by default, and return what their words lack and have too much."""
    with home.reader() as reader, contextlib.closing(EventLog(home.events, write=False)) as log:
        placer = current_region_tagger(home, reader.snapshot.regions)
        said = judged(placer, log.judgements())
        wanted = reader.snapshot.ids() if pictures is None else np.unique(pictures)
        look = _Look(reader, placer, precision, removals)
        ids = kept_ids(reader.snapshot, placer.feature, wanted)
        progress.start("look for words", len(ids))
        found: list[Suggestion] = []
        for begin in range(0, len(ids), _BLOCK):
            part = ids[begin : begin + _BLOCK]
            found += look.at(part, said)
            progress.advance(len(part))
        progress.finish()
        names = look.names
        abstained = _abstained(look.sure, names, least_pictures(precision))
        return Suggestions(
            tuple(sorted(found, key=lambda s: (-s.confidence, s.path, s.word))), abstained,
            precision, len(ids), len(wanted) - len(ids), look.judged, reader.snapshot.version,
            len(cut_otherwise(reader.snapshot, placer.feature, wanted)),
            _promises(look.sure, names),
        )  # fmt: skip


def judged(model: RegionTagger, judgements: Iterable[Judgement]) -> set[tuple[int, int]]:
    """Return which words of which pictures somebody has judged, by picture and column."""
    said = term_verdicts(judgements, model.words.counts_as())
    place = {int(t): i for i, t in enumerate(model.terms)}
    return {(picture, place[term]) for picture, term in said if term in place}


class _Look:
    """One look through pictures."""

    def __init__(
        self, reader: Reader, placer: RegionTagger, precision: float, removals: bool
    ) -> None:
        self.reader, self.placer, self.removals = reader, placer, removals
        known = placer.margins.astype(np.float64)
        self.sure: Thresholds = thresholds(known, placer.carried, precision)
        self.names: Sequence[str] = spelled(placer.terms, reader.catalogue.terms(), placer.words)
        self.pairs = cleaned(*carried(reader.snapshot), placer.words.counts_as())
        self.judged = 0

    def at(self, ids: Int, judged: set[tuple[int, int]]) -> list[Suggestion]:
        """Return what there is to say of some pictures."""
        p = self.placer
        seen_cuts = list(cuts(self.reader.snapshot, p.feature, ids))
        seen = Inputs.of(seen_cuts)
        has = table(ids, p.terms, *self.pairs)
        margins = p.of(seen, ids)
        add = ~has & (margins >= self.sure.give)
        drop = has & (margins <= self.sure.doubt) if self.removals else np.zeros_like(has)
        add, drop = self._without_judged(ids, add, drop, judged)
        some = np.flatnonzero((add | drop).any(axis=1))
        if not len(some):
            return []
        placed = p.place(seen.only(some), (has | add)[some])
        likely = p.likely(margins[some])
        facts = self.reader.catalogue.facts(ids[some].tolist())
        found: list[Suggestion] = []
        for i, n in enumerate(some.tolist()):
            known = facts.get(int(ids[n]))
            for j in np.flatnonzero(add[n] | drop[n]).tolist() if known else ():
                assert known is not None
                box, mask = where_it_lies(seen_cuts[n], placed.regions[i], j)
                sure = float(likely[i, j] if add[n, j] else 1 - likely[i, j])
                found.append(
                    Suggestion(
                        known.picture, known.path, self.names[j], bool(add[n, j]),
                        round(sure, 4), int(placed.scenes[i]), box, mask,
                    )
                )  # fmt: skip
        return found

    def _without_judged(
        self, ids: Int, add: Bools, drop: Bools, said: set[tuple[int, int]]
    ) -> tuple[Bools, Bools]:
        for n, picture in enumerate(ids.tolist()):
            for j in np.flatnonzero(add[n] | drop[n]).tolist():
                if (picture, j) in said:
                    add[n, j] = drop[n, j] = False
                    self.judged += 1
        return add, drop


def where_it_lies(cut: CutPicture, owner: Int, word: int) -> tuple[Box, Mask]:
    """Return box and mask of a word; of one that found no region, those of the whole picture."""
    inside = (owner == word)[cut.labels]
    if not inside.any():
        inside = np.ones_like(inside)
    return Box.of(inside), Mask.of(inside)


def _promises(sure: Thresholds, names: Sequence[str]) -> tuple[Promise, ...]:
    some = np.flatnonzero(np.isfinite(sure.give))
    counts = [c[some].tolist() for c in (sure.carriers, sure.given, sure.right)]
    low = wilson_lower(sure.right[some].astype(np.float64), sure.given[some].astype(np.float64))
    columns = zip(some.tolist(), *counts, low.round(4).tolist(), strict=True)
    found = [Promise(names[j], *rest) for j, *rest in columns]
    return tuple(sorted(found, key=lambda w: (-w.pictures, w.word)))


def _abstained(sure: Thresholds, names: Sequence[str], least: int) -> tuple[Abstained, ...]:
    found = []
    for j in np.flatnonzero(~np.isfinite(sure.give)).tolist():
        few = f"fewer than {least} pictures carry it"
        why = few if sure.carriers[j] < least else "it cannot be told surely enough"
        found.append(Abstained(names[j], int(sure.carriers[j]), why))
    return tuple(sorted(found, key=lambda a: (-a.pictures, a.word)))
