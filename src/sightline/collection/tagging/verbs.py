"""The verbs of regions: tag, scenes, and learning where words lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.collection.finding import filter_of
from sightline.errors import Interrupted, ParameterError, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection.tagging.dataset import WordList
    from sightline.collection.tagging.localize import Places
    from sightline.collection.tagging.review import Review
    from sightline.collection.tagging.scenes import Scenes
    from sightline.collection.tagging.suggest import Suggestions
    from sightline.collection.tagging.training import RegionReport
    from sightline.contracts import Compute, Progress
    from sightline.records import Hit
    from sightline.settings import Settings
    from sightline.store.home import Home


class Tagging:
    """`tag`, `review`, `scenes`, `where` and `train_regions`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    index: Callable[..., Any]
    resolve: Callable[[Sequence[str | bytes | int]], list[int]]
    search: Callable[..., Any]
    contains: Callable[[str | os.PathLike[str]], bool]

    def train_regions(
        self,
        *,
        scenes: int = 0,
        feature: str = "",
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        compute: Compute | None = None,
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
        compute
            What learns; by default what the setting `compute` names.
        """
        from sightline.collection.tagging.training import RegionOptions, train_regions
        from sightline.compute.chosen import learning_on
        from sightline.store.locks import require_writable, running

        bar = progress or NoProgress()
        if scenes < 0:
            raise ParameterError.of("scenes", "train_regions", "0 or more", scenes)
        options = RegionOptions(scenes, force, dry_run, self.settings.session_cap, feature)
        if not dry_run:
            require_writable(self.home.folder)
        sign = running(self.home.folder, "train --regions")
        with sign, learning_on(self.settings, bar, compute) as there:
            self._cut_first(feature, bar, dry_run, there)
            try:
                return train_regions(self.home, options, self.settings.wait, bar, there)
            except KeyboardInterrupt:
                said = "Cancelled. Nothing was published; the previous model is still in use."
                raise Interrupted(said) from None

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

        from sightline.collection.tagging.suggest import suggest

        if k is not None and k < 1:
            raise ParameterError.of("k", "tag", "at least 1", k)
        chosen = self._chosen(pictures, untagged, filters)
        found = suggest(self.home, chosen, precision, removals, progress or NoProgress())
        return found if k is None else replace(found, suggestions=found.suggestions[:k])

    def review(
        self,
        *pictures: str | bytes | int,
        precision: float = 0.9,
        k: int | None = None,
        removals: bool = True,
        untagged: bool = False,
        session: str = "",
        carry: bool = True,
        progress: Progress | None = None,
        **filters: Any,
    ) -> Review:
        """Look for suggestions, as `tag` does, to be answered with yes or no.

        Each answer is on the disk when it is given, and nobody is asked the same again. Accepted
        words are carried once the review is closed.

        Parameters
        ----------
        *pictures, precision, k, removals, untagged, **filters
            As of `tag`.
        session
            The id of a review that this one goes on with.
        carry
            False has pictures carry accepted words only after the next review, or
            `carry_accepted`; a new version of the collection is written for that.
        """
        from sightline.collection.tagging.review import Review, carry_accepted
        from sightline.store.locks import require_writable

        require_writable(self.home.folder)
        if carry and self.home.exists():
            carry_accepted(self.home, self.settings.wait)
        found = self.tag(
            *pictures, precision=precision, k=k, removals=removals, untagged=untagged,
            progress=progress, **filters,
        )  # fmt: skip
        with self.home.reader() as reader:
            model = reader.snapshot.regions
        return Review(self.home, found, model, self.settings.wait, session, carry)

    def take_back(self, session: str, picture: int, word: str) -> bool:
        """Take an answer of a review back; return whether one stood."""
        from sightline.collection.tagging.review import take_back

        return take_back(self.home, session, picture, word)

    def carry_accepted(self) -> int:
        """Have pictures carry exactly what reviews accepted; return how many changed."""
        from sightline.collection.tagging.review import carry_accepted

        return carry_accepted(self.home, self.settings.wait)

    def where(
        self, query: str, k: int | None = None, *, hits: Sequence[Hit] | None = None, **filters: Any
    ) -> Places:
        """Say where the words of a query lie in its hits.

        Parameters
        ----------
        query, k, **filters
            As of `search`.
        hits
            Those to look at, if the search was made before.
        """
        from sightline.collection.search.words import pictures_of
        from sightline.collection.tagging.localize import places

        if pictures_of(query):
            raise UsageError("Pictures were asked for, and only words lie somewhere in a picture.")
        if hits is not None:
            return places(self.home, query, hits)
        found = self.search(query, k, **filters)
        return replace(places(self.home, query, found.hits), not_learned=found.not_learned)

    def draw_places(
        self, places: Places, folder: str | os.PathLike[str], *, compute: Compute | None = None
    ) -> list[Path]:
        """Draw the regions of words over hits, a PNG each, into a folder outside the collection."""
        from sightline.collection.tagging.drawing import draw_places

        if self.contains(folder):
            raise UsageError(f"{folder} lies inside the collection, where nothing is ever written.")
        return draw_places(self.root, self.settings, places, Path(folder), compute)

    def scenes(
        self,
        *,
        words: int = 5,
        untagged: bool = False,
        progress: Progress | None = None,
        **filters: Any,
    ) -> Scenes:
        """Group pictures by the scenes that were learnt, each with the words that set it apart.

        Parameters
        ----------
        words
            How many of each scene.
        untagged, **filters
            Which pictures, as of `search`.
        """
        from sightline.collection.tagging.scenes import find_scenes

        if words < 1:
            raise ParameterError.of("words", "scenes", "at least 1", words)
        chosen = self._chosen((), untagged, filters)
        return find_scenes(self.home, chosen, words, progress or NoProgress())

    def word_list(self) -> WordList:
        """Return the owner's list of synonyms and of words that no region shows."""
        from sightline.collection.tagging.dataset import load_list

        return load_list(self.home.folder)

    def _chosen(
        self, pictures: Sequence[str | bytes | int], untagged: bool, filters: dict[str, Any]
    ) -> Any:
        """Return the ids of the pictures that are meant; None for all."""
        from sightline.collection.search.words import allowed_by

        where = filter_of(self.root, **filters)
        chosen = np.array(self.resolve(pictures), np.int64) if pictures else None
        if not where and not untagged:
            return chosen
        with self.home.reader() as reader:
            allowed, every = allowed_by(reader, where, untagged), reader.snapshot.ids()
        found = every if allowed is None else np.intersect1d(every, allowed)
        return found if chosen is None else np.intersect1d(chosen, found)

    def _cut_first(
        self, feature: str, progress: Progress, dry_run: bool, compute: Compute | None
    ) -> None:
        """Index again where pictures with words lack regions."""
        from sightline.collection.index.options import split_names
        from sightline.collection.models.dataset import carried
        from sightline.collection.tagging.dataset import kept_ids
        from sightline.plugins import NO_VECTORS
        from sightline.regions.segment import require

        if feature and feature not in NO_VECTORS:
            known = ", ".join(sorted(NO_VECTORS))
            raise ParameterError.of("feature", "train_regions", f"one of {known}", feature)
        name = feature or default_regions()
        with self.home.reader() as reader:
            ids = np.unique(carried(reader.snapshot)[0])
            there = {f for have, _ in reader.snapshot.by_features(ids) for f in have}
            kept = [f for f in there if f.rpartition("-")[0] == name]
            cut = [len(kept_ids(reader.snapshot, f, ids)) for f in kept]
            if len(ids) == max(cut, default=0):
                return
        # Before the index remembers to cut pictures, which would fail from then on.
        require()
        if dry_run:
            raise UsageError(
                "Pictures are not cut into regions yet, and a dry run cuts none. "
                f"Run: sightline index --features {name}"
            )
        wanted = [*split_names(self.settings.features), name]
        self.index(features=list(dict.fromkeys(wanted)), progress=progress, compute=compute)


def default_regions() -> str:
    """Return the best kind of regions that is installed."""
    from sightline.features.deep.network import LITE2
    from sightline.features.deep.session import is_available

    return "regions-deep" if is_available(LITE2) else "regions"
