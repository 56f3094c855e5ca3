"""The methods that are compared, each behind the same two functions: fit, and score.

Each is fitted to a split with settings: `view` (or `block` and `terms`) and `weighting` say what it
sees of the pool (`seeing`), `how` how it combines the scores of a query's words where that is open,
and the rest are the learner's own. The five of the paper combine as the paper says: PAMIR, CMRM,
CMTT and PLSA by the product of the query vector with the words' scores, SVM by the mean of
normalised scores. PAMIR and SVM with a `kernel` learn over pictures, else over features.
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
from sightline.words.combining import WAYS, Combination, How
from sightline_experiments.extraction import View
from sightline_experiments.pamir.inputs import InputScaling, Views, joined, parts_of, view_of
from sightline_experiments.pamir.protocol import Scorer, Split

Settings = Mapping[str, Json]
SEEN = ("view", "block", "terms", "weighting", "how")


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the tables: its name there, and how it is fitted."""

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
    settings: Settings, unseen: Floats, labels: Any
) -> Callable[[Floats, QuerySet], Floats]:
    """Return a way to combine words, fitted to scores of pictures the learner has not seen."""
    how: How = next((way for way in WAYS if way == settings.get("how")), "product")
    return _combined(Combination(how).fit(unseen, labels).fill_flat())


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What a method sees of a split."""

    see: InputScaling
    train: tuple[View, ...]
    held: tuple[View, ...]

    def joined(self) -> tuple[View, View]:
        """Return the training and the validation pictures, parts side by side."""
        return joined(self.train), joined(self.held)


@lru_cache(2)
def _weighted(split: Split, view: str, weighting: str) -> _Seen:
    # Settings of a method are tried one after the other on what they see, and whitening is slow.
    see = InputScaling.of(split.train.views, view, weighting)
    return _Seen(see, see.each(split.train.views), see.each(split.validation.views))


def _seen(split: Split, settings: Settings, weighting: str = "") -> _Seen:
    said = str(settings.get("weighting", weighting))
    return _weighted(split, view_of(settings), said)


def _own(settings: Settings) -> dict[str, Any]:
    """Return the learner's own settings; what JSON has as a list is a tuple to learners."""
    own = {k: v for k, v in settings.items() if k not in SEEN}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in own.items()}


def fit_pamir(split: Split, settings: Settings) -> Scorer:
    """Fit PAMIR to the training queries, and stop by the validation queries."""
    from sightline.rankers.pamir import PAMIR

    if "kernel" in settings:
        return fit_kernel_pamir(split, settings)
    return _ranking(PAMIR(**_own(settings), random_state=split.number), split, settings)


def fit_warp(split: Split, settings: Settings) -> Scorer:
    """Fit the ranker of the top of the list as PAMIR is fitted."""
    from sightline.rankers.warp import WARP

    return _ranking(WARP(**_own(settings), random_state=split.number), split, settings)


def _ranking(ranker: Any, split: Split, settings: Settings) -> Scorer:
    seen = _seen(split, settings)
    X, held = seen.joined()
    ranker.fit(
        X,
        queries=split.train_queries,
        n_words=split.train.labels.shape[1],
        validation=(held, split.validation_queries),
    )
    found: dict[str, Json] = {"n_iter": int(ranker.best_iter_)}
    see = seen.see
    return Scorer(lambda views: ranker.decision_function(see(views)), weighted_sum, found)


def fit_cmrm(split: Split, settings: Settings) -> Scorer:
    """Fit the cross-media relevance model to counts of visual terms."""
    from sightline.annotators.cmrm import CMRM

    return _counting(CMRM(**_own(settings)), split, settings)


def fit_cmtt(split: Split, settings: Settings) -> Scorer:
    """Fit the cross-media translation table to counts of visual terms."""
    from sightline.annotators.cmtt import CMTT

    return _counting(CMTT(**_own(settings)), split, settings)


def fit_plsa(split: Split, settings: Settings) -> Scorer:
    """Fit two-step PLSA to counts of visual terms."""
    from sightline.annotators.plsa import PLSA

    return _counting(PLSA(**_own(settings), random_state=split.number), split, settings)


