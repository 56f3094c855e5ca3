"""Models: train them, and list the versions that are kept.

The package has what all kinds of models share (`lifecycle`, `versions`, `requirements`), the word
model and the text model: their data set, rankers, model selection, held-out measurements and
training. The other kinds are trained in `similarity` and `tagging`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sightline.collection.models.versions import ModelVersion, Proven, proof_of
from sightline.errors import ParameterError, StoreError, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.models.text_training import TextReport
    from sightline.collection.pictures import PictureLike
    from sightline.collection.similarity.online import Lesson
    from sightline.collection.similarity.training import SimilarReport
    from sightline.collection.tagging.training import RegionReport
    from sightline.contracts import Compute, Progress


class Models:
    """The models of a collection: `Collection.models`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._store_folder = collection.store_folder

    def versions(self) -> list[ModelVersion]:
        """Return the versions that are kept, oldest first, each with the figures of its models."""
        from sightline.store.upkeep.rollback import describe_versions

        with self._store_folder.reader() as reader:
            current = reader.snapshot.version
        versions = []
        for v in describe_versions(self._store_folder):
            names = {
                "words": v.model, "likeness": v.similar, "regions": v.regions, "text": v.text
            }  # fmt: skip
            models = tuple(self._figures(name, kind) for kind, name in names.items() if name)
            is_current = v.number == current
            versions.append(
                ModelVersion(
                    v.number, v.written, v.pictures, v.note, is_current, v.finished, models
                )
            )
        return versions

    def version(self, number: int) -> ModelVersion:
        """Return one of the versions that are kept."""
        kept = {m.version: m for m in self.versions()}
        if number not in kept:
            listed = ", ".join(map(str, kept))
            raise UsageError(f"There is no version {number}. Kept: {listed}.")
        return kept[number]

    def train_similarity(
        self,
        *,
        source: str = "",
        features: Sequence[str] = (),
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> SimilarReport:
        """Learn how much each descriptor counts for the similarity of pictures.

        The learner is selected on validation queries and measured on held-out ones; the model is
        published only if it does no harm. Pictures without any descriptor get some first.

        Parameters
        ----------
        source : str
            Supervision: judgements, tags, classes or folders; by default the first of these that
            covers enough pictures.
        features : sequence of str
            Descriptors, by default all that pictures have.
        force : bool, default=False
            As of `Collection.train`.
        dry_run : bool, default=False
            As of `Collection.train`.
        progress : Progress, optional
            As of `Collection.train`.
        """
        from sightline.collection.models.lifecycle import training_run
        from sightline.collection.models.requirements import missing_for_similarity
        from sightline.collection.similarity.supervision import check_source
        from sightline.collection.similarity.training import SimilarOptions, train_similar

        check_source(source)
        bar, s = progress or NoProgress(), self._collection.settings
        options = SimilarOptions(source, tuple(features), force, dry_run, s.session_cap)
        missing = missing_for_similarity(self._store_folder, features)
        with training_run(self._collection, "train --similar", dry_run, bar, local=True) as run:
            run.compute_features(missing)
            return train_similar(self._store_folder, options, s.wait, bar)

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
        """Learn which words belong to which region of a picture, and what scenes there are.

        The model is measured on held-out pictures and published only if it does no harm. Pictures
        that are not segmented yet are segmented first, and from then on with every index.

        Parameters
        ----------
        scenes : int
            The number of scenes; 0 for as many as the pictures allow, 20 at most.
        feature : str
            How regions are described: regions-deep, or regions; by default the best installed.
        force : bool, default=False
            As of `Collection.train`.
        dry_run : bool, default=False
            As of `Collection.train`.
        progress : Progress, optional
            As of `Collection.train`.
        compute : Compute, optional
            As of `Collection.train`.
        """
        from sightline.collection.models.lifecycle import training_run
        from sightline.collection.models.requirements import missing_for_regions
        from sightline.collection.tagging.training import RegionOptions, train_regions

        if scenes < 0:
            raise ParameterError.of("scenes", "train_regions", "0 or more", scenes)
        bar, s = progress or NoProgress(), self._collection.settings
        options = RegionOptions(scenes, force, dry_run, s.session_cap, feature)
        missing = missing_for_regions(self._store_folder, feature)
        with training_run(self._collection, "train --regions", dry_run, bar, compute) as run:
            run.compute_features(missing)
            return train_regions(self._store_folder, options, s.wait, bar, run.compute)

    def train_text(
        self,
        *,
        rankers: Sequence[str] = (),
        features: Sequence[str] = (),
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> TextReport:
        """Learn a space that words, texts and pictures share, beside the word model.

        It serves `search_text`, `words.topics` and `pictures.describe_texts`; searches by words are
        not affected. Ranker, features and hyperparameters are selected by texts of validation
        pictures and measured on held-out ones; the model is published only if it does no harm.

        Parameters
        ----------
        rankers : sequence of str
            Rankers with a shared space to select from; by default all.
        features : sequence of str
            As of `Collection.train`.
        force : bool, default=False
            As of `Collection.train`.
        dry_run : bool, default=False
            As of `Collection.train`.
        progress : Progress, optional
            As of `Collection.train`.
        compute : Compute, optional
            As of `Collection.train`.
        """
        from sightline.collection.models.lifecycle import training_run
        from sightline.collection.models.requirements import missing_for_words
        from sightline.collection.models.text_training import (
            TextOptions,
            check_text_rankers,
            text_rankers,
            train_text,
        )

        check_text_rankers(rankers)
        bar, s = progress or NoProgress(), self._collection.settings
        options = TextOptions(tuple(rankers), tuple(features), force, dry_run, s.session_cap)
        missing = missing_for_words(self._store_folder, rankers or text_rankers(), features)
        with training_run(self._collection, "train text", dry_run, bar, compute) as run:
            run.compute_features(missing)
            return train_text(self._store_folder, options, s.wait, bar, run.compute)

    def learn_similarity(
        self,
        query: PictureLike,
        *,
        positive: Sequence[PictureLike] = (),
        negative: Sequence[PictureLike] = (),
        session: str = "",
        source: str = "user",
    ) -> Lesson:
        """Learn at once from a judgement of which pictures are similar to another one.

        The judgement is on the disk when this returns. Of judgements that contradict each other the
        last one counts.

        Parameters
        ----------
        query : PictureLike
            The picture the others are compared with; all must be in the collection.
        positive, negative : sequence of pictures
            Pictures that are similar to it, and that are not; either alone teaches nothing yet.
        session : str
            A name under which the judgements can be reverted later.
        source : str
            Who or what judges.
        """
        from sightline.collection.similarity.online import learn

        (picture,) = self._collection.pictures.resolve([query])
        judged = (
            self._collection.pictures.resolve(positive),
            self._collection.pictures.resolve(negative),
        )
        return learn(self._store_folder, picture, *judged, session, source)

    def is_current(self) -> bool:
        """Say whether the word model was trained on all that is known now."""
        from sightline.collection.models.training import is_trained

        settings = self._collection.settings
        return is_trained(self._store_folder, settings.session_cap, settings.memory_bytes)

    def _figures(self, name: str, kind: str) -> Proven:
        from sightline.store.models import open_model

        try:
            figures = open_model(self._store_folder.models, name).about.get("figures")
        except StoreError:
            figures = None  # `store verify` reports what is wrong with it.
        return proof_of(name, kind, figures if isinstance(figures, dict) else {})
