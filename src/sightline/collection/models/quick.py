"""The quick model: kernel ridge of one Gram matrix, without a trial for every choice.

All fits compare the same pictures by the same rows, so their kernel is computed once, and each fit
is one Cholesky factor of some of its rows and columns: without validation and held-out pictures to
choose, without held-out ones as the proof, and of the whole to serve. A factor also gives the
scores that each picture would get if it had been left out (`annotators._cholesky`). By these are
chosen the features, on a sample of pictures, and the strength alpha; on validation pictures the way
to combine words, a ranking loss on top (`rankers.log_product`), and the cut-off. Held-out pictures
take part in none of it, nor in bandwidths or weights of visual words, which the served fit shares
with the proof.

Of more pictures than `MOST_EXACT`, a sample chooses, and both fits are made by landmarks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Bools, Floats, Ints
from sightline.annotators._alpha import best_alpha, sample
from sightline.annotators._cholesky import Factored
from sightline.annotators._smoothers import Decomposed
from sightline.annotators.ridge import KernelRidge
from sightline.collection.models.dataset import Dataset, View, Weighting, split
from sightline.collection.models.landmarks import LANDMARKS, LandmarksOf
from sightline.collection.models.memory import gigabytes
from sightline.collection.models.probabilities import CROSS_FITTED, fit_combination, with_curves
from sightline.collection.models.queries import at_most, combined, picture_counts
from sightline.collection.models.recipe import Fitted, Recipe
from sightline.collection.models.registry import bytes_free, stage_arrays
from sightline.collection.models.selection import (
    Selection,
    candidates,
    fit_cutoff,
    sorted_results,
)
from sightline.collection.models.trials import SelectionTask, TrialResult
from sightline.collection.models.word_model import KnownScores
from sightline.contracts import Progress
from sightline.errors import UsageError
from sightline.measures.many import ManyMeasured, measure_queries
from sightline.rankers.log_product import LogProduct
from sightline.registry import RANKERS
from sightline.similarity.grams import MOST_PICTURES
from sightline.similarity.kernels import MeanKernel
from sightline.similarity.serialization import rows_to_arrays
from sightline.similarity.unit_rows import unit_gram, unit_kernel
from sightline.words.combination import WAYS, Combination

RANKER, STACKED = "ridge", "log-product"
# The largest sample that a ranking loss is tried on: pictures, and pictures times words.
_STAGE_PICTURES, _STAGE_CELLS = 2_500, 1 << 21
# The most pictures of which the proof, which has four fifths of them, needs no landmarks.
MOST_EXACT = MOST_PICTURES * 5 // 4
# The sample that sets of features are compared on: pictures, and queries of frequent words.
_COMPARED_ON, _COMPARED_BY = 1_000, 1_000
# The number of queries that the cut-off is fitted to.
_CUT_BY = 1_500
# How alpha is chosen: the number of words, the step and the largest power of ten.
_ALPHA_WORDS, _STEP, _MOST_POWER = 300, 0.25, 6.0
_KERNEL, _FACTOR, _ALPHA = "rbf", 0.7, 0.1
_TIMED, _MARKS, _BANDWIDTH_BY = 16, 16, 1_000
_BLOCK = 512


@dataclass(frozen=True, slots=True, eq=False)
class QuickModel:
    """What was chosen, the proof, and how the served fit is made.

    Attributes
    ----------
    selection : Selection
        The recipe, the way to combine words, the cut-off and the figures of what was compared.
    proof : Fitted or None
        Fitted without the held-out pictures; None where landmarks are needed.
    held_out : ndarray of float32 or None
        Scores of the held-out pictures by the proof.
    serve : callable or None
        Returns the recipe fitted to everything, and its scores of the pictures it was fitted to.
    """

    selection: Selection
    proof: Fitted | None = None
    held_out: Floats | None = None
    serve: Callable[[], tuple[Fitted, KnownScores]] | None = None


def quick_model(
    dataset: Dataset, features: Sequence[str] | None, progress: Progress
) -> QuickModel | None:
    """Choose and fit the quick model; None where too few validation pictures have words.

    Dense rows of the dataset are L2-normalised in place.
    """
    _check_memory(dataset, features)
    held, validating = split(dataset)
    rows = np.arange(len(dataset))
    if len(dataset) > MOST_EXACT:
        rows = sample(np.flatnonzero(~held), MOST_PICTURES, 0)
    bare = replace(dataset, views={}).only(rows)
    proof, validating = ~held[rows], validating[rows]
    known = picture_counts(bare.labels[proof & ~validating]) > 0
    if not known.any():
        return None
    task = SelectionTask.of(bare.only(proof & ~validating), bare.only(validating), known)
    if not len(task.queries):
        return None
    views = dataset.views if len(rows) == len(dataset) else dataset.only(rows).views
    sets = list(dict.fromkeys(r.features for r in candidates(dataset, [RANKER], features)))
    progress.start("choose", len(sets) + 1)
    rows_of = _WeightedRows.of(views, sets, proof)
    chosen, start, compared = _best_set(rows_of, bare, proof, sets, progress)
    gram = _SharedGram(rows_of, chosen, bare.labels, proof, start)
    selection = _settled(gram, task, validating, compared)
    progress.advance()
    progress.finish()
    if len(rows) < len(dataset):
        return QuickModel(selection)
    recipe = selection.recipe
    proof_fit = gram.proof_fit.fitted(recipe, gram)

    def serve() -> tuple[Fitted, KnownScores]:
        fit = gram.whole()
        return fit.fitted(recipe, gram), fit.known(dataset.ids, gram)

    return QuickModel(selection, proof_fit, gram.held_out(), serve)


def _check_memory(dataset: Dataset, features: Sequence[str] | None) -> None:
    """Raise if the machine cannot give what the fits take, and say how much that is."""
    n, n_words = min(len(dataset), MOST_EXACT), len(dataset.terms)
    lengths = (v.shape[1] for f, v in dataset.views.items() if features is None or f in features)
    # Two square tables, coefficients and left-out scores of both fits, and landmarks as they are
    # written.
    needed = 4 * n * (2 * n + 4 * n_words + sum(lengths))
    free = bytes_free()
    if needed > free:
        raise UsageError(
            f"Training on {len(dataset)} pictures with {n_words} words needs about "
            f"{gigabytes(needed)} of memory, and {gigabytes(free)} are free. Close other programs, "
            "or train on fewer features: sightline train --features NAME"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _WeightedRows:
    """Rows as the kernel takes them, and how they were weighted, by the pictures of the proof."""

    views: dict[str, View]
    weightings: dict[str, Weighting]
    kernels: dict[str, MeanKernel]

    @classmethod
    def of(
        cls, views: dict[str, View], sets: Sequence[tuple[str, ...]], proof: Bools
    ) -> _WeightedRows:
        needed = list(dict.fromkeys(f for features in sets for f in features))
        weightings, kernels = {}, {}
        for f in needed:
            at = np.flatnonzero(proof)
            sparse = hasattr(views[f], "tocsr")
            weightings[f] = Weighting.of(views[f][at] if sparse else views[f][:0])
            views[f] = _weighted(views[f], weightings[f])
            # The bandwidth is that of a sample, so the others need not be gathered.
            few = sample(at, _BANDWIDTH_BY, 0)
            kernels[f] = MeanKernel.of((views[f][few],), (_KERNEL,), factors=(_FACTOR,))
        return cls(views, weightings, kernels)

    def kernel(self, features: Sequence[str]) -> MeanKernel:
        """Return the mean kernel of some features."""
        n = len(features)
        bandwidths = tuple(self.kernels[f].bandwidths[0] for f in features)
        return MeanKernel((_KERNEL,) * n, bandwidths, (1.0 / n,) * n)

    def cost(self, features: Sequence[str], landmarks: Ints, n_words: int) -> tuple[float, int]:
        """Return milliseconds to score 1,000 pictures for one word, and bytes the model takes."""
        few = landmarks[:_TIMED]
        views = self.some(features)
        begun = time.perf_counter()
        for view, kernel in zip(views, (self.kernels[f] for f in features), strict=True):
            unit_kernel(kernel, (view[few],), (view,))
        seconds = (time.perf_counter() - begun) * len(landmarks) / max(views[0].shape[0], 1)
        numbers = sum(int(v.nnz if hasattr(v, "tocsr") else v.size) for v in views)
        share = len(landmarks) / max(views[0].shape[0], 1)
        memory = 4 * int(numbers * share + len(landmarks) * n_words)
        return 1e6 * seconds / max(len(few), 1), memory

    def some(self, features: Sequence[str], rows: Ints | None = None) -> tuple[View, ...]:
        """Return the rows of some features, of some pictures or of all."""
        return tuple(self.views[f] if rows is None else self.views[f][rows] for f in features)


def _weighted(view: View, weighting: Weighting) -> View:
    """Return weighted rows; dense ones are written over, since nothing else needs them."""
    if hasattr(view, "tocsr") or not view.flags.writeable:
        return weighting(view)
    for start in range(0, len(view), _BLOCK):
        view[start : start + _BLOCK] = weighting(view[start : start + _BLOCK])
    return view


def _best_set(
    rows_of: _WeightedRows,
    bare: Dataset,
    proof: Bools,
    sets: Sequence[tuple[str, ...]],
    progress: Progress,
) -> tuple[tuple[str, ...], float, list[TrialResult]]:
    """Return the features whose left-out scores rank a sample of pictures best, and their alpha."""
    at = sample(np.flatnonzero(proof), _COMPARED_ON, 0)
    some = bare.only(at)
    known = picture_counts(some.labels)
    task = SelectionTask.of(some, some, known >= max(2, np.sort(known)[-_ALPHA_WORDS:][0]))
    task = replace(task, queries=at_most(task.queries, _COMPARED_BY))
    words = np.unique(task.queries.term)
    if not len(words):
        return sets[-1], _ALPHA, []
    Y = _dense(some.labels[:, words])
    needed = {f for features in sets for f in features}
    parts = {f: unit_gram(rows_of.kernel([f]), rows_of.some([f], at)) for f in sorted(needed)}
    compared, strengths = [], []
    for features in sets:
        begun = time.perf_counter()
        K: Floats = np.asarray(np.mean([parts[f] for f in features], axis=0, dtype=np.float32))
        ridge = Decomposed(K, Y)
        strengths.append(best_alpha(ridge, 1.0, "error", 0))
        scores = np.zeros((len(at), len(bare.terms)), np.float32)
        scores[:, words] = ridge.left_out(strengths[-1])
        combination = Combination("average").fit(scores)
        measured = measure_queries(
            combination.rows(scores), combined(task.queries, combination, task.idf)
        )
        seconds = time.perf_counter() - begun
        cost = rows_of.cost(features, at, len(words))
        recipe = _recipe(features, strengths[-1])
        compared.append(_result(recipe, "average", measured, seconds, cost, len(at)))
        progress.advance()
    best = max(range(len(sets)), key=lambda i: compared[i].avgp)
    return sets[best], strengths[best], compared if len(sets) > 1 else []


def _recipe(features: Sequence[str], alpha: float) -> Recipe:
    settings = {**RANKERS[RANKER].grid[0], "alpha": float(alpha)}
    return Recipe(RANKER, tuple(features), tuple(sorted(settings.items())))


def _result(
    recipe: Recipe,
    how: str,
    measured: ManyMeasured,
    seconds: float,
    cost: tuple[float, int],
    pictures: int,
) -> TrialResult:
    figures = measured.mean_avgp, float(np.nanmean(measured.p10)), float(np.nanmean(measured.bep))
    return TrialResult(recipe, how, *figures, seconds, *cost, pictures)


class _SharedGram:
    """The kernel of all pictures by the chosen features, and the fits it gives."""

    def __init__(
        self,
        rows_of: _WeightedRows,
        features: tuple[str, ...],
        labels: Any,
        proof: Bools,
        start: float,
    ) -> None:
        self.rows_of, self.features, self.labels = rows_of, features, labels
        self.stage: LogProduct | None = None
        self.proof = np.flatnonzero(proof)
        self.others = np.flatnonzero(~proof)
        self.kernel = rows_of.kernel(features)
        self.K = unit_gram(self.kernel, rows_of.some(features))
        self.alpha = start

    def fit(self, at: Ints) -> _GramFit:
        """Return the fit to the pictures at some positions."""
        factored = Factored(self.K[np.ix_(at, at)], self.alpha)
        return _GramFit.of(factored, self.labels[at], at)

    @cached_property
    def proof_fit(self) -> _GramFit:
        """The fit without the held-out pictures."""
        return self.fit(self.proof)

    def held_out(self) -> Floats:
        """Return scores of the held-out pictures by the proof."""
        scores = self.K[np.ix_(self.others, self.proof)] @ self.proof_fit.dual
        return scores if self.stage is None else self.stage.decision_function(scores)

    def whole(self) -> _GramFit:
        """Return the fit to everything; neither kernel nor proof are needed any more."""
        self.__dict__.pop("proof_fit", None)
        K, self.K = self.K, np.zeros((0, 0), np.float32)
        return _GramFit.of(Factored(K, self.alpha), self.labels, np.arange(len(K)))


@dataclass(frozen=True, slots=True, eq=False)
class _GramFit:
    """Coefficients of all words, and left-out scores, of the pictures at some positions."""

    alpha: float
    dual: Floats
    unseen: Floats
    positions: Ints

    @classmethod
    def of(cls, factored: Factored, labels: Any, positions: Ints) -> _GramFit:
        """Return the fit of one factor to labels, made dense for a block of words at a time."""
        dual = np.empty(labels.shape, np.float32, order="F")
        columns = labels.tocsc()
        for start in range(0, labels.shape[1], _BLOCK):
            words = slice(start, start + _BLOCK)
            dual[:, words] = factored.coefficients(_dense(columns[:, words]))
        unseen = np.asarray(dual / (-factored.remainder())[:, None], np.float32)
        cells = labels.tocoo()
        unseen[cells.row, cells.col] += 1.0
        return cls(factored.alpha, dual, unseen, positions)

    def fitted(self, recipe: Recipe, gram: _SharedGram) -> Fitted:
        """Return it as a fitted recipe."""
        views = gram.rows_of.some(gram.features)
        is_whole = len(self.positions) == gram.labels.shape[0]
        own = KernelRidge.of_coefficients(gram.kernel, views if is_whole else (), self.dual)
        arrays: Mapping[str, NDArray[Any]] = own.to_arrays() | stage_arrays(gram.stage)
        if not is_whole:
            whole: Arrays = {}
            for i, rows in enumerate(views):
                whole |= rows_to_arrays(f"{LANDMARKS}{i}", rows)
            sparse = _sparse(views, self.positions)
            arrays = LandmarksOf({**arrays, **sparse}, whole, self.positions)
        weightings = tuple(gram.rows_of.weightings[f] for f in gram.features)
        if gram.stage is None:
            return Fitted(recipe, weightings, arrays, lambda: self.unseen)
        stage = gram.stage

        def unseen() -> Floats:
            return stage.decision_function(self.unseen)

        return Fitted(recipe, weightings, arrays, unseen, lambda: self.unseen)

    def known(self, ids: Ints, gram: _SharedGram) -> KnownScores:
        """Return the scores of the pictures it was fitted to: K c = y - alpha c."""
        columns = gram.labels.tocsc()

        def scores(rows: Ints, words: Ints) -> Floats:
            if gram.stage is not None:
                every = np.arange(columns.shape[1])
                return gram.stage.decision_function(of_ridge(rows, every), words)
            return of_ridge(rows, words)

        def of_ridge(rows: Ints, words: Ints) -> Floats:
            targets = _dense(columns[:, words][rows])
            targets -= np.float32(self.alpha) * self.dual[np.ix_(rows, words)]
            return targets

        dense = [f for f in gram.features if not hasattr(gram.rows_of.views[f], "tocsr")]
        shortest = min(dense, key=lambda f: gram.rows_of.views[f].shape[1], default="")
        rows = gram.rows_of.views[shortest][:, :_MARKS].copy() if shortest else None
        return KnownScores(ids, scores, shortest, rows)


def _sparse(views: Sequence[View], positions: Ints) -> Arrays:
    """Return the sparse landmarks at some positions: only dense ones are rows of one array."""
    arrays: Arrays = {}
    for i, rows in enumerate(views):
        if hasattr(rows, "tocsr"):
            arrays |= rows_to_arrays(f"{LANDMARKS}{i}", rows[positions])
    return arrays


def _dense(table: Any) -> Floats:
    return np.asarray(table.toarray(order="F"), np.float32, order="F")


def _best_alpha(K: Floats, labels: Any, start: float) -> float:
    """Return the strength whose left-out scores of some words have the least squared error.

    It climbs from that of a sample by quarter powers of ten; each takes a factor.
    """
    counts = picture_counts(labels)
    usable = np.flatnonzero((counts > 1) & (counts < len(K)))
    words = sample(usable if len(usable) else np.arange(len(counts)), _ALPHA_WORDS, 0)
    Y = _dense(labels[:, words])

    @cache
    def error(power: float) -> float:
        factored = Factored(K, 10.0**power)
        off = factored.coefficients(Y) / factored.remainder().astype(np.float32)[:, None]
        return float(np.square(off).mean(dtype=np.float64))

    best = float(np.log10(start))
    for step in (_STEP, -_STEP):
        while abs(best + step) <= _MOST_POWER and error(best + step) < error(best):
            best += step
    return float(10.0**best)


def _settled(
    gram: _SharedGram, task: SelectionTask, validating: Bools, compared: Sequence[TrialResult]
) -> Selection:
    """Choose alpha, and how words are combined, by validation pictures."""
    begun = time.perf_counter()
    rest = np.flatnonzero(~validating & np.isin(np.arange(len(validating)), gram.proof))
    K = gram.K[np.ix_(rest, rest)]
    gram.alpha = _best_alpha(K, gram.labels[rest], gram.alpha)
    fit = _GramFit.of(Factored(K, gram.alpha), gram.labels[rest], rest)
    scores = gram.K[np.ix_(np.flatnonzero(validating), rest)] @ fit.dual
    seconds = time.perf_counter() - begun
    recipe, others = _recipe(gram.features, gram.alpha), fit.unseen
    cost = gram.rows_of.cost(gram.features, rest, others.shape[1])
    table, ways = [], []
    for how in WAYS:
        combination = fit_combination(how, others, task.training).fill_flat()
        rows = combination.rows(scores)
        queries = combined(task.queries, combination, task.idf)
        measured = measure_queries(rows, queries)
        table.append(_result(recipe, how, measured, seconds, cost, len(fit.positions)))
        ways.append(combination)
    best = max(range(len(table)), key=lambda i: table[i].avgp)
    combination, stage = ways[best], _stage(others, task)
    if stage is not None:
        logits = stage.decision_function(scores)
        product = Combination.of_logits(logits.shape[1])
        queries = combined(task.queries, product, task.idf)
        measured = measure_queries(product.rows(logits), queries)
        stacked = replace(recipe, ranker=STACKED)
        seconds = time.perf_counter() - begun
        table.append(_result(stacked, "product", measured, seconds, cost, len(fit.positions)))
        if table[-1].avgp > table[best].avgp:
            gram.stage, recipe, scores = stage, stacked, logits
            combination = with_curves(product, logits, task.validation, left_out=False)
    few = replace(task, queries=at_most(task.queries, _CUT_BY))
    cutoff = fit_cutoff(combination, combination.rows(scores), few)
    return Selection(recipe, combination, cutoff, sorted_results([*table, *compared]))


def _stage(unseen: Floats, task: SelectionTask) -> LogProduct | None:
    """Return the ranking loss fitted to left-out scores of some training pictures.

    It serves the proof and what is served, whose left-out scores have the same scale. None where
    there are too few pictures to calibrate it by others, or too many words, which would take
    longer than all the rest.
    """
    n = min(_STAGE_PICTURES, _STAGE_CELLS // unseen.shape[1])
    if len(unseen) <= CROSS_FITTED or n < CROSS_FITTED:
        return None
    rows = sample(np.arange(len(unseen)), n, 0)
    stage = LogProduct(max_len=2, most_queries=3_000, n_steps=50, batch=256)
    return stage.fit(unseen[rows], task.training.labels[rows])
