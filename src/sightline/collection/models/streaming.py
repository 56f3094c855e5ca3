"""Training on more pictures than memory holds: kernel ridge on landmarks, from blocks of rows.

Rows stay on the disk (`store.stored_rows`) and are read in blocks, so that beside labels and ids
nothing in memory grows with the pictures. Ridge (`annotators.landmarks`) and PAMIR
(`PAMIR.fit_blocks`) learn so. Features and hyperparameters are selected as ever, on a sample. Then
the proof is fitted to the pictures that are not held out. Ridge's served model goes on with the
held-out ones, so that no row is read twice; its landmarks are a seeded sample of the pictures of
the proof, and its left-out scores, which calibrate, are those of another sample. PAMIR is fitted
anew to all pictures, and calibrated by the sample that selected it.

A fit without wrong tags is not tried, and which tags are probably wrong stays unknown: both need
the left-out scores of every picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sightline._typing import Arrays, Bools, Floats, Ints
from sightline.annotators._alpha import sample
from sightline.annotators.landmarks import LandmarkRidge, bytes_needed
from sightline.annotators.ridge import KernelRidge
from sightline.collection.models.dataset import Dataset, Weighting
from sightline.collection.models.memory import gigabytes
from sightline.collection.models.recipe import SAVED_BY, Fitted, Recipe, fit
from sightline.collection.models.registry import concat_features, fit_whitening, whiten
from sightline.collection.models.selection import (
    STREAMED,
    Selection,
    select,
    trainable_rankers,
)
from sightline.contracts import Mapper, Progress
from sightline.errors import UsageError
from sightline.progress import NoProgress
from sightline.similarity.grams import LANDMARKS
from sightline.similarity.kernels import MeanKernel

# Pictures that features and the combination of words are selected on.
_SELECTED_ON = 5_000
# Numbers of landmarks, of which the largest is taken that there is memory for.
_LANDMARKS = (LANDMARKS, 2_000, 1_000, 500)
_BLOCK = 4_096
_BANDWIDTH_ROWS = 1_000
# Left-out scores: the largest number of cells, but of at least a number of pictures.
_MOST_CELLS, _FEWEST_PICTURES = 1 << 23, 6_000


def landmarks_within(memory: int, n_words: int, length: int) -> int:
    """Return how many landmarks there is memory for; too little for the fewest is an error.

    Parameters
    ----------
    memory : int
        Bytes that fitting may take.
    n_words : int
        Number of words.
    length : int
        Numbers in a row, of all features together.

    Examples
    --------
    >>> landmarks_within(4 * 10**9, 1_000, 512)
    4000
    """
    for n in _LANDMARKS:
        if bytes_needed(n, n_words, length) <= memory:
            return n
    least = bytes_needed(_LANDMARKS[-1], n_words, length)
    raise UsageError(
        f"The setting 'memory' allows {gigabytes(memory)}, but learning {n_words} words from "
        f"{length} numbers a picture takes at least {gigabytes(least)}. Raise it (SIGHTLINE_MEMORY,"
        " or memory in config.toml), or learn from fewer features: sightline train --features"
    )


def select_streamed(
    dataset: Dataset,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    progress: Progress,
    compute: Mapper | None = None,
) -> Selection:
    """Select a recipe on a sample of the pictures."""
    chosen, others = trainable_rankers(dataset, rankers, features)
    if not chosen:
        raise UsageError(
            f"{'; '.join(others)}. Raise it, or name another ranker: "
            f"sightline train --ranker {STREAMED[0]}"
        )
    length = sum(int(view.shape[1]) for view in dataset.views.values())
    if SAVED_BY in chosen:
        landmarks_within(dataset.memory, len(dataset.terms), length)
    some = dataset.only(sample(np.arange(len(dataset)), _SELECTED_ON, 0))
    selected = select(some, chosen, features, progress, compute)
    return replace(selected, not_tried=(*selected.not_tried, *others))


def fit_streamed(
    recipe: Recipe, dataset: Dataset, parts: Sequence[Bools], progress: Progress
) -> Iterator[Fitted]:
    """Yield a recipe fitted to one part of a data set, then to this and the next, and so on.

    Parameters
    ----------
    recipe : Recipe
        Of a ranker that learns from blocks of rows. Its alpha was selected on few pictures, so
        another is chosen.
    dataset : Dataset
        Pictures whose rows are on the disk.
    parts : sequence of ndarray of bool
        Which pictures each part has.
    progress : Progress
        Shows how many pictures have been learned.
    """
    if recipe.ranker != SAVED_BY:
        yield from _fit_linear(recipe, dataset, parts, progress)
        return
    settings = {n: v for n, v in recipe.settings if n not in ("alpha", "wrong_tags", "landmarks")}
    estimator = KernelRidge(**settings)  # type: ignore[arg-type]
    ridge = _start(estimator, recipe.features, dataset, np.flatnonzero(parts[0]))
    weightings = (Weighting.of(None),) * len(recipe.features)
    settings["landmarks"] = len(ridge.root)
    learned = np.zeros(len(dataset), np.bool_)
    for part in parts:
        progress.start("fit", int(part.sum()))
        for rows in _blocks(np.flatnonzero(part)):
            ridge.partial_fit(_views(dataset, recipe.features, rows), dataset.labels[rows])
            progress.advance(len(rows))
        progress.finish()
        learned |= part
        pictures = np.flatnonzero(learned)
        judged = sample(pictures, _most_judged(len(dataset.terms)), estimator.random_state)
        solution = ridge.solve()
        left_out = solution.left_out(
            _views(dataset, recipe.features, judged), dataset.labels[judged]
        )
        if "alpha" not in settings:
            settings["alpha"] = solution.best_alpha(left_out)
        alpha = float(str(settings["alpha"]))
        arrays, unseen = solution.arrays(alpha), left_out.left_out(solution.scaled(alpha))
        yield Fitted(
            Recipe(recipe.ranker, recipe.features).with_settings(**settings), weightings, arrays,
            lambda unseen=unseen: unseen,  # type: ignore[misc]
            sampled=np.searchsorted(pictures, judged),
        )  # fmt: skip


def _fit_linear(
    recipe: Recipe, dataset: Dataset, parts: Sequence[Bools], progress: Progress
) -> Iterator[Fitted]:
    """Yield PAMIR fitted to one part of a data set, then to this and the next, and so on.

    It takes as many steps for each picture as were best on the sample that selected it; the recipe
    keeps their number.
    """
    from sightline.rankers.pamir import PAMIR

    settings: dict[str, Any] = dict(recipe.settings)
    steps = int(settings.pop("n_iter", 0))
    learned = np.zeros(len(dataset), np.bool_)
    few = sample(np.flatnonzero(parts[0]), _SELECTED_ON, 0)
    whitening = fit_whitening(concat_features(_views(dataset, recipe.features, few)))
    for part in parts:
        learned |= part
        pictures = np.flatnonzero(learned)
        estimator = PAMIR(**settings)
        n_iter = None
        if steps:
            n_iter = min(estimator.n_iter, int(steps * max(1.0, len(pictures) / _SELECTED_ON)))
        blocks = _WhitenedRows(dataset, recipe.features, pictures, whitening)
        estimator.fit_blocks(blocks, dataset.labels[pictures], n_iter=n_iter, progress=progress)
        yield Fitted(
            recipe,
            (Weighting.of(None),) * len(recipe.features),
            {**estimator.to_arrays(), **whitening},
        )


@dataclass(frozen=True, slots=True, eq=False)
class _WhitenedRows:
    """The rows of some pictures as a linear ranker takes them, read when they are asked for."""

    dataset: Dataset
    features: Sequence[str]
    pictures: Ints
    whitening: Arrays

    @property
    def shape(self) -> tuple[int, int]:
        length = sum(int(self.dataset.views[f].shape[1]) for f in self.features)
        basis = self.whitening.get("basis")
        return len(self.pictures), length if basis is None else int(basis.shape[1])

    def read(self, rows: Ints) -> Floats:
        views = _views(self.dataset, self.features, self.pictures[rows])
        return np.ascontiguousarray(whiten(concat_features(views), self.whitening), np.float32)


def fit_all(recipe: Recipe, dataset: Dataset) -> Fitted:
    """Return a recipe fitted to all pictures, wherever their rows are."""
    if not dataset.is_streamed:
        return fit(recipe, dataset)
    every = np.ones(len(dataset), np.bool_)
    return next(fit_streamed(recipe, dataset, [every], NoProgress()))


def _start(
    estimator: KernelRidge, features: Sequence[str], dataset: Dataset, pictures: Ints
) -> LandmarkRidge:
    """Return a ridge that has learned nothing yet, with landmarks among some pictures."""
    length = sum(int(dataset.views[f].shape[1]) for f in features)
    n_landmarks = landmarks_within(dataset.memory, len(dataset.terms), length)
    seed, many = estimator.random_state, len(features)
    kernel_name, factor = estimator.kernel, estimator.factor
    names = kernel_name if isinstance(kernel_name, tuple) else (kernel_name,) * many
    factors = factor if isinstance(factor, tuple) else (factor,) * many
    rows = _views(dataset, features, sample(pictures, _BANDWIDTH_ROWS, seed))
    kernel = MeanKernel.of(rows, names, factors=factors, statistic=estimator.statistic)
    landmarks = _views(dataset, features, sample(pictures, n_landmarks, seed))
    return LandmarkRidge(kernel, landmarks, len(dataset.terms))


def _views(dataset: Dataset, features: Sequence[str], rows: Ints) -> tuple[Floats, ...]:
    weighting = Weighting.of(None)
    return tuple(weighting(dataset.views[f].read(rows)) for f in features)


def _blocks(rows: Ints) -> Iterator[Ints]:
    for start in range(0, len(rows), _BLOCK):
        yield rows[start : start + _BLOCK]


def _most_judged(n_words: int) -> int:
    return max(_FEWEST_PICTURES, _MOST_CELLS // max(n_words, 1))
