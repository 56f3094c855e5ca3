"""The methods that are compared, each behind the same two functions: fit, and score.

Each is fitted to a split with settings: `view` (or `block` and `terms`) and `weighting` name its
input from the pool (`inputs`), `how` the combination of the scores of a query's words if that is
open, and the rest are parameters of the estimator. The five of the paper combine as in the paper:
PAMIR, CMRM, CMTT and PLSA by the product of the query vector with the words' scores, SVM by the
mean of normalised scores. PAMIR and SVM with a `kernel` have a weight for each picture, else for
each feature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from sightline._typing import Floats
from sightline.contracts import Json
from sightline.errors import DataError
from sightline.measures.many import query_scores
from sightline.records import QuerySet
from sightline.words.combination import WAYS, Combination, How
from sightline_experiments.extraction import View
from sightline_experiments.pamir.inputs import InputScaling, Views, joined, parts_of, view_of
from sightline_experiments.pamir.protocol import Scorer, Split

Settings = Mapping[str, Json]
INPUT_SETTINGS = ("view", "block", "terms", "weighting", "how")


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the tables: its name, and the function that fits it."""

    name: str
    fit: Callable[[Split, Settings], Scorer]


def weighted_sum(words: Floats, queries: QuerySet) -> Floats:
    """Return the product of query vectors with word scores, (queries, pictures)."""
    parts = [part.copy() for _, part in query_scores(words, queries)]
    return np.concatenate([*parts, np.zeros((0, len(words)), np.float32)])


def normalised_mean(words: Floats, queries: QuerySet) -> Floats:
    """Return the mean of word scores whose mean and spread over these pictures are 0 and 1."""
    return _combined(Combination("average").fit(words))(words, queries)


def _combined(combination: Combination) -> Callable[[Floats, QuerySet], Floats]:
    def combine(words: Floats, queries: QuerySet) -> Floats:
        lengths = np.diff(queries.start)
        weight = np.ones(len(queries.term), np.float32)
        if combination.how == "average":
            weight = (1 / np.repeat(np.maximum(lengths, 1), lengths)).astype(np.float32)
        elif combination.how == "sum":
            weight = queries.weight
        return weighted_sum(combination.rows(words), replace(queries, weight=weight))

    return combine


def _combiner(
    settings: Settings, held_out_scores: Floats, labels: Any
) -> Callable[[Floats, QuerySet], Floats]:
    """Return a combination of words, fitted to scores of held-out pictures."""
    how: How = next((way for way in WAYS if way == settings.get("how")), "product")
    return _combined(Combination(how).fit(held_out_scores, labels).fill_flat())


@dataclass(frozen=True, slots=True, eq=False)
class MethodInputs:
    """The input of a method: training and held-out pictures."""

    scaling: InputScaling
    train: tuple[View, ...]
    held: tuple[View, ...]

    def joined(self) -> tuple[View, View]:
        """Return the training and the validation pictures, parts side by side."""
        return joined(self.train), joined(self.held)


@lru_cache(2)
def _weighted_inputs(split: Split, view: str, weighting: str) -> MethodInputs:
    # Settings of a method with the same input are tried in turn, and whitening is slow.
    scaling = InputScaling.of(split.train.views, view, weighting)
    return MethodInputs(
        scaling, scaling.each(split.train.views), scaling.each(split.validation.views)
    )


def method_inputs(split: Split, settings: Settings, weighting: str = "") -> MethodInputs:
    weighting_name = str(settings.get("weighting", weighting))
    return _weighted_inputs(split, view_of(settings), weighting_name)


def _learner_parameters(settings: Settings) -> dict[str, Any]:
    """Return the estimator's parameters among the settings; lists of JSON become tuples."""
    parameters = {k: v for k, v in settings.items() if k not in INPUT_SETTINGS}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()}


def fit_pamir(split: Split, settings: Settings) -> Scorer:
    """Fit PAMIR to the training queries, and stop by the validation queries."""
    from sightline.rankers.pamir import PAMIR

    if "kernel" in settings:
        return fit_kernel_pamir(split, settings)
    return _ranking(
        PAMIR(**_learner_parameters(settings), random_state=split.number), split, settings
    )


