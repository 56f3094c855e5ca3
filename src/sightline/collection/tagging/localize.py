"""Where the words of a query lie in its hits.

Each word that the model knows is placed in the regions that fit it best, together with the words
the picture carries and those the model gives it, since a region shows one thing at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.collection.models.dataset import carried, cleaned
from sightline.collection.query import NotLearned
from sightline.collection.tagging.dataset import (
    Inputs,
    cut_otherwise,
    cuts,
    kept_ids,
    table,
)
from sightline.collection.tagging.model import current_region_tagger
from sightline.collection.tagging.suggest import where_it_lies
from sightline.records import Hit
from sightline.regions.outlines import Box, Mask
from sightline.store.home import Home
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id


@dataclass(frozen=True, slots=True)
class WordRegion:
    """Where a word of the query lies: how likely it is there at all, its box and its mask."""

    word: str
    likely: float
    carried: bool
    box: Box
    mask: Mask


@dataclass(frozen=True, slots=True)
class LocalizedHit:
    """A hit with the places of the query's words; `problem` says why there are none."""

    hit: Hit
    words: tuple[WordRegion, ...]
    scene: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LocalizedHits:
    """Hits with where the words of the query lie; `unknown` are words nothing was learnt of.

    `not_learned` are words of the query that the model which ranked the hits has not learned; empty
    where the hits were given.
    """

    query: str
    hits: tuple[LocalizedHit, ...]
    unknown: tuple[str, ...]
    not_learned: tuple[NotLearned, ...] = ()


def localize(home: Home, query: str, hits: Sequence[Hit]) -> LocalizedHits:
    """Return where the words of a query lie in each hit."""
    with home.reader() as reader:
        placer = current_region_tagger(home, reader.snapshot.regions)
        asked = [t.text for t in parse(query).wanted]
        columns = placer.columns(term_id(t) for t in asked)
        known = [(w, j) for w, j in zip(asked, columns, strict=True) if j is not None]
        unknown = tuple(w for w, j in zip(asked, columns, strict=True) if j is None)
        wanted = np.unique(np.array([h.picture for h in hits], np.int64))
        ids = kept_ids(reader.snapshot, placer.feature, wanted)
        anew = cut_otherwise(reader.snapshot, placer.feature, wanted).tolist()
        if not known or not len(ids):
            none = (_nothing(h, ids.tolist(), anew, unknown) for h in hits)
            return LocalizedHits(query, tuple(none), unknown)
        seen_cuts = list(cuts(reader.snapshot, placer.feature, ids))
        seen = Inputs.of(seen_cuts)
        pairs = cleaned(*carried(reader.snapshot), placer.words.counts_as())
        has = table(ids, placer.terms, *pairs)
        tags = has | placer.predict(seen).tags
        tags[:, [j for _, j in known]] = True
        placed = placer.place(seen, tags)
        likely = placer.likely(placer.of(seen, ids))
    at = {int(p): i for i, p in enumerate(ids)}
    found = []
    for h in hits:
        if h.picture not in at:
            found.append(_nothing(h, [], anew, unknown))
            continue
        i = at[h.picture]
        words = tuple(
            WordRegion(
                w, round(float(likely[i, j]), 4), bool(has[i, j]),
                *where_it_lies(seen_cuts[i], placed.regions[i], j),
            )
            for w, j in known
        )  # fmt: skip
        found.append(LocalizedHit(h, words, int(placed.scenes[i])))
    return LocalizedHits(query, tuple(found), unknown)


def _nothing(
    hit: Hit, kept: Sequence[int], anew: Sequence[int], unknown: Sequence[str]
) -> LocalizedHit:
    problem = "it is not cut into regions yet; run: sightline index"
    if hit.picture in kept:
        problem = f"nothing was learnt of {', '.join(unknown)}"
    elif hit.picture in anew:
        problem = "it was cut into regions anew since; run: sightline train --regions"
    return LocalizedHit(hit, (), problem=problem)
