"""The rankers and annotators that `train` can choose from: one table for all that names them.

The help of the command line, the service, the page and `collection.models.registry`, which fits and
serves them, all read it. It imports neither numpy nor any learner, so that help stays fast.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sightline.contracts import Json


@dataclass(frozen=True, slots=True)
class RankerEntry:
    """A learner of words, in plain values.

    Attributes
    ----------
    place : where its class is, "module:class".
    grid : the settings worth trying, the usual ones first.
    sees : features side by side, one matrix each, or a single feature's counts.
    steps : whether it learns in steps, and validation says when to stop.
    found : settings that fitting finds, to be used when it is fitted again; each with the attribute
        that holds it.
    base : the kind whose scores of left-out pictures this one learns from; "" if from features.
    top : where the class is that does so, in the log-product form; what it gives are logits to be
        multiplied as they are.
    landmarks : whether it must be told to let some pictures carry the kernel of many.
    needs : a package it cannot do without; it is not chosen where that is not installed.
    asked : whether it is tried only where it is asked for by name.
    option : the setting that a name may end in, after a colon; "" if there is none.
    shared_space : whether words and pictures are points of one space.
    unlabelled : whether it can be told which cells nobody labelled, to pass over likely positives.
    about : in a few words, what it is.
    """

    place: str
    about: str
    grid: tuple[dict[str, Json], ...] = ({},)
    sees: Literal["joined", "views", "counts"] = "joined"
    steps: bool = False
    found: tuple[tuple[str, str], ...] = ()
    base: str = ""
    top: str = ""
    landmarks: bool = False
    needs: str = ""
    asked: bool = False
    option: str = ""
    shared_space: bool = False
    unlabelled: bool = False

    @property
    def counts(self) -> bool:
        """Whether rows stay as they are, neither weighted nor scaled."""
        return self.sees == "counts"

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None


_STEPS = (("n_iter", "best_iter_"),)

RANKERS: dict[str, RankerEntry] = {
    "pamir": RankerEntry(
        "sightline.rankers.pamir:PAMIR",
        "passive-aggressive ranking, linear",
        grid=({"C": 0.1}, {"C": 0.4}),
        steps=True,
        found=_STEPS,
        option="shards",
    ),
    "kernel-pamir": RankerEntry(
        "sightline.rankers.kernel_pamir:KernelPAMIR",
        "passive-aggressive ranking with a kernel",
        grid=({"C": 0.1, "kernel": "rbf"},),
        sees="views",
        landmarks=True,
        steps=True,
        found=_STEPS,
    ),
    "warp": RankerEntry(
        "sightline.rankers.warp:WARP",
        "passive-aggressive ranking of the top of the list",
        grid=({"C": 0.05},),
        steps=True,
        found=_STEPS,
    ),
    "ridge": RankerEntry(
        "sightline.annotators.ridge:KernelRidge",
        "kernel ridge, a regression for each word",
        grid=({"kernel": "rbf"},),
        sees="views",
        found=(("alpha", "alpha_"),),
        unlabelled=True,
    ),
    "log-product": RankerEntry(
        "sightline.annotators.ridge:KernelRidge",
        "kernel ridge, then a ranking loss on products of words",
        grid=({"kernel": "rbf"},),
        sees="views",
        base="ridge",
        top="sightline.rankers.log_product:LogProduct",
    ),
    "neighbours": RankerEntry(
        "sightline.annotators.neighbours:Neighbours",
        "words of the most similar pictures, weighted",
        sees="views",
    ),
    "svm": RankerEntry(
        "sightline.annotators.concept_svm:ConceptSVM",
        "a support vector machine for each word",
        # One strength for all words tells well enough whether it is worth to choose for each.
        grid=({"C": 1.0}, {}),
        needs="sklearn",
    ),
    "cmrm": RankerEntry(
        "sightline.annotators.cmrm:CMRM",
        "cross-media relevance model",
        grid=({"alpha": 0.5, "beta": 0.1}, {"alpha": 0.2, "beta": 0.1}),
        sees="counts",
    ),
    "cmtt": RankerEntry(
        "sightline.annotators.cmtt:CMTT",
        "cross-media translation table",
        grid=({"rank": 50}, {"rank": 200}),
        sees="counts",
    ),
    "plsa": RankerEntry(
        "sightline.annotators.plsa:PLSA",
        "aspects shared by words and visual words, in two steps",
        sees="counts",
    ),
    "lscmr": RankerEntry(
        "sightline.rankers.captions:CaptionLSCMR",
        "words and pictures in one space of few dimensions, learnt list by list",
        grid=({"lam": 1e-4}, {"lam": 1e-3}),
        asked=True,
        shared_space=True,
        option="optimise",
    ),
    "ssi": RankerEntry(
        "sightline.rankers.captions:CaptionSSI",
        "words and pictures in one space of few dimensions, learnt pair by pair",
        asked=True,
        shared_space=True,
    ),
    "semantic-matching": RankerEntry(
        "sightline.rankers.concepts:CaptionConcepts",
        "words and pictures as probabilities of the most frequent words",
        grid=({"strength": 0.1}, {"strength": 0.01}),
        asked=True,
        shared_space=True,
    ),
    "cca": RankerEntry(
        "sightline.rankers.captions:CaptionCCA",
        "directions in which words and pictures correlate",
        grid=({"kappa": 0.1}, {"kappa": 1.0}),
        asked=True,
        shared_space=True,
    ),
}
"""The rankers by name, in the order in which they are listed and tried.

A further one needs an entry here, a test and a line in the guide.
"""

BY_DEFAULT = tuple(name for name, entry in RANKERS.items() if not entry.asked)
"""Those that are tried where none is named."""

IF_NAMED = tuple(name for name, entry in RANKERS.items() if entry.asked)
"""Those that are tried only where they are named."""

SHARED_SPACE = tuple(name for name, entry in RANKERS.items() if entry.shared_space)
"""Those whose words, texts and pictures are points of one space."""
