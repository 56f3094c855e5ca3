"""Every public estimator with arrays, and data to fit it to, for tests that hold for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline import annotators, combiners, rankers, regions
from sightline.contracts import PersistentEstimator
from sightline.solvers.targets import query_set

RANDOM = np.random.default_rng(0)
N, D, WORDS = 24, 5, 3
GROUP = np.arange(N) % WORDS
X = (RANDOM.random((N, D)) + 2.0 * np.eye(D)[GROUP]).astype(np.float32)
Y = np.eye(WORDS, dtype=np.int64)[GROUP]
COUNTS = np.round(3 * X)
SIGNS = np.where(X[:, 0] > X[:, 1], 1, -1)
QUERY_IDS = np.arange(N) // 8
GRADES = (GROUP == 0).astype(np.int64)
LISTS = ([np.arange(N)] * WORDS, [word == GROUP for word in range(WORDS)])
QUERIES = query_set(
    [([word], np.flatnonzero(word == GROUP)) for word in range(WORDS)], np.ones(WORDS)
)
REGIONS = [np.eye(3)[[0, 1]], np.eye(3)[[0, 2]], np.eye(3)[[0, 1]], np.eye(3)[[2, 1]]] * 5
TAGS = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]] * 5)


@dataclass(frozen=True)
class Case:
    """An estimator, what it is fitted with, and what it says of the same data."""

    estimator: PersistentEstimator
    data: tuple[Any, ...]
    n_features: int
    answer: Callable[[Any], Any]

    @property
    def name(self) -> str:
        """Name of the class."""
        return type(self.estimator).__name__

    def fitted(self) -> Any:
        """Return a new estimator with the same parameters, fitted."""
        made: Any = type(self.estimator)(**self.estimator.get_params())
        return made.fit(*self.data)


def _words(estimator: PersistentEstimator, rows: Any = X) -> Case:
    return Case(estimator, (rows, Y), rows.shape[1], lambda e: e.decision_function(rows))


def _pairs(estimator: PersistentEstimator) -> Case:
    return Case(estimator, (X, SIGNS), D, lambda e: e.decision_function(X))


def _lists(estimator: PersistentEstimator) -> Case:
    return Case(estimator, (X, GRADES, QUERY_IDS), D, lambda e: e.decision_function(X))


def _sides(estimator: PersistentEstimator, data: tuple[Any, ...]) -> Case:
    return Case(estimator, data, WORDS, lambda e: e.decision_function(Y, X))


CASES = (
    _words(rankers.PAMIR(C=0.5, n_iter=500)),
    _words(rankers.WARP(C=0.5, n_iter=500)),
    _words(rankers.KernelPAMIR(C=0.5, n_iter=500, kernel="exponential")),
    _words(rankers.ThresholdPAMIR(C=0.5, n_iter=500)),
    _words(rankers.CaptionLSCMR(n_components=2, max_rounds=5)),
    _words(rankers.CaptionSSI(n_components=2, n_iter=500)),
    _words(rankers.CaptionCCA(n_components=2)),
    _words(rankers.CaptionConcepts(n_components=2)),
    _words(rankers.LogProduct(n_steps=5), X[:, :WORDS]),
    Case(
        rankers.CutOff(by="words", n_iter=500),
        (
            X[:, :WORDS],
            query_set([([w], np.flatnonzero(w == GROUP)) for w in range(WORDS)], np.ones(WORDS)),
        ),
        WORDS,
        lambda e: e.shown(X[:, 0], [0], [1.0]),
    ),
    _sides(rankers.LSCMR(n_components=2, max_rounds=5), (np.eye(WORDS), X, *LISTS)),
    _sides(rankers.SSI(n_components=2, n_iter=500), (np.eye(WORDS), X, *LISTS)),
    _sides(rankers.CCA(n_components=2, kappa=0.1), (Y, X)),
    _sides(rankers.SemanticMatching(q_strength=0.5), (Y, GROUP, X, GROUP)),
    _sides(rankers.ConceptMatching(n_concepts=3), (X, Y)),
    _words(annotators.KernelRidge(kernel="exponential", alpha=0.1)),
    _words(annotators.Neighbours(K=5)),
    _words(annotators.ConceptSVM(C=(1.0, 3.0))),
    _words(annotators.ConceptSVM(kernel="rbf", C=1.0)),
    _words(annotators.CMRM(beta=0.3), COUNTS),
    _words(annotators.CMTT(rank=3), COUNTS),
    _words(annotators.PLSA(n_aspects=4, n_iter=10), COUNTS),
    _pairs(combiners.OPR()),
    _pairs(combiners.OPARI(C=0.3, averaged=True)),
    _pairs(combiners.OPARII(C=0.3)),
    _pairs(combiners.OGDR(eta=0.1)),
    _pairs(combiners.AROW(r=2.0)),
    _pairs(combiners.SCW(C=0.5)),
    _pairs(combiners.RankSVM(C=0.5)),
    _pairs(combiners.Uniform()),
    _lists(combiners.BestSingle()),
    _lists(combiners.CoordinateAscent(n_restarts=1)),
    _lists(combiners.RankNet(n_epochs=3)),
    _lists(combiners.LambdaMART(n_trees=5)),
    Case(
        regions.RegionModel(n_scenes=1, C=10.0, max_iterations=5),
        (REGIONS, TAGS),
        3,
        lambda e: e.decision_function(REGIONS),
    ),
    Case(
        regions.ScoredRegionModel(n_scenes=1, max_iterations=5),
        (REGIONS, TAGS),
        3,
        lambda e: e.decision_function(REGIONS),
    ),
)
