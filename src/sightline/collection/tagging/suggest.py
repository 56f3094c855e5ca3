"""Suggested tags: words that pictures probably lack, and tags that are probably wrong.

A word is proposed if its margin is above the threshold that keeps the promised precision on the
collection's own pictures (`thresholds`). A word without such a threshold is never proposed, and is
reported. The precision holds for pictures whose words are unknown. For tagged pictures, what is
left to propose is where model and owner disagree. Judged pairs are neither proposed nor doubted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sightline._typing import Bools, Ints
from sightline.collection.models.dataset import cleaned, tag_pairs, term_verdicts
from sightline.collection.tagging.dataset import (
    Inputs,
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
from sightline.contracts import Json, Progress
from sightline.records import Judgement, ProposedWord
from sightline.regions.cut_picture import CutPicture
from sightline.regions.outlines import Box, Mask
from sightline.store.events import EventLog
from sightline.store.folder import Reader, StoreFolder

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word to add to a picture, or to remove from it.

    Attributes
    ----------
    picture : int
        Id of the picture.
    path : bytes
        Its path below the collection's folder.
    word : str
        The word in its usual spelling.
    add : bool
        False if the picture has the word and probably should not.
    confidence : float
        The cross-validated probability that the suggestion is right.
    scene : int
        The scene of the picture, from 0.
    box : Box
        The bounding box of the word's region; the whole picture if it has none.
    mask : Mask
        The mask of the word's region.
    """

    picture: int
    path: bytes
    word: str
    add: bool
    confidence: float
    scene: int
    box: Box
    mask: Mask

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the suggestion as JSON; `path` lies below `root`.

        `picture` is what `id` was called in earlier releases.
        """
        return {
            "id": self.picture, "picture": self.picture,
            "path": os.fsdecode(os.path.join(root, self.path)),
            "kind": "add" if self.add else "remove", "word": self.word,
            "confidence": self.confidence, "scene": self.scene, "box": asdict(self.box),
            "mask": mask_dict(self.mask),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Abstained:
    """A word that is never proposed: the number of pictures that have it, and why."""

    word: str
    pictures: int
    why: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A word that is proposed, and its cross-validated precision.

    `pictures` is the number that have it, `proposed` the number with a margin above the threshold,
    and `right` the number of those that have it; `promised` is the lower bound of their share
    (Wilson, 95 %).
    """

    word: str
    pictures: int
    proposed: int
    right: int
    promised: float


@dataclass(frozen=True, slots=True)
class Suggestions:
    """All suggestions, most confident first.

    `words` are those that are proposed, `abstained` those that never are. `without_regions` counts
    requested pictures without the model's regions, `cut_otherwise` those of them that have other
    regions, `judged` the suggestions left out because the pair was judged.
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

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the suggestions as JSON; paths lie below `root`."""
        return {
            "version": self.version, "precision": self.precision, "pictures": self.pictures,
            "without_regions": self.without_regions, "cut_otherwise": self.cut_otherwise,
            "judged": self.judged, "suggestions": [s.to_dict(root) for s in self.suggestions],
            "abstained": [asdict(a) for a in self.abstained],
        }  # fmt: skip

    def proposed(self) -> dict[int, list[ProposedWord]]:
        """Return the words to add, by picture, as `Collection.export` takes them."""
        by_picture: dict[int, list[ProposedWord]] = {}
        for s in self.suggestions:
            if s.add:
                box = (s.box.left, s.box.top, s.box.width, s.box.height)
                by_picture.setdefault(s.picture, []).append(ProposedWord(s.word, s.confidence, box))
        return by_picture


def mask_dict(mask: Mask) -> dict[str, Json]:
    """Return a mask as JSON: uncompressed COCO RLE."""
    return {"size": [mask.height, mask.width], "counts": list[Json](mask.counts)}


def suggest(
    store_folder: StoreFolder,
    pictures: Ints | None,
    precision: float,
    removals: bool,
    progress: Progress,
) -> Suggestions:
    """Suggest words to add to pictures, all by default, and to remove from them."""
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        tagger = current_region_tagger(store_folder, reader.snapshot.regions)
        judged_pairs = judged(tagger, log.judgements())
        picture_ids = reader.snapshot.ids() if pictures is None else np.unique(pictures)
        suggester = _Suggester(reader, tagger, precision, removals)
        ids = kept_ids(reader.snapshot, tagger.feature, picture_ids)
        progress.start("suggest", len(ids))
        suggestions: list[Suggestion] = []
        for begin in range(0, len(ids), _BLOCK):
            part = ids[begin : begin + _BLOCK]
            suggestions += suggester.suggest(part, judged_pairs)
            progress.advance(len(part))
        progress.finish()
        names = suggester.names
        abstained = _abstained(suggester.sure, names, least_pictures(precision))
        return Suggestions(
            tuple(sorted(suggestions, key=lambda s: (-s.confidence, s.path, s.word))), abstained,
            precision, len(ids), len(picture_ids) - len(ids), suggester.judged,
            reader.snapshot.version,
            len(cut_otherwise(reader.snapshot, tagger.feature, picture_ids)),
            _promises(suggester.sure, names),
        )  # fmt: skip


