"""The data of an experiment: training pairs, lists of candidates, validation pairs.

The paper's protocol draws 1,500 pairs for training, 500 for validation and 866 for test; each query
has 40 random candidates of the other kind, and those of its class are relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.rankers.low_rank import mean_avgp
from sightline_experiments.datasets.wikipedia import Pairs
from sightline_experiments.lscmr.inputs import Inputs
from sightline_experiments.lscmr.paper import PICTURE, TEXT

DIRECTIONS = (PICTURE, TEXT)
# Returned by a fitted method: scores of published rows, dense or sparse, (queries, documents).
Scorer = Callable[[Any, Any], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Training and validation pairs; only `evaluation` has the test pairs."""

    number: int
    train: Ints
    validation: Ints


def make_splits(n: int, sizes: tuple[int, int, int], number: int) -> tuple[list[Split], list[Ints]]:
    """Return random splits, and the test pairs of each.

    Parameters
    ----------
    n : number of pairs.
    sizes : of training, validation and test, together at most n.
    number : how many splits, seeded 0, 1, …
    """
    splits, tests = [], []
    train, n_validation, n_test = sizes
    for seed in range(number):
        order = np.random.default_rng(seed).permutation(n)
        parts = (
            order[:train],
            order[train : train + n_validation],
            order[train + n_validation :][:n_test],
        )
        splits.append(Split(seed, np.sort(parts[0]), np.sort(parts[1])))
        tests.append(np.sort(parts[2]))
    return splits, tests


def make_lists(
    q_classes: Ints, d_classes: Ints, n: int, seed: int
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return n candidates for each query, none twice, and which are of its class."""
    candidates = draw_candidates(len(q_classes), len(d_classes), n, seed)
    return candidates, d_classes[candidates] == q_classes[:, None]


def draw_candidates(n_queries: int, n_documents: int, n: int, seed: int) -> Ints:
    """Return n documents for each query, none twice, ascending; all where there are fewer."""
    n = min(n, n_documents)
    drawn = np.random.default_rng(seed).random((n_queries, n_documents))
    return np.sort(drawn.argpartition(n - 1, axis=1)[:, :n], axis=1).astype(np.int64)


def sides(pairs: Pairs, direction: str) -> tuple[Doubles, Doubles]:
    """Return the rows of queries and of documents."""
    both = pairs.pictures, pairs.texts
    return both if direction == PICTURE else both[::-1]


class LinearTask(Protocol):
    """What linear methods ask of one direction of a split, whatever its data."""

    @property
    def validation(self) -> object | None:
        """What is held out; None where what was chosen is fitted to all."""
        ...

    def training(self) -> tuple[Any, Any]:
        """Return training queries and documents as linear methods learn from them."""
        ...

    def seen(self, queries: Any, documents: Any) -> tuple[Any, Any]:
        """Return rows as linear methods see them."""
        ...

    def lists(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return candidates and relevance of a list for each training query."""
        ...

    def held_out(self) -> tuple[Any, Any, NDArray[np.bool_]]:
        """Return validation queries and documents as they are seen, and relevance."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One direction of one split.

    Attributes
    ----------
    number : of the split; it seeds the lists.
    train, validation : pairs; without validation pairs what was chosen is fitted to all.
    inputs : what all methods that are linear see of rows.
    n_candidates : of a list.
    memo : what methods found out of the training pairs, for all settings of both directions.
    """

    number: int
    direction: str
    train: Pairs
    validation: Pairs | None
    inputs: Inputs
    n_candidates: int
    memo: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def both(
        cls, number: int, train: Pairs, validation: Pairs | None, n_candidates: int
    ) -> list[Task]:
        """Return the tasks of both directions, with inputs fitted to the training pairs."""
        shared = train, validation, Inputs.of(train), n_candidates, dict[Any, Any]()
        return [cls(number, direction, *shared) for direction in DIRECTIONS]

    def rows(self) -> tuple[Doubles, Doubles]:
        """Return the training queries and documents, as they are published."""
        return sides(self.train, self.direction)

    def seen(self, queries: Doubles, documents: Doubles) -> tuple[Doubles, Doubles]:
        """Return rows as linear methods see them."""
        first, second = self.inputs.sides(self.direction)
        return first(queries), second(documents)

    def training(self) -> tuple[Doubles, Doubles]:
        """Return training queries and documents as linear methods learn from them."""
        first, second = self.inputs.sides(self.direction)
        return first.training, second.training

    def lists(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return candidates and relevance of a list for each training query."""
        classes = self.train.classes
        seed = 2 * self.number + DIRECTIONS.index(self.direction)
        return make_lists(classes, classes, self.n_candidates, seed)

    def held_out(self) -> tuple[Doubles, Doubles, NDArray[np.bool_]]:
        """Return validation queries and documents as linear methods see them, and relevance."""
        assert self.validation is not None
        queries, documents = self.seen(*sides(self.validation, self.direction))
        return queries, documents, same_class(self.validation)

    def value(self, scorer: Scorer) -> float:
        """Return the mean AvgP of validation queries."""
        assert self.validation is not None
        scores = scorer(*sides(self.validation, self.direction))
        return mean_avgp(scores, same_class(self.validation))


def joined(a: Pairs, b: Pairs) -> Pairs:
    """Return the pairs of both."""
    return Pairs(
        np.concatenate([a.pictures, b.pictures]),
        np.concatenate([a.texts, b.texts]),
        np.concatenate([a.classes, b.classes]),
    )


def same_class(pairs: Pairs) -> NDArray[np.bool_]:
    """Return which documents are relevant to which queries, of the same pairs."""
    return np.asarray(pairs.classes[:, None] == pairs.classes)
