"""Questions in words to real collections: what an owner of tagged and untagged pictures gets.

Corel5K and Caltech-101 become collections with default features, in which a table of words is
indexed and `train` run. `pictures` has the data sets with their words, `collection` the stores,
`questions` what is asked; `evaluation` measures answers once on untagged pictures, `baseline` is
ridge of scikit-learn; `calibration` measures probabilities by size of the collection. `results` and
`report` have the figures.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path

from sightline.collection import Collection
from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra, SightlineError
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.queries.baseline import fit_baseline
from sightline_experiments.queries.calibration import ShownHits, nothing_learned, shown_hits
from sightline_experiments.queries.collection import ids_of, index_untagged, tagged_copy
from sightline_experiments.queries.evaluation import QuestionTestSet, answers_of
from sightline_experiments.queries.pictures import (
    WordedPictures,
    attributes_of,
    of_classes,
    of_corel,
    with_attributes,
)
from sightline_experiments.queries.plan import CALIBRATION, Plan
from sightline_experiments.queries.questions import MADE_WORD, needs_made_word, questions_of
from sightline_experiments.queries.results import (
    RIDGE,
    SIGHTLINE,
    AnsweredQuestions,
    Calibrated,
    QueryResults,
)

Data = Corel5K | Classed


def run(
    datasets: Mapping[str, tuple[Data, ArrayCache] | None],
    plan: Plan,
    compute: Compute,
    progress: Progress,
) -> QueryResults:
    """Measure every available data set.

    Parameters
    ----------
    datasets : by title, each with the cache in which its collection is kept, or None if missing.
    """
    results = QueryResults(_settings(plan))
    for title, dataset in datasets.items():
        if dataset is None:
            results.unavailable.append(title)
        else:
            _Measurement(*dataset, plan, compute, progress, results).run()
    return results


def _settings(plan: Plan) -> dict[str, Json]:
    return {
        "questions of a kind, at most": plan.questions,
        "pictures measured on, at most": plan.measured,
        "measured on": f"{plan.withheld} withheld tagged pictures" if plan.withheld
        else "untagged pictures of the test",
        "features": list[Json](plan.features) or "default",
        "rankers": list[Json](plan.rankers) or "default",
        "sizes": list[Json](plan.sizes),
        "draws": {str(size): plan.draws_of(size) for size in plan.sizes},
        "parts": list[Json](plan.parts),
        "environment": {
            "python": platform.python_version(), "machine": platform.machine(),
            **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        },
    }  # fmt: skip


class _Measurement:
    """One data set, with each of its sets of words."""

    def __init__(
        self,
        c: Data,
        cache: ArrayCache,
        plan: Plan,
        compute: Compute,
        progress: Progress,
        results: QueryResults,
    ) -> None:
        self.c, self.cache, self.plan = c, cache, plan
        self.compute, self.progress, self.results = compute, progress, results

    def run(self) -> None:
        """Ask the questions about each set of words, and calibrate by the first."""
        worded = list(self._worded())
        base = self._base(worded[0].files)
        if self.plan.kinds():
            for pictures in worded:
                self._ask(base, pictures)
        if CALIBRATION in self.plan.parts:
            self._calibrate(base, worded[0])

    def _worded(self) -> Iterator[WordedPictures]:
        if isinstance(self.c, Corel5K):
            yield self._measured_part(of_corel(self.c))
            return
        pictures = of_classes(self.c)
        yield self._measured_part(pictures)
        if self.plan.kinds():
            attributes = attributes_of(self.c, self.compute, self.cache, self.progress)
            yield self._measured_part(with_attributes(pictures, attributes))

    def _measured_part(self, pictures: WordedPictures) -> WordedPictures:
        if self.plan.withheld:
            pictures = pictures.withheld(self.plan.withheld)
        return pictures.with_measured(self.plan.measured)

    def _base(self, files: tuple[str, ...]) -> Path:
        features = self.plan.features
        folder = self.cache.folder / "-".join(["collection", *features])
        folder.mkdir(parents=True, exist_ok=True)
        return index_untagged(self.c, files, folder, features, self.compute, self.progress)

    def _ask(self, base: Path, pictures: WordedPictures) -> None:
        plan = self.plan
        if needs_made_word(pictures):
            pictures = pictures.with_word(MADE_WORD)
        questions = [q for q in questions_of(pictures, plan.questions) if q.kind in plan.kinds()]
        answered = AnsweredQuestions(
            pictures.title, pictures.words_from, int(pictures.tagged.sum()),
            int(pictures.measured.sum()), tuple(questions),
        )  # fmt: skip
        with self._copy(base, pictures) as collection:
            answered.recipe = self._train(collection)
            test_set = QuestionTestSet(pictures, ids_of(collection, pictures.files), questions)
            self._note(f"{answered.name}: ask {len(questions):,} questions")
            asked = answers_of(collection, test_set.ids)
            answered.measures[SIGHTLINE] = test_set.measure(SIGHTLINE, asked)
            try:
                baseline = fit_baseline(collection, test_set.ids)
            except MissingExtra as e:
                self.results.notes.append(f"{RIDGE} was left out: {e}")
            else:
                answered.measures[RIDGE] = test_set.measure(RIDGE, baseline.ask)
                answered.baseline = {**baseline.chosen.settings, "AvgP": baseline.chosen.value}
        self.results.answered.append(answered)

    def _calibrate(self, base: Path, pictures: WordedPictures) -> None:
        calibrated = Calibrated(pictures.title, pictures.words_from)
        self.results.calibrated.append(calibrated)
        available = int(pictures.tagged.sum())
        for size in self.plan.sizes:
            n = min(size, available)
            if n not in calibrated.sizes:
                draws = range(self.plan.draws_of(size) if n < available else 1)
                hits = [self._calibrated(base, pictures.with_tagged(n, d)) for d in draws]
                calibrated.sizes[n] = hits

    def _calibrated(self, base: Path, pictures: WordedPictures) -> ShownHits:
        self._note(f"{pictures.title}: calibration with {int(pictures.tagged.sum()):,} tagged")
        with self._copy(base, pictures) as collection:
            try:
                self._train(collection)
            except SightlineError as e:
                return nothing_learned(pictures, e)
            return shown_hits(collection, pictures)

    def _copy(self, base: Path, pictures: WordedPictures) -> AbstractContextManager[Collection]:
        return tagged_copy(base, pictures, self.compute, self.progress)

    def _train(self, collection: Collection) -> str:
        rankers, features = self.plan.rankers, self.plan.features
        return collection.train(rankers=rankers, features=features, progress=self.progress).recipe

    def _note(self, text: str) -> None:
        self.progress.start(text, None)
        self.progress.finish()
