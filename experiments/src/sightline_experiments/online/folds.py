"""Five parts of the pictures, three of them to learn from, one to choose by, one for the test.

The pictures are dealt into parts at random, once; fold i keeps part i for the test and part i + 1
for validation. Of each of these two some pictures are queries, drawn at random; whoever is asked
ranks all other pictures of the dataset (the paper does not say which). A query whose class
has no other picture would have nothing to find, and is never drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Ints
from sightline.errors import DataError

N_PARTS = 5
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One way to share the pictures out, by their positions, ascending.

    Attributes
    ----------
    number : which of the five it is.
    train : pictures to learn from.
    validation : queries to choose by.
    """

    number: int
    train: Ints
    validation: Ints


def make_folds(
    labels: Sequence[int],
    n_folds: int = N_PARTS,
    n_validation: int = 300,
    n_test: int = 150,
    seed: int = SEED,
) -> tuple[list[Fold], list[Ints]]:
    """Return the first n of five folds, and the test queries of each, which only `evaluation` sees.

    The same seed gives the same ones.

    >>> folds, tests = make_folds([0, 1] * 50, 1, 5, 3)
    >>> len(folds[0].train), len(folds[0].validation), len(tests[0])
    (60, 5, 3)
    """
    classes = np.asarray(labels, dtype=np.int64)
    random = np.random.default_rng(seed)
    part = np.empty(len(classes), dtype=np.int64)
    part[random.permutation(len(classes))] = np.arange(len(classes)) % N_PARTS
    useful = np.bincount(classes)[classes] > 1
    found, tests = [], []
    for i in range(n_folds):
        after = (i + 1) % N_PARTS
        train = np.flatnonzero((part != i) & (part != after))
        validation = _drawn(np.flatnonzero((part == after) & useful), n_validation, (seed, i, 0))
        tests.append(_drawn(np.flatnonzero((part == i) & useful), n_test, (seed, i, 1)))
        found.append(Fold(i, train, validation))
    return found, tests


def _drawn(pool: Ints, n: int, seed: tuple[int, ...]) -> Ints:
    """Return n of some pictures; fewer are the first of more, whatever else is drawn."""
    if not len(pool):
        raise DataError("A fifth of the pictures has none with another of its class.")
    return np.sort(np.random.default_rng(seed).permutation(pool)[:n])
