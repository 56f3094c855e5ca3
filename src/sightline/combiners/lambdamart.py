"""LambdaMART: boosted trees with gradients weighted by the NDCG change of a swap.

    lambda_ij = |delta NDCG_ij| / (1 + exp(s_i - s_j))        leaf = sum lambda / sum of its
    derivatives

(Wu, Burges, Svore and Gao, "Adapting boosting for information retrieval measures", 2010), by
LightGBM, with the parameters of RankLib. Paper D's strongest batch baseline, and the only one that
is neither linear nor smooth. Needs the extra `baselines`.

One thread and LightGBM's deterministic mode, so that the same seed gives the same trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats
from sightline.combiners.examples import JudgedLists, Source, judging, lists
from sightline.combiners.linear import Combiner, positive, whole_number
from sightline.errors import DataError, MissingExtra

# The longest list that LightGBM accepts.
_LONGEST = 10_000
_BLOCK = 1 << 18


class LambdaMART(Combiner):
    """Boosted trees over phi.

    Parameters
    ----------
    n_trees : int, default=1000
        The most trees.
    n_leaves : int, default=10
        Leaves of a tree.
    rate : float, default=0.1
        Learning rate, the factor of a tree's leaves.
    n_thresholds : int, default=256
        Values of a component at which a tree may split.
    min_leaf : int, default=1
        The fewest rows of a leaf.
    patience : int, default=100
        Training ends after this many trees without a better mean AvgP of validation lists.
    random_state : int, default=0
        Seed.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        LightGBM's model.
    n_trees_ : int
        Trees that score; the best number on validation lists where there are any.
    """

    def __init__(
        self,
        *,
        n_trees: int = 1000,
        n_leaves: int = 10,
        rate: float = 0.1,
        n_thresholds: int = 256,
        min_leaf: int = 1,
        patience: int = 100,
        random_state: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.rate = rate
        self.n_thresholds = n_thresholds
        self.min_leaf = min_leaf
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        source: Source | None = None,
        validation: tuple[Any, Any, Any] | None = None,
    ) -> Self:
        """Learn from lists, or triplets of pictures; `validation` is (X, y, qid) to stop by.

        Relevance must be whole numbers; below 0 counts as 0.
        """
        settings = self._settings()
        boosting = _lightgbm()
        training = lists(X, y, qid, source, "LambdaMART")
        data = self._data(boosting, training)
        judge = judging(validation, "LambdaMART")
        after: list[Any] = []
        sets: list[Any] = []
        if judge is not None:
            sets = [self._data(boosting, judge, data)]
            after = [boosting.early_stopping(self.patience, verbose=False)]
        self.booster_ = boosting.train(
            settings,
            data,
            num_boost_round=self.n_trees,
            valid_sets=sets,
            callbacks=after,
            feval=None if judge is None else self._measure(judge),
        )
        best = int(self.booster_.best_iteration)
        self.n_trees_ = best if best > 0 else int(self.booster_.num_trees())
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of components that phi had in `fit`."""
        return int(self.booster_.num_feature())

    def decision_function(self, phi: Any) -> Floats:
        """Return scores of shape (…,) for phi of shape (…, components)."""
        self._check_fitted()
        rows = self._rows(phi, self.n_features_in_)
        if not np.isfinite(rows).all():
            raise DataError("phi holds numbers that are not finite, so pictures cannot be ranked.")
        flat = np.ascontiguousarray(rows.reshape(-1, rows.shape[-1]))
        out = np.zeros(len(flat), dtype=np.float32)
        for begin in range(0, len(flat), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            out[part] = self.booster_.predict(
                flat[part], num_iteration=self.n_trees_, num_threads=1
            )
        return out.reshape(rows.shape[:-1])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs: the trees as LightGBM writes them, as bytes."""
        self._check_fitted()
        text = self.booster_.model_to_string(num_iteration=self.n_trees_)
        return {"trees": np.frombuffer(text.encode(), np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return fitted trees, with default parameters."""
        ranker = cls()
        ranker.booster_ = _lightgbm().Booster(model_str=arrays["trees"].tobytes().decode())
        ranker.n_trees_ = int(ranker.booster_.num_trees())
        return ranker

    def _settings(self) -> dict[str, Any]:
        for name in ("n_trees", "min_leaf", "patience"):
            whole_number(name, getattr(self, name), "LambdaMART")
        for name in ("n_leaves", "n_thresholds"):
            whole_number(name, getattr(self, name), "LambdaMART", 2)
        return {
            "objective": "lambdarank",
            "metric": "None",
            "num_leaves": self.n_leaves,
            "learning_rate": positive("rate", self.rate, "LambdaMART"),
            "max_bin": self.n_thresholds,
            "min_data_in_leaf": self.min_leaf,
            # At 0, LightGBM may find a split that leaves one side empty, and stop with an error.
            "min_sum_hessian_in_leaf": 1e-3,
            "seed": int(self.random_state),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }

    def _data(self, boosting: Any, judged: JudgedLists, reference: Any = None) -> Any:
        grades = np.maximum(judged.relevance, 0.0)
        if (grades != np.floor(grades)).any():
            wrong = grades[grades != np.floor(grades)][0]
            raise DataError(f"LambdaMART needs relevance in whole numbers. Got {wrong:g}.")
        sizes = np.diff(judged.start)
        if sizes.max() > _LONGEST:
            raise DataError(
                f"LambdaMART takes lists of at most {_LONGEST:,} pictures. Got {sizes.max():,}. "
                "Draw a sample of the pictures that are not relevant."
            )
        return boosting.Dataset(
            judged.rows, label=grades, group=sizes, reference=reference, free_raw_data=False
        )

    def _measure(self, judge: JudgedLists) -> Any:
        def mean_avgp(scores: NDArray[Any], data: Any) -> tuple[str, float, bool]:
            return "mean AvgP", judge.mean_avgp(scores), True

        return mean_avgp


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as e:
        raise MissingExtra.of("LambdaMART", "baselines") from e
    return lightgbm
