"""The verbs that compare pictures: similar, duplicates, and learning what likeness is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sightline.collection.finding import filter_of
from sightline.errors import Interrupted, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection.similarity.candidates import SimilarResults
    from sightline.collection.similarity.duplicates import Duplicates
    from sightline.collection.similarity.online import Lesson
    from sightline.collection.similarity.query import Picture
    from sightline.collection.similarity.training import SimilarReport
    from sightline.contracts import Compute, Progress
    from sightline.settings import Settings
    from sightline.store.catalogue import Where
    from sightline.store.home import Home


class Comparing:
    """`similar`, `duplicates`, `train_similar` and `learn_similar`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    index: Callable[..., Any]
    resolve: Callable[[Sequence[str | bytes | int]], list[int]]

    def similar(
        self,
        *pictures: Picture,
        unwanted: Sequence[Picture] = (),
        k: int | None = None,
        untagged: bool = False,
        exact: bool = False,
        compute: Compute | None = None,
        **filters: Any,
    ) -> SimilarResults:
        """Find pictures that look like others.

        Parameters
        ----------
        *pictures
            Paths, in the collection or not, or ids. Those of the collection are left out of the
            hits.
        unwanted
            Pictures that hits should not look like.
        k
            Hits to return.
        untagged
            Only pictures that carry no word at all.
        exact
            Compare every picture, however many there are, instead of the nearest by each of the
            strongest descriptors.
        **filters
            As of `search`.
        """
        where = filter_of(self.root, **filters)
        wanted, against = [(p, 1.0) for p in pictures], [(p, 1.0) for p in unwanted]
        return self._similar(wanted, against, k, where, untagged, exact, compute)

    def _similar(
        self,
        wanted: Sequence[tuple[Picture, float]],
        unwanted: Sequence[tuple[Picture, float]],
        k: int | None,
        where: Where,
        untagged: bool = False,
        exact: bool = False,
        compute: Compute | None = None,
    ) -> SimilarResults:
        from sightline.collection.similarity.candidates import RankOptions, similar

        top = self.settings.top if k is None else k
        if top < 1:
            raise UsageError(f"At least 1 hit must be asked for. Got {top}.")
        options = RankOptions(untagged, exact)
        with self.home.reader() as reader:
            return similar(
                reader, self.root, self.settings, wanted, unwanted, top, where, options, compute
            )

    def duplicates(
        self,
        *,
        threshold: float | None = None,
        progress: Progress | None = None,
        **filters: Any,
    ) -> Duplicates:
        """Group pictures of the same bytes, and pictures that look nearly equal.

        Parameters
        ----------
        threshold
            How much two pictures of a group may differ; 0 leaves only those of the same bytes.
        **filters
            As of `search`.
        """
        from sightline.collection.similarity.duplicates import THRESHOLD, find_duplicates

        where = filter_of(self.root, **filters)
        most = THRESHOLD if threshold is None else threshold
        with self.home.reader() as reader:
            return find_duplicates(reader, self.root, most, where, progress or NoProgress())

    def train_similar(
        self,
        *,
        source: str = "",
        features: Sequence[str] = (),
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> SimilarReport:
        """Learn how much each descriptor counts for how alike pictures are.

        The learner is chosen on validation queries, proven on held-out ones, and published only if
        it does no harm. Pictures without any descriptor get some first.

        Parameters
        ----------
        source
            What says which pictures belong together: judgements, tags, classes or folders; by
            default the first of these that speaks of enough pictures.
        features
            Names of descriptors, by default all that pictures have.
        force
            Publish even a combination that is worse than what is there.
        dry_run
            Measure, and publish nothing.
        """
        from sightline.collection.similarity.supervision import check_source
        from sightline.collection.similarity.training import SimilarOptions, train_similar
        from sightline.store.locks import require_writable, running

        bar = progress or NoProgress()
        check_source(source)
        if not dry_run:
            require_writable(self.home.folder)
        cap = self.settings.session_cap
        options = SimilarOptions(source, tuple(features), force, dry_run, cap)
        with running(self.home.folder, "train --similar"):
            self._describe_to_compare(features, bar, dry_run)
            try:
                return train_similar(self.home, options, self.settings.wait, bar)
            except KeyboardInterrupt:
                said = "Cancelled. Nothing was published; the previous model is still in use."
                raise Interrupted(said) from None

    def _describe_to_compare(
        self, features: Sequence[str], progress: Progress, dry_run: bool
    ) -> None:
        """Index again where pictures lack the descriptors asked for, or have none at all."""
        from sightline.collection.index.options import split_names
        from sightline.collection.index.vectors import remembered_vectors
        from sightline.collection.models import requirements
        from sightline.collection.models.dataset import common_features
        from sightline.collection.similarity.descriptors import name_of
        from sightline.plugins import expanded

        requirements.check_vectors(features, requirements.FOR_SIMILARITY, ["whole-all"])
        with self.home.reader() as reader:
            ids = reader.snapshot.ids()
            have = {name_of(f) for f in common_features(reader.snapshot, ids)}
            imported = {v.name for v in remembered_vectors(reader.catalogue)}
        requirements.check_known(features, have | imported)
        asked = list(features) or ([] if have else ["whole-all"])
        if len(ids) < 2 or set(expanded(asked)) <= have | imported:
            return
        if dry_run:
            raise UsageError(
                "The pictures lack descriptors to compare them by, and a dry run computes none. "
                f"Run: sightline index --features {','.join(asked)}"
            )
        wanted = [*split_names(self.settings.features), *asked]
        self.index(features=[w for w in wanted if w not in imported], progress=progress)

    def learn_similar(
        self,
        query: str | bytes | int,
        *,
        alike: Sequence[str | bytes | int] = (),
        unlike: Sequence[str | bytes | int] = (),
        session: str = "",
        source: str = "user",
    ) -> Lesson:
        """Learn at once from a judgement of which pictures are like another one.

        All pictures must be in the collection, by id or path. What is said is on the disk when this
        returns. Of judgements that contradict each other the last one counts.

        Parameters
        ----------
        query
            The picture the others are compared with.
        alike, unlike
            Pictures that are like it, and that are not; either alone teaches nothing yet.
        session
            A name under which all that was said can be reverted later.
        source
            Who or what says so.
        """
        from sightline.collection.similarity.online import learn

        (asked,) = self.resolve([query])
        return learn(self.home, asked, self.resolve(alike), self.resolve(unlike), session, source)
