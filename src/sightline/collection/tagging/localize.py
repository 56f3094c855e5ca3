"""The regions of a query's words in its hits.

Each known word is assigned to the regions that fit it best, jointly with the words the picture
has and those predicted for it, since a region shows at most one thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sightline.collection.corrections import corrected
from sightline.collection.lexicon import word_forms
from sightline.collection.models.dataset import cleaned, tag_pairs
from sightline.collection.query import NotLearned
from sightline.collection.tagging.dataset import (
    Inputs,
    cut_otherwise,
    cuts,
    kept_ids,
    table,
)
from sightline.collection.tagging.model import current_region_tagger
from sightline.collection.tagging.suggest import mask_dict, region_of_word
from sightline.contracts import Json
from sightline.records import Hit
from sightline.regions.outlines import Box, Mask
from sightline.store.folder import StoreFolder
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id


@dataclass(frozen=True, slots=True)
class WordRegion:
    """The region of a query word: its probability, its box and its mask."""

    word: str
    likely: float
    tagged: bool
    box: Box
    mask: Mask

    def to_dict(self) -> dict[str, Json]:
        """Return the region as JSON."""
        return {
            "word": self.word, "likely": self.likely, "tagged": self.tagged, "carried": self.tagged,
            "box": asdict(self.box), "mask": mask_dict(self.mask),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalizedHit:
    """A hit with the regions of the query's words; `problem` says why there are none."""

    hit: Hit
    words: tuple[WordRegion, ...]
    scene: int | None = None
    problem: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Return the regions as JSON, without the hit."""
        words: list[Json] = [w.to_dict() for w in self.words]
        return {"scene": self.scene, "words": words, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class LocalizedHits:
    """Hits with the regions of the query's words; `unknown` are words that were not learned.

    `not_learned` are words of the query that the ranking model has not learned; empty if the hits
    were given.
    """

    query: str
    hits: tuple[LocalizedHit, ...]
    unknown: tuple[str, ...]
    not_learned: tuple[NotLearned, ...] = ()


def localize(store_folder: StoreFolder, query: str, hits: Sequence[Hit]) -> LocalizedHits:
    """Return the regions of a query's words in each hit."""
    with store_folder.reader() as reader:
        tagger = current_region_tagger(store_folder, reader.snapshot.regions)
        known_forms = word_forms(reader)
        query_words = [t.text for t in corrected(known_forms, parse(query))[0].terms]
        columns = [
            _first(tagger.columns([term_id(w), *known_forms.terms_of(w).tolist()]))
            for w in query_words
        ]
        known_words = [(w, j) for w, j in zip(query_words, columns, strict=True) if j is not None]
        unknown = tuple(w for w, j in zip(query_words, columns, strict=True) if j is None)
        hit_ids = np.unique(np.array([h.picture for h in hits], np.int64))
        ids = kept_ids(reader.snapshot, tagger.feature, hit_ids)
        other_regions = cut_otherwise(reader.snapshot, tagger.feature, hit_ids).tolist()
        if not known_words or not len(ids):
            none = (_nothing(h, ids.tolist(), other_regions, unknown) for h in hits)
            return LocalizedHits(query, tuple(none), unknown)
        region_cuts = list(cuts(reader.snapshot, tagger.feature, ids))
        inputs = Inputs.of(region_cuts)
        pairs = cleaned(*tag_pairs(reader.snapshot), tagger.words.counts_as())
        has = table(ids, tagger.terms, *pairs)
        tags = has | tagger.predict(inputs).tags
        tags[:, [j for _, j in known_words]] = True
        placed = tagger.place(inputs, tags)
        likely = tagger.likely(tagger.of(inputs, ids))
    row_of = {int(p): i for i, p in enumerate(ids)}
    localized = []
    for h in hits:
        if h.picture not in row_of:
            localized.append(_nothing(h, [], other_regions, unknown))
            continue
        i = row_of[h.picture]
        words = tuple(
            WordRegion(
                w, round(float(likely[i, j]), 4), bool(has[i, j]),
                *region_of_word(region_cuts[i], placed.regions[i], j),
            )
            for w, j in known_words
        )  # fmt: skip
        localized.append(LocalizedHit(h, words, int(placed.scenes[i])))
    return LocalizedHits(query, tuple(localized), unknown)


def _first(columns: Sequence[int | None]) -> int | None:
    """Return the column of the first form of a word that has one."""
    return next((j for j in columns if j is not None), None)


def _nothing(
    hit: Hit, kept: Sequence[int], other_regions: Sequence[int], unknown: Sequence[str]
) -> LocalizedHit:
    problem = "it is not cut into regions yet; run: sightline index"
    if hit.picture in kept:
        problem = f"the region model has not learned {', '.join(unknown)}"
    elif hit.picture in other_regions:
        problem = "it was cut into regions again since the training; run: sightline train regions"
    return LocalizedHit(hit, (), problem=problem)
