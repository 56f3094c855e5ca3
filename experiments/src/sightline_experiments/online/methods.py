"""The methods of paper D, and the training data of each.

Online learners see one triplet after the other, once. Batch baselines see the same triplets, as
differences or as lists of their pictures. The law by which triplets are drawn is a hyperparameter
of every method, with the same choices; Best-Fea uses validation queries alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sightline.combiners.coordinate_ascent import CoordinateAscent
from sightline.combiners.examples import JudgedLists
from sightline.combiners.fixed import BestSingle, Uniform
from sightline.combiners.lambdamart import LambdaMART
from sightline.combiners.linear import Combiner
from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
from sightline.combiners.ranknet import RankNet
from sightline.combiners.ranksvm import RankSVM
from sightline.combiners.second_order import AROW, SCW
from sightline.contracts import Json
from sightline.solvers.picture_triplets import Law
from sightline_experiments.online.protocol import Task
from sightline_experiments.tuning import Settings

Kind = Literal["fixed", "batch", "online"]
Form = Literal["nothing", "validation", "differences", "lists"]
# Settings of the experiment, not of the estimator.
_NOT_ITS_OWN = ("law",)


@dataclass(frozen=True, slots=True)
class Method:
    """A way to combine similarities.

    Attributes
    ----------
    kind : fixed, batch or online.
    make : the class of the combiner.
    form : the form of its training data.
    always : parameters that define the method.
    stops : whether it stops early by validation lists.
    """

    kind: Kind
    make: type[Any]
    form: Form
    always: Mapping[str, Json] = field(default_factory=dict)
    stops: bool = False

    def combiner(self, settings: Settings) -> Any:
        """Return the unfitted combiner with some settings."""
        combiner_settings = {k: v for k, v in settings.items() if k not in _NOT_ITS_OWN}
        return self.make(**combiner_settings, **self.always)

    def fit(self, task: Task, settings: Settings, n: int | None = None) -> tuple[Combiner, float]:
        """Fit to n triplets, or all; return the combiner and the CPU seconds it took.

        Comparing pictures and arranging the triplets is not counted: it is the same for all.
        """
        examples, options = self._examples(task, settings, n)
        begun = time.process_time()
        combiner: Combiner = self.combiner(settings).fit(*examples, **options)
        return combiner, time.process_time() - begun

    def _examples(
        self, task: Task, settings: Settings, n: int | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self.form == "nothing":
            return (np.zeros((1, task.phi.n_components), dtype=np.float32),), {}
        if self.form == "validation":
            return _given(task.validation), {}
        drawn = task.drawn(law_of(settings))
        if self.form == "differences":
            return (drawn.differences[:n],), {}
        return _given(drawn.lists_of(n)), {"validation": task.short} if self.stops else {}


def law_of(settings: Settings) -> Law:
    """Return the law of triplets in some settings."""
    return "pairs" if settings.get("law") == "pairs" else "queries"


def _given(lists: JudgedLists) -> tuple[Any, ...]:
    return lists.rows, lists.relevance, np.repeat(np.arange(len(lists)), np.diff(lists.start))


def _online(make: type[Any], averaged: bool = False) -> Method:
    return Method("online", make, "differences", {"averaged": True} if averaged else {})


METHODS: dict[str, Method] = {
    "Best-Fea": Method("fixed", BestSingle, "validation"),
    "Uni-Con": Method("fixed", Uniform, "nothing"),
    "RankNet": Method("batch", RankNet, "lists", stops=True),
    "C-Ascent": Method("batch", CoordinateAscent, "lists", stops=True),
    "RankSVM": Method("batch", RankSVM, "differences"),
    "λ-MART": Method("batch", LambdaMART, "lists", stops=True),
    "OPR": _online(OPR),
    "OPAR-I": _online(OPARI),
    "OPAR-II": _online(OPARII),
    "OGDR": _online(OGDR),
    "OPR averaged": _online(OPR, averaged=True),
    "OPAR-I averaged": _online(OPARI, averaged=True),
    "OPAR-II averaged": _online(OPARII, averaged=True),
    "OGDR averaged": _online(OGDR, averaged=True),
    "AROW": _online(AROW),
    "SCW": _online(SCW),
}
"""Those of the paper under its names, averaged ones, and two of the second order."""
ONLINE = tuple(name for name, method in METHODS.items() if method.kind == "online")
BATCH = tuple(name for name, method in METHODS.items() if method.kind == "batch")
