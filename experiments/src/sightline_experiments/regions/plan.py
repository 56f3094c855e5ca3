"""The plan of a run: halves, regions and searches. All that may be tuned is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sightline.contracts import Json
from sightline.regions.segment import Segmenter
from sightline_experiments.experiment import RunPlan
from sightline_experiments.regions import paper
from sightline_experiments.regions.methods import CHI2
from sightline_experiments.tuning import Search, tried, without_stages

FEATURES = ("classic", "deep")


@dataclass(frozen=True, slots=True)
class Plan(RunPlan):
    """One run.

    Attributes
    ----------
    scenes : number of scenes of every method.
    cuts : the segmenter, by features.
    reduced : number of dimensions that vectors of the network are reduced to.
    searches : the hyperparameter search of each method, by features.
    relaxed : pictures of the first half whose inference is compared with the relaxation.
    """

    scenes: int
    cuts: Mapping[str, Segmenter]
    reduced: int
    searches: Mapping[str, Mapping[str, Search]]
    relaxed: int


def _baselines(features: str) -> dict[str, Search]:
    C, thresholds = tried("C", 0.01, 0.03, 0.1, 0.3, 3.0), (-0.7, -0.5, -0.3, -0.15, 0.15)
    # Codewords also have the rows of whole pictures that the latent model uses.
    rows = (tried("rows", "shares"),) if features == "classic" else ()
    kernel: dict[str, Search] = {}
    if features == "classic":
        start: dict[str, Json] = {"C": 3.0, "rows": CHI2}
        C_chi2 = tried("C", 0.3, 1.0, 10.0, 30.0, 100.0, 300.0)
        kernel = {
            paper.SVM_CHI2: Search(
                {**start, "threshold": 0.0}, (C_chi2, tried("threshold", *thresholds))
            ),
            paper.PSEUDO_LABEL_CHI2: Search(start, (C_chi2,)),
        }
    return {
        paper.SVM: Search(
            {"C": 1.0, "threshold": 0.0},
            (C, tried("threshold", *thresholds), *rows, tried("C", 0.03, 0.1, 0.3, 1.0)),
        ),
        paper.PSEUDO_LABEL: Search({"C": 1.0}, (C, *rows)),
        paper.PSEUDO_TAGS: Search({"C": 1.0, "threshold": 0.0}, (C, *rows)),
        paper.K_MEANS: Search({}),
        paper.RIDGE: Search(
            {"alpha": 1.0, "threshold": 0.35},
            (tried("alpha", 0.03, 0.1, 0.3, 3.0, 10.0), tried("threshold", 0.25, 0.3, 0.4, 0.45)),
        ),
        **kernel,
    }


def _latent(features: str) -> dict[str, Search]:
    lean = tried("lean", -0.4, -0.2, 0.2, 0.4, 0.6)
    C = tried("C", 0.01, 0.03, 0.3)
    if features == "classic":
        start = {
            "C": 0.1, "whole_alpha": 0.3, "region_alpha": 0.3, "region_share": 0.125, "lean": 0.0,
        }  # fmt: skip
        # Each C is compared at a lean that suits it, and the lean is chosen again.
        more = tried("lean", -0.4, 0.0, 0.4, 0.8, 1.2, 1.6)
        plain = Search({"C": 0.1, "lean": 0.0}, (more, tried("C", 0.01, 0.03, 1.0), more))
        return {paper.LATENT: Search(start, (C, lean)), paper.PLAIN: plain}
    return {paper.LATENT: Search({"C": 0.1, "lean": 0.0}, (C, lean))}


def full_plan() -> Plan:
    """Return the run whose figures may be quoted."""
    return Plan(
        splits=5,
        scenes=20,
        cuts={"classic": Segmenter(), "deep": Segmenter(scale=100.0, smallest=0.005)},
        reduced=256,
        searches={f: {**_latent(f), **_baselines(f)} for f in FEATURES},
        features=FEATURES,
        relaxed=40,
    )


def quick_plan() -> Plan:
    """Return a run for a first look: one half and one setting each."""
    full = full_plan()
    few: dict[str, Json] = {"max_iterations": 30}
    searches = {
        features: without_stages(methods, {paper.LATENT: few, paper.PLAIN: few})
        for features, methods in full.searches.items()
    }
    return replace(full, splits=1, searches=searches, relaxed=20)