def fit_warp(split: Split, settings: Settings) -> Scorer:
    """Fit WARP to the training queries, and stop by the validation queries."""
    from sightline.rankers.warp import WARP

    return _ranking(
        WARP(**_learner_parameters(settings), random_state=split.number), split, settings
    )


def _ranking(ranker: Any, split: Split, settings: Settings) -> Scorer:
    inputs = method_inputs(split, settings)
    X, held = inputs.joined()
    ranker.fit(
        X,
        queries=split.train_queries,
        n_words=split.train.labels.shape[1],
        validation=(held, split.validation_queries),
    )
    details: dict[str, Json] = {"n_iter": int(ranker.best_iter_)}
    scaling = inputs.scaling
    return Scorer(lambda views: ranker.decision_function(scaling(views)), weighted_sum, details)


def fit_cmrm(split: Split, settings: Settings) -> Scorer:
    """Fit the cross-media relevance model to counts of visual terms."""
    from sightline.annotators.cmrm import CMRM

    return _counting(CMRM(**_learner_parameters(settings)), split, settings)


def fit_cmtt(split: Split, settings: Settings) -> Scorer:
    """Fit the cross-media translation table to counts of visual terms."""
    from sightline.annotators.cmtt import CMTT

    return _counting(CMTT(**_learner_parameters(settings)), split, settings)


def fit_plsa(split: Split, settings: Settings) -> Scorer:
    """Fit two-step PLSA to counts of visual terms."""
    from sightline.annotators.plsa import PLSA

    return _counting(
        PLSA(**_learner_parameters(settings), random_state=split.number), split, settings
    )


def _counting(model: Any, split: Split, settings: Settings) -> Scorer:
    inputs = method_inputs(split, settings, "counts")
    model.fit(inputs.joined()[0], split.train.labels)
    scaling = inputs.scaling
    return Scorer(lambda views: model.decision_function(scaling(views)), weighted_sum)


def fit_svm(split: Split, settings: Settings) -> Scorer:
    """Fit one SVM for each word, its C chosen on the validation pictures."""
    from sightline.annotators.concept_svm import ConceptSVM

    inputs = method_inputs(split, settings)
    scaling = inputs.scaling.each if "kernel" in settings else inputs.scaling
    X, held = (inputs.train, inputs.held) if "kernel" in settings else inputs.joined()
    model = ConceptSVM(**_learner_parameters(settings)).fit(
        X, split.train.labels, validation=(held, split.validation.labels)
    )
    return Scorer(lambda views: model.decision_function(scaling(views)), normalised_mean)


@lru_cache(3)
def _ridge(split: Split, view: str, weighting: str, parameters: tuple[tuple[str, Any], ...]) -> Any:
    # Cached, since the list-wise ranker is fitted to its scores.
    from sightline.annotators.ridge import KernelRidge

    return KernelRidge(**dict(parameters)).fit(
        _weighted_inputs(split, view, weighting).train, split.train.labels
    )


def _ridge_of(split: Split, settings: Settings, parameters: Mapping[str, Any]) -> Any:
    weighting_name = str(settings.get("weighting", ""))
    return _ridge(split, view_of(settings), weighting_name, tuple(sorted(parameters.items())))


def fit_ridge(split: Split, settings: Settings) -> Scorer:
    """Fit kernel ridge; the parts of a view have a kernel each."""
    model = _ridge_of(split, settings, _learner_parameters(settings))
    combine = _combiner(settings, model.leave_one_out_, split.train.labels)
    details: dict[str, Json] = {"alpha": float(model.alpha_)}
    scaling = method_inputs(split, settings).scaling
    return Scorer(lambda views: model.decision_function(scaling.each(views)), combine, details)


def fit_log_product(split: Split, settings: Settings) -> Scorer:
    """Fit the list-wise ranker of word products to kernel ridge's scores of left-out pictures."""
    from sightline.annotators.ridge import KernelRidge
    from sightline.rankers.log_product import LogProduct

    parameters = _learner_parameters(settings)
    ridge_parameters = {
        name: parameters.pop(name) for name in KernelRidge().get_params() if name in parameters
    }
    ridge = _ridge_of(split, settings, ridge_parameters)
    ranker = LogProduct(**parameters, random_state=split.number).fit(
        ridge.leave_one_out_, split.train.labels, queries=split.train_queries
    )
    scaling = method_inputs(split, settings).scaling

    def words(views: Views) -> Floats:
        logits = ranker.decision_function(ridge.decision_function(scaling.each(views)))
        return np.asarray(-np.logaddexp(0.0, -logits), np.float32)

    return Scorer(words, _sum, {"alpha": float(ridge.alpha_)})


