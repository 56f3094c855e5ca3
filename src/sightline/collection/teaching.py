"""The verbs that learn, and what is learnt from: train, evaluate, and clicks of other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sightline.errors import Interrupted, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection.clicks.live import SentClick, SentRanking, SentReport
    from sightline.collection.clicks.log_import import ClicksReport
    from sightline.collection.models.evaluation import Evaluation
    from sightline.collection.models.training import TrainReport
    from sightline.contracts import Compute, Progress
    from sightline.settings import Settings
    from sightline.store.home import Home


class Teaching:
    """`train`, `evaluate` and `import_clicks`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    index: Callable[..., Any]

    def train(
        self,
        *,
        rankers: Sequence[str] = (),
        features: Sequence[str] = (),
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> TrainReport:
        """Learn from the words pictures carry, so that pictures without them are found too.

        Ranker, features and settings are chosen on validation pictures, proven on held-out ones,
        and published only if they do no harm. Pictures without features get the default ones
        first.

        Parameters
        ----------
        rankers
            Names of rankers to choose from; all by default.
        features
            Names of features to choose from, by default all that pictures have.
        force
            Publish even a model that is worse than what is there.
        dry_run
            Measure, and publish nothing.
        compute
            A cluster to learn on, in place of what the settings name.
        """
        from sightline.collection.models.recipe import ranker_spec
        from sightline.collection.models.training import TrainOptions, train
        from sightline.compute.chosen import learning_on
        from sightline.store.locks import require_writable, running

        bar = progress or NoProgress()
        for name in rankers:
            ranker_spec(name)
        if not dry_run:
            require_writable(self.home.folder)
        s = self.settings
        given = (tuple(rankers), tuple(features), force, dry_run, s.session_cap, s.shards)
        missing = self._missing_features(rankers, features, dry_run)
        with running(self.home.folder, "train"), learning_on(s, bar, compute) as there:
            if missing:
                self.index(features=missing, progress=bar, compute=there)
            try:
                return train(self.home, TrainOptions(*given), s.wait, bar, there)
            except KeyboardInterrupt:
                said = "Cancelled. Nothing was published; the previous model is still in use."
                raise Interrupted(said) from None

    def import_clicks(
        self,
        *files: str | os.PathLike[str],
        eta: float | Literal["auto"] = "auto",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ClicksReport:
        """Take in what people were shown elsewhere and what of it they clicked, to train on.

        Lists that were taken in before are not taken in again. Each file is a session of its own,
        which can be reverted.

        Parameters
        ----------
        *files
            Logs in UBI 1.3 JSON or Metarank's JSON lines, read as one: queries may lie in one
            file and events in another. Pictures go by path, file name or id.
        eta
            How fast looking fades down a list: a picture at rank k is looked at with (1/k)^eta.
            "auto" estimates it from pictures that were shown at several ranks for the same query.
        dry_run
            Read and estimate, and keep nothing.
        """
        from sightline.collection.clicks.log_import import import_clicks

        if not files:
            raise UsageError("No file is named. Name the click log, or all files it lies in.")
        paths = [os.path.abspath(os.fspath(f)) for f in files]
        fixed = None if eta == "auto" else eta
        bar = progress or NoProgress()
        return import_clicks(self.home, self.root, paths, fixed, dry_run, bar)

    def take_sent(
        self, rankings: Sequence[SentRanking], clicks: Sequence[SentClick] = ()
    ) -> SentReport:
        """Take in what another program shows, when it does, and clicks on it when they come.

        Clicks may cite a ranking that was taken in before, by any process; if one cites none,
        nothing is written and the report names it. Each ranking is a session of its own, which can
        be reverted.
        """
        from sightline.collection.clicks.live import take_sent

        return take_sent(self.home, rankings, clicks)

    def is_trained(self) -> bool:
        """Say whether all that is known now has been learnt from."""
        from sightline.collection.models.training import is_trained

        return is_trained(self.home, self.settings.session_cap)

    def evaluate(
        self,
        *,
        curve: bool = True,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> Evaluation:
        """Measure what was learnt on held-out pictures: gain, p-value, harmed queries.

        Parameters
        ----------
        curve
            Also fit the recipe to growing shares of the pictures, for a learning curve.
        compute
            A cluster to measure on, in place of what the settings name.
        """
        from sightline.collection.models.evaluation import evaluate
        from sightline.compute.chosen import learning_on

        bar = progress or NoProgress()
        with learning_on(self.settings, bar, compute) as there:
            return evaluate(self.home, bar, curve=curve, compute=there)

    def _missing_features(
        self, rankers: Sequence[str], features: Sequence[str], dry_run: bool
    ) -> list[str]:
        """Return the features to compute before learning; none if those to learn from are there.

        What cannot be learnt from is refused here, before anything is computed.
        """
        from sightline.collection.index.options import default_features, split_names
        from sightline.collection.index.vectors import remembered_vectors
        from sightline.collection.models import requirements
        from sightline.collection.models.dataset import common_features, is_sparse
        from sightline.plugins import expanded

        usual = default_features()
        requirements.check_vectors(features, requirements.FOR_WORDS, usual)
        with self.home.reader() as reader:
            ids = reader.snapshot.ids()
            common = common_features(reader.snapshot, ids)
            have = {f.rpartition("-")[0]: is_sparse(reader.snapshot, f) for f in common}
            imported = {v.name for v in remembered_vectors(reader.catalogue)}
            enough = len(ids) > 1 and len(reader.snapshot.vocabulary()[0])
        known = {**dict.fromkeys(imported, False), **have}
        requirements.check_known(features, known)
        if enough:
            requirements.check_rankers(rankers, list(features) or list(have) or usual, known)
        asked = set(expanded(features))
        if not enough or (asked <= known.keys() if asked else have):
            return []
        if dry_run:
            raise UsageError(
                "The pictures lack features to learn from, and a dry run computes none. Run: "
                f"sightline index --features {','.join(features or usual)}"
            )
        wanted = [*split_names(self.settings.features), *(features or usual)]
        return [w for w in wanted if w not in imported]
