"""The rankers and annotators that `train` selects from."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sightline.contracts import Json


@dataclass(frozen=True, slots=True)
class RankerEntry:
    """The entry of a ranker or annotator.

    Attributes
    ----------
    class_path : str
        Import path of the class, "module:class". It has `fit(X, labels)`,
        `decision_function(X, words=None)`, `to_arrays()` and the class method
        `from_arrays(arrays)`.
    about : str
        A short description.
    grid : tuple of dict
        The hyperparameters to try, the usual ones first.
    refinements : tuple of dict
        Hyperparameters that are tried with the best of the grid only.
    input : {"concat", "per_feature", "counts"}
        The input of `fit`: "concat", the features concatenated; "per_feature", a matrix for each
        feature; "counts", the visual-word counts of one feature.
    iterative : bool
        Whether it is fitted in iterations and stopped early on validation pictures.
    tuned : tuple of (str, str)
        Hyperparameters that `fit` selects, each with the attribute that holds its value; they are
        reused when the model is fitted again.
    stacked_on : str
        The ranker whose out-of-fold scores it is fitted to; "" if it is fitted to features.
    stacked_class : str
        Import path of the second-stage class, which returns logits.
    landmarks : bool
        Whether it uses landmarks for large collections.
    requires : str
        A package it needs; it is not tried if that is not installed.
    opt_in : bool
        Whether it is tried only if it is named.
    option : str
        The hyperparameter that may follow the name after a colon; "" if there is none.
    shared_space : bool
        Whether it embeds words and pictures in one space.
    unlabelled : bool
        Whether `fit` accepts a mask of unlabelled cells, to skip likely positives.
    """

    class_path: str
    about: str
    grid: tuple[dict[str, Json], ...] = ({},)
    refinements: tuple[dict[str, Json], ...] = ()
    input: Literal["concat", "per_feature", "counts"] = "concat"
    iterative: bool = False
    tuned: tuple[tuple[str, str], ...] = ()
    stacked_on: str = ""
    stacked_class: str = ""
    landmarks: bool = False
    requires: str = ""
    opt_in: bool = False
    option: str = ""
    shared_space: bool = False
    unlabelled: bool = False

    @property
    def counts(self) -> bool:
        """Whether the feature is passed as counts, neither weighted nor scaled."""
        return self.input == "counts"

    @property
    def available(self) -> bool:
        """Whether the package it requires is installed."""
        return not self.requires or importlib.util.find_spec(self.requires) is not None


_STEPS = (("n_iter", "best_iter_"),)
_WITHOUT_WRONG_TAGS: tuple[dict[str, Json], ...] = ({"wrong_tags": "excluded"},)

RANKERS: dict[str, RankerEntry] = {
    "pamir": RankerEntry(
        "sightline.rankers.pamir:PAMIR",
        "passive-aggressive ranking, linear",
        grid=({"C": 0.1}, {"C": 0.4}),
        iterative=True,
        tuned=_STEPS,
        option="shards",
    ),
    "kernel-pamir": RankerEntry(
        "sightline.rankers.kernel_pamir:KernelPAMIR",
        "passive-aggressive ranking with a kernel",
        grid=({"C": 0.1, "kernel": "rbf"},),
        input="per_feature",
        landmarks=True,
        iterative=True,
        tuned=_STEPS,
    ),
    "warp": RankerEntry(
        "sightline.rankers.warp:WARP",
        "passive-aggressive ranking of the top of the list",
        grid=({"C": 0.05},),
        iterative=True,
        tuned=_STEPS,
    ),
    "ridge": RankerEntry(
        "sightline.annotators.ridge:KernelRidge",
        "kernel ridge, a regression for each word",
        grid=({"kernel": "rbf"},),
        refinements=_WITHOUT_WRONG_TAGS,
        input="per_feature",
        tuned=(("alpha", "alpha_"),),
        unlabelled=True,
    ),
    "log-product": RankerEntry(
        "sightline.annotators.ridge:KernelRidge",
        "kernel ridge, then a ranking loss on products of words",
        grid=({"kernel": "rbf"},),
        refinements=_WITHOUT_WRONG_TAGS,
        input="per_feature",
        stacked_on="ridge",
        stacked_class="sightline.rankers.log_product:LogProduct",
    ),
    "neighbours": RankerEntry(
        "sightline.annotators.neighbours:Neighbours",
        "words of the most similar pictures, weighted",
        input="per_feature",
    ),
    "svm": RankerEntry(
        "sightline.annotators.concept_svm:ConceptSVM",
        "a support vector machine for each word",
        # A trial with one C for all words shows whether selecting C for each word is worthwhile.
        grid=({"C": 1.0}, {}),
        requires="sklearn",
    ),
    "cmrm": RankerEntry(
        "sightline.annotators.cmrm:CMRM",
        "cross-media relevance model",
        grid=({"alpha": 0.5, "beta": 0.1}, {"alpha": 0.2, "beta": 0.1}),
        input="counts",
    ),
    "cmtt": RankerEntry(
        "sightline.annotators.cmtt:CMTT",
        "cross-media translation table",
        grid=({"rank": 50}, {"rank": 200}),
        input="counts",
    ),
    "plsa": RankerEntry(
        "sightline.annotators.plsa:PLSA",
        "aspects shared by words and visual words, in two steps",
        input="counts",
    ),
    "lscmr": RankerEntry(
        "sightline.rankers.captions:CaptionLSCMR",
        "words and pictures in one space of few dimensions, trained list by list",
        grid=({"lam": 1e-4}, {"lam": 1e-3}),
        opt_in=True,
        shared_space=True,
        option="optimise",
    ),
    "ssi": RankerEntry(
        "sightline.rankers.captions:CaptionSSI",
        "words and pictures in one space of few dimensions, trained pair by pair",
        opt_in=True,
        shared_space=True,
    ),
    "semantic-matching": RankerEntry(
        "sightline.rankers.concepts:CaptionConcepts",
        "words and pictures as probabilities of the most frequent words",
        grid=({"strength": 0.1}, {"strength": 0.01}),
        opt_in=True,
        shared_space=True,
    ),
    "cca": RankerEntry(
        "sightline.rankers.captions:CaptionCCA",
        "directions in which words and pictures correlate",
        grid=({"kappa": 0.1}, {"kappa": 1.0}),
        opt_in=True,
        shared_space=True,
    ),
}
"""The rankers by name, in the order in which they are listed and tried.

A new ranker needs an entry here, a test and a line in the guide.
"""

BY_DEFAULT = tuple(name for name, entry in RANKERS.items() if not entry.opt_in)
"""The rankers that are tried by default."""

IF_NAMED = tuple(name for name, entry in RANKERS.items() if entry.opt_in)
"""The rankers that are tried only if they are named."""
