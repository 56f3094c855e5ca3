"""Evaluation on the test pictures, once for each method, set of features and half.

`MSRCTestSet.measure` predicts tags and regions of the test pictures by a fitted method. Nothing
else in this package knows which pictures they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline_experiments.datasets.msrc import MSRC
from sightline_experiments.one_shot import OneShotTestSet
from sightline_experiments.regions.judging import f_of_each, judged
from sightline_experiments.regions.methods import Fitted
from sightline_experiments.regions.protocol import DESIGNED_ON, HalfData, never_designed_on

N_SHOWN = 10


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A test picture, its tags, and the tag of each pixel by a method and in truth; -1 for none."""

    picture: int
    tags: tuple[str, ...]
    predicted: tuple[str, ...]
    painted: Ints
    truth: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Results of a method on the test pictures of one half.

    Attributes
    ----------
    measures : by name.
    each : F of each picture, if tags were predicted.
    shown : some pictures, the same for all methods.
    n : number of pictures.
    clean : the measures on pictures that nothing was designed on, of halves that were used for
        that; empty for others.
    n_clean : number of such pictures.
    """

    measures: dict[str, float]
    each: NDArray[np.float64] | None
    shown: list[Shown]
    n: int
    clean: dict[str, float] = field(default_factory=dict)
    n_clean: int = 0


class MSRCTestSet(OneShotTestSet):
    """The test pictures of each half.

    Parameters
    ----------
    c : the dataset.
    tests : the pictures of each half, as `make_halves` gives them.
    """

    def __init__(self, c: MSRC, tests: Sequence[Ints]) -> None:
        super().__init__("pictures")
        self._c, self._tests = c, tuple(tests)
        self._clean = never_designed_on(self._tests)

    def measure(self, who: str, features: str, fitted: Fitted, data: HalfData) -> Outcome:
        """Return the results of a fitted method on the test pictures of its half."""
        self.claim(f"{who} ({features})", half=data.half.number)
        test = self._tests[data.half.number]
        predicted = fitted.predict(data, test)
        tags, scenes = self._c.tags[test], np.asarray(self._c.scenes)[test]
        labels = [data.labels[p] for p in test]
        truth = [] if predicted.regions is None else [self._c.truth(int(p)) for p in test]
        each = None if predicted.tags is None else f_of_each(tags, predicted.tags)
        shown = []
        if predicted.regions is not None and predicted.tags is not None:
            for i in np.linspace(0, len(test) - 1, min(N_SHOWN, len(test))).astype(int):
                shown.append(
                    Shown(
                        int(test[i]), self._named(tags[i]), self._named(predicted.tags[i]),
                        predicted.regions[i][labels[i]], truth[i],
                    )
                )  # fmt: skip
        measures = judged(predicted, tags, scenes, labels, truth)
        if data.half.number >= DESIGNED_ON:
            return Outcome(measures, each, shown, len(test))
        at = np.flatnonzero(np.isin(test, self._clean))
        parts = ([labels[i] for i in at], [truth[i] for i in at] if truth else [])
        clean = judged(predicted.only(at), tags[at], scenes[at], *parts) if len(at) else {}
        return Outcome(measures, each, shown, len(test), clean, len(at))

    def _named(self, tags: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(w for w, yes in zip(self._c.words, tags, strict=True) if yes)
