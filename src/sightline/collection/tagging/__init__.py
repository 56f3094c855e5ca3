"""Tags: review suggestions and suspected mislabels, localize tags, group pictures by scene."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.collection.filters import NO_FILTERS, Filters, allowed_ids
from sightline.errors import ParameterError, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightline.collection import Collection
    from sightline.collection.pictures import PictureLike
    from sightline.collection.tagging.dataset import WordList
    from sightline.collection.tagging.localize import LocalizedHits
    from sightline.collection.tagging.review import Review
    from sightline.collection.tagging.scenes import Scenes
    from sightline.collection.tagging.suspected import SuspectedTags
    from sightline.contracts import Compute, Progress
    from sightline.records import Hit


class Tagging:
    """Suggested words and regions of a collection: `Collection.tagging`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def review(
        self,
        *pictures: PictureLike,
        precision: float = 0.9,
        k: int | None = None,
        removals: bool = True,
        filters: Filters = NO_FILTERS,
        session: str = "",
        apply: bool = True,
        suspected: bool = False,
        progress: Progress | None = None,
    ) -> Review:
        """Suggest words, as `Collection.tag` does, for review with yes or no.

        Each answer is on disk at once, and no question is asked twice. Pictures have accepted
        words after the review is closed. Parameters other than these are as of `Collection.tag`.

        Parameters
        ----------
        session : str
            The id of a review to resume.
        apply : bool
            If false, accepted words are written by the next review or by `apply_accepted`; writing
            them creates a new version of the store.
        suspected : bool
            Review suspected mislabels, as `suspected` lists them, in place of the suggestions of
            the region model; `precision` and `removals` are not used then.
        """
        from sightline.collection.tagging.review import Review

        self._collection.store.require_writable()
        if apply and self._collection.store_folder.exists():
            self.apply_accepted()
        store_folder, wait = self._collection.store_folder, self._collection.settings.wait
        if suspected:
            tags = self.suspected(*pictures, k=k, filters=filters)
            return Review(store_folder, tags, tags.model, wait, session, apply)
        suggestions = self._collection.tag(
            *pictures, precision=precision, k=k, removals=removals, filters=filters,
            progress=progress,
        )  # fmt: skip
        with store_folder.reader() as reader:
            model = reader.snapshot.regions
        return Review(store_folder, suggestions, model, wait, session, apply)

    def suspected(
        self,
        *pictures: PictureLike,
        confidence: float = 0.5,
        k: int | None = None,
        filters: Filters = NO_FILTERS,
    ) -> SuspectedTags:
        """Return suspected mislabels: tags that are probably wrong, most doubtful first.

        The word model judges each tag by the pictures that it learned from, without the tagged one.

        Parameters
        ----------
        *pictures : str, bytes, int or Hit
            As of `Collection.tag`.
        confidence : float
            The least probability that a tag is wrong.
        k : int, optional
            Tags to return; by default all.
        filters : Filters, optional
            As of `Collection.search`.
        """
        from sightline.collection.tagging.suspected import suspected_tags

        if k is not None and k < 1:
            raise ParameterError.of("k", "suspected", "at least 1", k)
        ids = self.chosen(pictures, filters)
        tags = suspected_tags(self._collection.store_folder, ids, confidence)
        return replace(tags, suggestions=tags.suggestions[:k])

    def localize(
        self,
        query: str,
        k: int | None = None,
        *,
        hits: Sequence[Hit] | None = None,
        filters: Filters = NO_FILTERS,
    ) -> LocalizedHits:
        """Return the regions of the query's words in its hits.

        Parameters other than these are as of `Collection.search`.

        Parameters
        ----------
        hits : sequence of Hit, optional
            The hits of an earlier search to localize words in.
        """
        from sightline.collection.search.words import pictures_of
        from sightline.collection.tagging.localize import localize

        if pictures_of(query):
            raise UsageError(
                f"Only words have regions in a picture. Got the pictures {query!r}. Name words."
            )
        if hits is not None:
            return localize(self._collection.store_folder, query, hits)
        results = self._collection.search(query, k, filters=filters)
        return replace(
            localize(self._collection.store_folder, query, results.hits),
            not_learned=results.not_learned,
        )

    def scenes(
        self,
        *,
        words: int = 5,
        filters: Filters = NO_FILTERS,
        progress: Progress | None = None,
    ) -> Scenes:
        """Group pictures by learned scenes, each with its most typical words.

        Without a region model they are grouped by similarity, which needs no word.

        Parameters
        ----------
        words : int
            Number of words of each scene.
        filters : Filters, optional
            As of `Collection.search`.
        progress : Progress, optional
            As of `Collection.train`.
        """
        from sightline.collection.tagging.scenes import find_scenes

        if words < 1:
            raise ParameterError.of("words", "scenes", "at least 1", words)
        ids = self.chosen((), filters)
        return find_scenes(self._collection.store_folder, ids, words, progress or NoProgress())

    def undo(self, session: str, picture: int, word: str) -> bool:
        """Undo an answer of a review; return whether there was one."""
        from sightline.collection.tagging.review import undo_answer

        return undo_answer(self._collection.store_folder, session, picture, word)

    def apply_accepted(self) -> int:
        """Give pictures exactly the accepted words; return the number of changed ones."""
        from sightline.collection.tagging.review import apply_accepted

        return apply_accepted(self._collection.store_folder, self._collection.settings.wait)

    def draw_regions(
        self,
        localized: LocalizedHits,
        folder: str | os.PathLike[str],
        *,
        compute: Compute | None = None,
    ) -> list[Path]:
        """Draw the regions of words over hits, a PNG each, into a folder outside the collection."""
        from sightline.collection.tagging.drawing import draw_regions

        c = self._collection
        if c.contains(folder):
            raise UsageError(f"{folder} lies inside the collection, where nothing is ever written.")
        return draw_regions(c.root, c.settings, localized, Path(folder), compute)

    def word_list(self) -> WordList:
        """Return which words the region model joins and drops: the owner's list, and folding."""
        from sightline.collection.tagging.dataset import load_list, region_words

        folder = self._collection.store_folder
        if not folder.exists():
            return load_list(folder.path)
        with folder.reader() as reader:
            return region_words(reader)

    def chosen(self, pictures: Sequence[PictureLike], filters: Filters) -> NDArray[np.int64] | None:
        """Return the ids of named pictures that pass the filters; None for all."""
        import numpy as np

        c = self._collection
        named = np.array(c.pictures.resolve(pictures), np.int64) if pictures else None
        if filters == NO_FILTERS:
            return named
        with c.store_folder.reader() as reader:
            allowed = allowed_ids(reader, filters.where(c.root), filters.untagged)
            every = reader.snapshot.ids()
        ids = every if allowed is None else np.intersect1d(every, allowed)
        return ids if named is None else np.intersect1d(named, ids)
