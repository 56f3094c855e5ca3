"""The verbs of regions: tag, scenes, and learning where words lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.collection.finding import filter_of
from sightline.errors import Interrupted, ParameterError, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection.tagging.cleaning import WordList
    from sightline.collection.tagging.proposing import Suggestions
    from sightline.collection.tagging.training import RegionReport
    from sightline.contracts import Progress
    from sightline.settings import Settings
    from sightline.store.home import Home


class Tagging:
    """`tag`, `review`, `scenes`, `where` and `train_regions`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    index: Callable[..., Any]
    resolve: Callable[[Sequence[str | bytes | int]], list[int]]

    def train_regions(
        self,
        *,
        scenes: int = 0,
        feature: str = "",
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RegionReport:
        """Learn which words lie where in pictures, and what scenes there are.

        Proven on held-out pictures, and published only if it does no harm. Pictures that are not
        cut into regions yet are cut first, and from then on with every index.

        Parameters
        ----------
        scenes
            How many to tell apart; by default as many as the pictures allow, 20 at most.
        feature
            What regions are described by: regions-deep, or regions; the best that is installed by
            default.
        force
            Publish even a model that is worse than what is there.
        dry_run
            Measure, and publish nothing.
        """
        from sightline.collection.tagging.training import RegionOptions, train_regions

        bar = progress or NoProgress()
        self._cut_first(feature, bar, dry_run)
        options = RegionOptions(scenes, force, dry_run, self.settings.session_cap)
        try:
            return train_regions(self.home, options, self.settings.wait, bar)
        except KeyboardInterrupt:
            raise Interrupted("Stopped. Nothing was published; what was there serves on.") from None

    def tag(
        self,
        *pictures: str | bytes | int,
        precision: float = 0.9,
        k: int | None = None,
        removals: bool = True,
        untagged: bool = False,
        progress: Progress | None = None,
        **filters: Any,
    ) -> Suggestions:
        """Propose words for pictures, each with where it lies, and doubt words they carry.

        Parameters
        ----------
        *pictures
            Pictures of the collection, by path or id; all by default.
        precision
            The share of proposed words that shall be right on pictures whose words nobody knows.
            Words of which too little is known to promise that are not proposed, and named.
        k
            Suggestions to return, the surest first; all by default.
        removals
            Also doubt words that pictures carry.
        untagged, **filters
            Which pictures, as of `search`.
        """
        from dataclasses import replace

        from sightline.collection.tagging.proposing import suggest

        if k is not None and k < 1:
            raise ParameterError.of("k", "tag", "at least 1", k)
        chosen = self._chosen(pictures, untagged, filters)
        found = suggest(self.home, chosen, precision, removals, progress or NoProgress())
        return found if k is None else replace(found, suggestions=found.suggestions[:k])

    def word_list(self) -> WordList:
        """Return the owner's list of synonyms and of words that no region shows."""
        from sightline.collection.tagging.cleaning import load_list

        return load_list(self.home.folder)

    def _chosen(
        self, pictures: Sequence[str | bytes | int], untagged: bool, filters: dict[str, Any]
    ) -> Any:
        """Return the ids of the pictures that are meant; None for all."""
        where = filter_of(self.root, **filters)
        chosen = np.array(self.resolve(pictures), np.int64) if pictures else None
        if not where and not untagged:
            return chosen
        with self.home.reader() as reader:
            allowed = reader.snapshot.ids()
            if where:
                allowed = np.intersect1d(allowed, np.array(reader.catalogue.where(where), np.int64))
            if untagged:
                allowed = np.intersect1d(allowed, reader.snapshot.without_words())
        return allowed if chosen is None else np.intersect1d(chosen, allowed)

    def _cut_first(self, feature: str, progress: Progress, dry_run: bool) -> None:
        """Index again where pictures with words lack regions."""
        from sightline.collection.learning.samples import carried
        from sightline.collection.options import split_names
        from sightline.collection.tagging.ground import kept_ids
        from sightline.plugins import NO_VECTORS

        if feature and feature not in NO_VECTORS:
            known = ", ".join(sorted(NO_VECTORS))
            raise ParameterError.of("feature", "train_regions", f"one of {known}", feature)
        name = feature or default_regions()
        with self.home.reader() as reader:
            ids = np.unique(carried(reader.snapshot)[0])
            there = {f for have, _ in reader.snapshot.by_features(ids) for f in have}
            kept = [f for f in there if f.rpartition("-")[0] == name]
            if not len(ids) or any(len(kept_ids(reader.snapshot, f, ids)) == len(ids) for f in kept):
                return
        if dry_run:
            raise UsageError(
                "Pictures are not cut into regions yet, and a dry run cuts none. "
                f"Run: sightline index --features {name}"
            )
        wanted = [*split_names(self.settings.features), name]
        self.index(features=list(dict.fromkeys(wanted)), progress=progress)


def default_regions() -> str:
    """Return the best kind of regions that is installed."""
    from sightline.features.deep.network import LITE2
    from sightline.features.deep.session import is_available

    return "regions-deep" if is_available(LITE2) else "regions"
