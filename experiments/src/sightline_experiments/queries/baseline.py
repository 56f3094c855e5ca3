"""The baseline: scikit-learn's ridge for each word, combined by the sum of log probabilities.

It has the same pictures, words and features as the collection: each feature is L2-normalised, they
are put side by side, their columns centred or standardised. Features, scaling and alpha are chosen
on the collection's validation pictures. A score
becomes a probability by one logistic curve for all words, fitted to these pictures. Words that it
does not know are left out of a question; a word with a minus adds log(1 - p). Of the features,
"deep" are those of networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Floats, Ints
from sightline.collection import Collection
from sightline.collection.models.dataset import Dataset, as_view, load_dataset, split
from sightline.collection.models.queries import evaluation_queries, picture_counts
from sightline.errors import MissingExtra
from sightline.measures.many import measure_queries
from sightline.vectors import l2_normalize
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id
from sightline_experiments.experiment import Trial
from sightline_experiments.queries.evaluation import FIRST, Answer
from sightline_experiments.tuning import Choice, Search, Settings, tried

SEARCH = Search(
    {"features": "all", "scaling": "standardised", "alpha": 0.1},
    (
        tried("alpha", 0.001, 0.01, 0.03, 0.3, 1.0, 10.0),
        tried("features", "deep"),
        tried("scaling", "centred"),
        tried("alpha", 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    ),
)
_LEAST_LOG = -30.0


@dataclass(frozen=True, slots=True, eq=False)
class RidgeBaseline:
    """Log probabilities of words on the measured pictures.

    Attributes
    ----------
    ids : ndarray of int64
        The measured pictures.
    terms : ndarray of int64
        Words that were learned, ascending.
    log_p, log_not : ndarray
        Pictures by words.
    trials : list of Trial
        What was tried on validation pictures; `chosen` is the best.
    """

    ids: Ints
    terms: Ints
    log_p: Doubles
    log_not: Doubles
    trials: list[Trial]
    chosen: Trial

    def ask(self, text: str) -> Answer:
        """Answer a question as the search box would read it."""
        query = parse(text)
        have = self._columns([t.text for t in query.terms])
        lack = self._columns(query.excluded)
        if not len(have):
            return Answer(np.zeros(0, np.int64), np.zeros(0, np.int64))
        scores = self.log_p[:, have].sum(axis=1) + self.log_not[:, lack].sum(axis=1)
        order = self.ids[np.lexsort((self.ids, -scores))]
        return Answer(order, order[:FIRST])

    def _columns(self, words: Sequence[str]) -> Ints:
        terms = np.array([term_id(w) for w in words], np.int64)
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        known: Ints = at[self.terms[at] == terms]
        return known


def fit_baseline(collection: Collection, measured: Ints) -> RidgeBaseline:
    """Choose on the validation pictures of a collection, then fit to all of its tagged pictures."""
    measured = np.sort(measured)
    with collection.store_folder.reader() as reader:
        dataset = load_dataset(reader.snapshot)
        views = {f: as_view(reader.snapshot.rows(f, measured)) for f in dataset.views}
    held, validating = split(dataset)
    training, validation = dataset.only(~held & ~validating), dataset.only(validating)
    known: Bools = picture_counts(training.labels) > 0
    queries = evaluation_queries(validation.labels, np.ones(len(dataset.terms)), known)
    trials: list[Trial] = []

    def attempt(settings: Settings) -> tuple[Trial, tuple[float, float]]:
        scores = _scores(settings, training, validation.views)
        curve = _curve(scores, validation)
        value = measure_queries(_log_sigmoid(scores, curve), queries).mean_avgp
        trials.append(Trial(0, settings, value, 0.0))
        return trials[-1], curve

    choice: Choice[tuple[Trial, tuple[float, float]]] = Choice(SEARCH)
    chosen, curve = choice.best(attempt, lambda tried: tried[0].value, first=True)
    scores = _scores(chosen.settings, dataset, views)
    negated = (-curve[0], -curve[1])
    logs = _log_sigmoid(scores, curve), _log_sigmoid(scores, negated)
    return RidgeBaseline(measured, dataset.terms, *logs, trials, chosen)


def _scores(settings: Settings, training: Dataset, views: dict[str, Any]) -> Floats:
    """Fit ridge to training pictures, in the dual form, and score others."""
    try:
        from sklearn.kernel_ridge import KernelRidge
    except ImportError as e:
        raise MissingExtra.of("The baseline", "baselines") from e
    names = [f for f in views if settings["features"] == "all" or f.startswith("deep")]
    rows, others = (_side_by_side(v, names or list(views)) for v in (training.views, views))
    rows, others = _scaled(rows, others, settings["scaling"] == "standardised")
    Y = np.asarray(training.labels.todense(), np.float64)
    share = Y.mean(axis=0)
    ridge = KernelRidge(alpha=float(str(settings["alpha"])), kernel="precomputed")
    ridge.fit(rows @ rows.T, Y - share)
    return np.asarray(ridge.predict(others @ rows.T) + share, np.float32)


def _side_by_side(views: dict[str, Any], names: Sequence[str]) -> Floats:
    dense = (v.toarray() if hasattr(v, "tocsr") else v for v in (views[n] for n in names))
    return np.hstack([l2_normalize(np.asarray(v, np.float32)) for v in dense])


def _scaled(rows: Floats, others: Floats, standardised: bool) -> tuple[Floats, Floats]:
    """Centre columns, and standardise them if asked for; the mean squared norm becomes 1."""
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0) if standardised else np.ones_like(spread)
    both = [(x - mean) / unit for x in (rows, others)]
    norm = np.sqrt(np.square(both[0]).sum(axis=1).mean()) or np.float32(1.0)
    return both[0] / norm, both[1] / norm


def _curve(scores: Floats, validation: Dataset) -> tuple[float, float]:
    """Return slope and offset of the logistic curve from scores to probabilities."""
    from sklearn.linear_model import LogisticRegression

    tagged = np.asarray(validation.labels.todense()).reshape(-1) > 0
    fitted = LogisticRegression(C=1e6).fit(scores.reshape(-1, 1), tagged)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def _log_sigmoid(scores: Floats, curve: tuple[float, float]) -> Doubles:
    x = scores.astype(np.float64) * curve[0] + curve[1]
    return np.maximum(-np.logaddexp(0.0, -x), _LEAST_LOG)