def _counting(model: Any, split: Split, settings: Settings) -> Scorer:
    seen = _seen(split, settings, "counts")
    model.fit(seen.joined()[0], split.train.labels)
    see = seen.see
    return Scorer(lambda views: model.decision_function(see(views)), weighted_sum)


def fit_svm(split: Split, settings: Settings) -> Scorer:
    """Fit one SVM for each word, its C chosen on the validation pictures."""
    from sightline.annotators.concept_svm import ConceptSVM

    seen = _seen(split, settings)
    see = seen.see.each if "kernel" in settings else seen.see
    X, held = (seen.train, seen.held) if "kernel" in settings else seen.joined()
    model = ConceptSVM(**_own(settings)).fit(
        X, split.train.labels, validation=(held, split.validation.labels)
    )
    return Scorer(lambda views: model.decision_function(see(views)), normalised_mean)


@lru_cache(3)
def _ridge(split: Split, view: str, weighting: str, own: tuple[tuple[str, Any], ...]) -> Any:
    # The list-wise ranker begins where kernel ridge ends.
    from sightline.annotators.ridge import KernelRidge

    return KernelRidge(**dict(own)).fit(_weighted(split, view, weighting).train, split.train.labels)


def _ridge_of(split: Split, settings: Settings, own: Mapping[str, Any]) -> Any:
    said = str(settings.get("weighting", ""))
    return _ridge(split, view_of(settings), said, tuple(sorted(own.items())))


def fit_ridge(split: Split, settings: Settings) -> Scorer:
    """Fit kernel ridge; the parts of a view have a kernel each."""
    model = _ridge_of(split, settings, _own(settings))
    combine = _combiner(settings, model.leave_one_out_, split.train.labels)
    found: dict[str, Json] = {"alpha": float(model.alpha_)}
    see = _seen(split, settings).see
    return Scorer(lambda views: model.decision_function(see.each(views)), combine, found)


def fit_log_product(split: Split, settings: Settings) -> Scorer:
    """Fit the list-wise ranker of word products to kernel ridge's scores of left-out pictures."""
    from sightline.annotators.ridge import KernelRidge
    from sightline.rankers.log_product import LogProduct

    own = _own(settings)
    below = {name: own.pop(name) for name in KernelRidge().get_params() if name in own}
    ridge = _ridge_of(split, settings, below)
    ranker = LogProduct(**own, random_state=split.number).fit(
        ridge.leave_one_out_, split.train.labels, queries=split.train_queries
    )
    see = _seen(split, settings).see

    def words(views: Views) -> Floats:
        logits = ranker.decision_function(ridge.decision_function(see.each(views)))
        return np.asarray(-np.logaddexp(0.0, -logits), np.float32)

    return Scorer(words, _sum, {"alpha": float(ridge.alpha_)})


def _sum(words: Floats, queries: QuerySet) -> Floats:
    return weighted_sum(words, replace(queries, weight=np.ones(len(queries.term), np.float32)))


def fit_neighbours(split: Split, settings: Settings) -> Scorer:
    """Fit weighted nearest neighbours; each part of a view has a distance."""
    from sightline.annotators.neighbours import Neighbours

    seen = _seen(split, settings)
    model = Neighbours(**_own(settings)).fit(seen.train, split.train.labels)
    combine = _combiner(settings, model.leave_one_out_, split.train.labels)
    see = seen.see
    return Scorer(lambda views: model.decision_function(see.each(views)), combine)


def fit_kernel_pamir(split: Split, settings: Settings) -> Scorer:
    """Fit PAMIR over training pictures; the parts of a view have a kernel each."""
    from sightline.rankers.kernel_pamir import KernelPAMIR

    seen = _seen(split, settings)
    ranker = KernelPAMIR(**_own(settings), random_state=split.number).fit(
        seen.train,
        queries=split.train_queries,
        n_words=split.train.labels.shape[1],
        validation=(seen.held, split.validation_queries),
    )
    found: dict[str, Json] = {"n_iter": int(vars(ranker)["best_iter_"])}
    see = seen.see
    return Scorer(lambda views: ranker.decision_function(see.each(views)), weighted_sum, found)


def fit_trained(split: Split, settings: Settings) -> Scorer:
    """Let `sightline train` choose ranker, features and combination, and fit its choice.

    As it does in a collection, it fits the choice to all pictures it has, those it chose by too.
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