def _sum(words: Floats, queries: QuerySet) -> Floats:
    return weighted_sum(words, replace(queries, weight=np.ones(len(queries.term), np.float32)))


def fit_neighbours(split: Split, settings: Settings) -> Scorer:
    """Fit weighted nearest neighbours; each part of a view has a distance."""
    from sightline.annotators.neighbours import Neighbours

    inputs = method_inputs(split, settings)
    model = Neighbours(**_learner_parameters(settings)).fit(inputs.train, split.train.labels)
    combine = _combiner(settings, model.leave_one_out_, split.train.labels)
    scaling = inputs.scaling
    return Scorer(lambda views: model.decision_function(scaling.each(views)), combine)


def fit_kernel_pamir(split: Split, settings: Settings) -> Scorer:
    """Fit PAMIR over training pictures; the parts of a view have a kernel each."""
    from sightline.rankers.kernel_pamir import KernelPAMIR

    inputs = method_inputs(split, settings)
    ranker = KernelPAMIR(**_learner_parameters(settings), random_state=split.number).fit(
        inputs.train,
        queries=split.train_queries,
        n_words=split.train.labels.shape[1],
        validation=(inputs.held, split.validation_queries),
    )
    details: dict[str, Json] = {"n_iter": int(vars(ranker)["best_iter_"])}
    scaling = inputs.scaling
    return Scorer(
        lambda views: ranker.decision_function(scaling.each(views)), weighted_sum, details
    )


def fit_trained(split: Split, settings: Settings) -> Scorer:
    """Let `sightline train` select ranker, features and combination, and fit them.

    As in a collection, they are fitted to all pictures, validation pictures too.
    """
    from sightline.collection.models import selection
    from sightline.collection.models.recipe import fit
    from sightline.collection.models.training import DEFAULT_RANKERS
    from sightline.progress import NoProgress

    view = view_of(settings)
    training, validation = (_sample(part, view) for part in (split.train, split.validation))
    able, _ = selection.trainable_rankers(training, DEFAULT_RANKERS)
    choice = selection.select_on(training, validation, able, None, NoProgress())
    if choice is None:
        raise DataError("The validation pictures ask for no word of the training pictures.")
    fitted = fit(choice.recipe, _together(training, validation))
    return Scorer(
        lambda views: fitted.scores(_named(views, view)),
        _combined(choice.combination),
        {"recipe": str(choice.recipe), "how": choice.combination.how},
    )


def _sample(part: Any, view: str) -> Any:
    from sightline.collection.models.dataset import Dataset

    terms = np.arange(part.labels.shape[1])
    return Dataset(np.arange(len(part)), terms, part.labels, _named(part.views, view))


def _together(a: Any, b: Any) -> Any:
    """Return the pictures of two samples as one."""
    from scipy.sparse import vstack

    from sightline.collection.models.dataset import Dataset

    def stacked(x: View, y: View) -> View:
        return vstack([x, y], format="csr") if hasattr(x, "tocsr") else np.vstack([x, y])

    views = {name: stacked(view, b.views[name]) for name, view in a.views.items()}
    return Dataset(np.arange(len(a) + len(b)), a.terms, stacked(a.labels, b.labels), views)


def _named(views: Views, view: str) -> dict[str, Any]:
    """Return the parts of a view under names that look like fingerprints."""
    return {f"{name}-0": views[name] for name in parts_of(view)}


METHODS = {
    m.name: m
    for m in (
        Method("PAMIR", fit_pamir),
        Method("SVM", fit_svm),
        Method("PLSA", fit_plsa),
        Method("CMTT", fit_cmtt),
        Method("CMRM", fit_cmrm),
        Method("kernel PAMIR", fit_kernel_pamir),
        Method("WARP", fit_warp),
        Method("neighbours", fit_neighbours),
        Method("kernel ridge", fit_ridge),
        Method("log-product", fit_log_product),
        Method("sightline train", fit_trained),
    )
}
PAPER = ("PAMIR", "SVM", "PLSA", "CMTT", "CMRM")