def judged(model: RegionTagger, judgements: Iterable[Judgement]) -> set[tuple[int, int]]:
    """Return the judged pairs of picture and word, by id and column."""
    verdicts = term_verdicts(judgements, model.words.counts_as())
    place = {int(t): i for i, t in enumerate(model.terms)}
    return {(picture, place[term]) for picture, term in verdicts if term in place}


class _Suggester:
    """Suggests words for pictures, a block at a time."""

    def __init__(
        self, reader: Reader, tagger: RegionTagger, precision: float, removals: bool
    ) -> None:
        self.reader, self.tagger, self.removals = reader, tagger, removals
        margins = tagger.margins.astype(np.float64)
        self.sure: Thresholds = thresholds(margins, tagger.tagged, precision)
        self.names: Sequence[str] = spelled(tagger.terms, reader.catalogue.terms(), tagger.words)
        self.pairs = cleaned(*tag_pairs(reader.snapshot), tagger.words.counts_as())
        self.judged = 0

    def suggest(self, ids: Ints, judged: set[tuple[int, int]]) -> list[Suggestion]:
        """Return the suggestions for some pictures."""
        p = self.tagger
        region_cuts = list(cuts(self.reader.snapshot, p.feature, ids))
        inputs = Inputs.of(region_cuts)
        has = table(ids, p.terms, *self.pairs)
        margins = p.of(inputs, ids)
        add = ~has & (margins >= self.sure.give)
        drop = has & (margins <= self.sure.doubt) if self.removals else np.zeros_like(has)
        add, drop = self._without_judged(ids, add, drop, judged)
        some = np.flatnonzero((add | drop).any(axis=1))
        if not len(some):
            return []
        placed = p.place(inputs.only(some), (has | add)[some])
        likely = p.likely(margins[some])
        facts = self.reader.catalogue.facts(ids[some].tolist())
        suggestions: list[Suggestion] = []
        for i, n in enumerate(some.tolist()):
            picture_facts = facts.get(int(ids[n]))
            for j in np.flatnonzero(add[n] | drop[n]).tolist() if picture_facts else ():
                assert picture_facts is not None
                box, mask = region_of_word(region_cuts[n], placed.regions[i], j)
                sure = float(likely[i, j] if add[n, j] else 1 - likely[i, j])
                suggestions.append(
                    Suggestion(
                        picture_facts.picture, picture_facts.path, self.names[j], bool(add[n, j]),
                        round(sure, 4), int(placed.scenes[i]), box, mask,
                    )
                )  # fmt: skip
        return suggestions

    def _without_judged(
        self, ids: Ints, add: Bools, drop: Bools, judged: set[tuple[int, int]]
    ) -> tuple[Bools, Bools]:
        for n, picture in enumerate(ids.tolist()):
            for j in np.flatnonzero(add[n] | drop[n]).tolist():
                if (picture, j) in judged:
                    add[n, j] = drop[n, j] = False
                    self.judged += 1
        return add, drop


def region_of_word(cut: CutPicture, owner: Ints, word: int) -> tuple[Box, Mask]:
    """Return box and mask of a word; the whole picture if it has no region."""
    inside = (owner == word)[cut.labels]
    if not inside.any():
        inside = np.ones_like(inside)
    return Box.of(inside), Mask.of(inside)


def _promises(sure: Thresholds, names: Sequence[str]) -> tuple[Promise, ...]:
    some = np.flatnonzero(np.isfinite(sure.give))
    counts = [c[some].tolist() for c in (sure.n_tagged, sure.n_proposed, sure.right)]
    low = wilson_lower(
        sure.right[some].astype(np.float64), sure.n_proposed[some].astype(np.float64)
    )
    columns = zip(some.tolist(), *counts, low.round(4).tolist(), strict=True)
    promises = [Promise(names[j], *rest) for j, *rest in columns]
    return tuple(sorted(promises, key=lambda w: (-w.pictures, w.word)))


def _abstained(sure: Thresholds, names: Sequence[str], least: int) -> tuple[Abstained, ...]:
    abstained = []
    for j in np.flatnonzero(~np.isfinite(sure.give)).tolist():
        few = f"fewer than {least} pictures have it"
        why = few if sure.n_tagged[j] < least else "it cannot be predicted surely enough"
        abstained.append(Abstained(names[j], int(sure.n_tagged[j]), why))
    return tuple(sorted(abstained, key=lambda a: (-a.pictures, a.word)))
