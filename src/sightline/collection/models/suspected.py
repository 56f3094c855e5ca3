"""Suspected mislabels: for each tag that a word model learned from, how probably it is wrong.

The probabilities come from the scores of left-out pictures (`annotators.wrong_tags`), which kernel
ridge, and what is stacked on it, has in closed form; with other rankers there are none. They are
stored with the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Doubles, Ints
from sightline.annotators.wrong_tags import wrong_tag_probabilities
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.recipe import Fitted

SUSPECTED = 0.5
"""From this probability on a tag is a suspected mislabel."""

_PREFIX = "tags."


@dataclass(frozen=True, slots=True, eq=False)
class TagProbabilities:
    """The tags of training pictures, and how probably each is wrong.

    Attributes
    ----------
    pictures, terms : ndarray of int64
        The picture and the word of each tag.
    wrong : ndarray of float64
        The probability that the tag is wrong.
    """

    pictures: Ints
    terms: Ints
    wrong: Doubles

    @classmethod
    def of(cls, dataset: Dataset, fitted: Fitted) -> TagProbabilities | None:
        """Return those of a data set by what was fitted to it; None without left-out scores.

        Words that were saved from sessions have judgements, which are not doubted here. Where rows
        were streamed, left-out scores are those of a sample, which is not enough.
        """
        if dataset.unlabelled is not None or fitted.sampled is not None:
            return None
        unseen = fitted.independent
        if unseen is None:
            return None
        tags = dataset.labels.tocoo()
        wrong = wrong_tag_probabilities(unseen, dataset.labels)
        return cls(dataset.ids[tags.row], dataset.terms[tags.col], wrong)

    @property
    def suspected(self) -> int:
        """The number of suspected mislabels."""
        return int((self.wrong >= SUSPECTED).sum())

    def to_arrays(self) -> Arrays:
        """Return what is stored with the model."""
        return {
            f"{_PREFIX}pictures": self.pictures, f"{_PREFIX}terms": self.terms,
            f"{_PREFIX}wrong": self.wrong.astype(np.float32),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TagProbabilities | None:
        """Return those of a stored model; None of one that has none, as those of earlier releases.

        >>> TagProbabilities.from_arrays({}) is None
        True
        """
        names = [f"{_PREFIX}{name}" for name in ("pictures", "terms", "wrong")]
        if not set(names) <= arrays.keys():
            return None
        pictures, terms, wrong = (np.asarray(arrays[name]) for name in names)
        return cls(pictures, terms, wrong.astype(np.float64))
