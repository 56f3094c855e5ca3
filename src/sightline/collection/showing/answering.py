"""The verbs of asking: search, and why its hits are hits."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sightline.collection.finding import filter_of
from sightline.errors import UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection.explain import Why
    from sightline.collection.search.words import Results
    from sightline.collection.similarity.candidates import SimilarResults
    from sightline.contracts import Compute, Progress
    from sightline.records import Hit
    from sightline.settings import Settings
    from sightline.store.home import Home


class Answering:
    """`search`, `as_hits` and `why`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    _similar: Callable[..., SimilarResults]

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        untagged: bool = False,
        cut: bool = True,
        learnt: bool = True,
        among: Sequence[int] | None = None,
        skip: int | None = None,
        count: bool = False,
        **filters: Any,
    ) -> Results:
        """Find pictures by the words they carry and by what was learnt from them.

        Parameters
        ----------
        query
            `tree snow -people 2:red +barn "golden gate bridge"`, or pictures alone, which `similar`
            answers: `./a.jpg 2:./b.jpg -./c.jpg`
        k
            Hits to return.
        **filters
            folder: only pictures below this folder, given from the collection, absolute, or from
            here. after, before: only pictures taken (or, where that is not known, changed) in this
            time, a date such as "2024-06", or seconds since 1970. min_side, max_side: only pictures
            whose longer side has so many pixels. min_bytes, max_bytes: only files of this size.
            tagged: only pictures that carry some word.
        untagged
            Only pictures that carry no word at all.
        cut
            Leave out learnt hits below the cut-off.
        learnt
            False leaves out all learnt hits.
        among
            Only these pictures, by id.
        skip
            Return a part of the list: the hits of `k` ranks after so many. Ranks of files that are
            gone stay empty, so that parts never overlap; `Results.part` says where the next begins.
        count
            Also count the whole list, and what lies above the cut-off.
        """
        from sightline.collection.search.words import SearchOptions, pictures_of, search

        where = filter_of(self.root, **filters)
        if terms := pictures_of(query):
            wanted = [(t.path, t.weight) for t in terms if not t.unwanted]
            unwanted = [(t.path, t.weight) for t in terms if t.unwanted]
            if among is not None or skip is not None or count:
                raise UsageError("Only lists of words are given in parts and counted.")
            return self._similar(wanted, unwanted, k, where, untagged=untagged)
        only = None if among is None else tuple(among)
        options = SearchOptions(untagged, cut, learnt, only, skip, count)
        top = self.settings.top if k is None else k
        with self.home.reader() as reader:
            return search(reader, self.root, query, top, where, options)

    def as_hits(self, query: str, pictures: Sequence[int]) -> Results:
        """Return some pictures as hits of a query, in the order given, wherever its list has them.

        One that the query does not rank at all has the score 0; one whose file is gone is left out
        and counted.
        """
        from sightline.records import Hit

        found = self.search(query, max(len(pictures), 1), cut=False, among=pictures, skip=0)
        hits = {h.picture: h for h in found}
        with self.home.reader() as reader:
            facts = reader.catalogue.facts([p for p in pictures if p not in hits])
        there = [f for f in facts.values() if os.path.lexists(os.path.join(self.root, f.path))]
        hits |= {f.picture: Hit(f.picture, f.path, 0.0, False, False) for f in there}
        given = tuple(hits[p] for p in pictures if p in hits)
        return replace(found, hits=given, missing=len(pictures) - len(given), part=None)

    def why(
        self,
        query: str,
        k: int | None = None,
        *,
        hits: Sequence[Hit] | None = None,
        blocks: int = 6,
        pictures: int = 12,
        exact: bool = True,
        progress: Progress | None = None,
        compute: Compute | None = None,
        **filters: Any,
    ) -> list[Why]:
        """Say of each hit which words and which parts of the picture made its score.

        Parameters
        ----------
        query, k, **filters
            As of `search`.
        hits
            Those to explain, if the search was made before.
        blocks
            How finely pictures are looked at: blocks along the longer side.
        pictures
            How many hits, the first ones, are looked at part by part.
        exact
            Give exact shares in place of losses where a score is a sum over blocks.
        """
        from sightline.collection.explain import ExplainOptions, explain
        from sightline.collection.search.words import pictures_of

        if pictures_of(query):
            raise UsageError(
                "Words are explained here; of pictures, `similar` gives the shares of each hit."
            )
        found = self.search(query, k, **filters).hits if hits is None else hits
        options = ExplainOptions(blocks, pictures, exact, bool(filters.get("learnt", True)))
        bar = progress or NoProgress()
        return explain(self.home, self.root, self.settings, query, found, options, bar, compute)
