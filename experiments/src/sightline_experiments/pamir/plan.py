"""What a run does: features, grids and sizes. Everything that may be tuned stands here.

Three sets of features. `classic-strict` is the paper's: visual terms of one block size, size and
codebook chosen by each method, or one Gaussian of such blocks. `classic` allows several block
sizes, parts of the picture, colours, textures and edges of the whole (`features.local.layout`),
Gaussians of blocks, and Fisher vectors of gradients and colours (`features.local.fisher`). `deep`
adds three networks that were trained on ImageNet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sightline.contracts import Json
from sightline.registry import FEATURE_SETS
from sightline_experiments.experiment import RunPlan
from sightline_experiments.pamir.inputs import view_of
from sightline_experiments.pamir.kernels import KernelPlan
from sightline_experiments.tuning import Search, Stage, tried, without_stages

FEATURES = ("classic-strict", "classic", "deep")
CURVE = (500, 1000, 2000, 4000)
# The paper writes "building car"; with these words it has the 3 relevant pictures of the paper.
SHEETS = ("buildings cars", "petals")

BLOCKS = (32, 48, 64, 96, 128, 256)
SIZES = (2000, 10_000)
QUICK_BLOCKS = (64, 128, 256)

_PAMIR: dict[str, Json] = {"C": 0.1, "n_iter": 6_000_000, "eval_every": 200_000, "patience": 4}
_KERNELS = KernelPlan((("match", 0.5),), learning=tuple(_PAMIR.items()))


@dataclass(frozen=True, slots=True)
class Plan(RunPlan):
    """One run.

    Attributes
    ----------
    searches : for each set of features the methods with their hyperparameters.
    curve : training pictures of the learning curve.
    kernels : compared on one block size, if `classic-strict` is measured.
    """

    searches: Mapping[str, Mapping[str, Search]]
    curve: tuple[int, ...] = ()
    kernels: KernelPlan | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each split."""
        return tuple(range(self.splits))

    def views(self, features: str) -> list[str]:
        """Return every view that methods on a set of features may look at, in a fixed order."""
        return sorted({v for search in self.searches[features].values() for v in views_of(search)})


def views_of(search: Search) -> set[str]:
    """Return every view that a search may look at."""
    changes = [search.start, *(c for s in search.stages for c in s.changes)]
    views = {str(c["view"]) for c in changes if "view" in c}
    blocks, sizes = ([c[k] for c in changes if k in c] for k in ("block", "terms"))
    return views | {view_of({"block": b, "terms": n}) for b in blocks for n in sizes}


_C = tried("C", 0.03, 0.3)
# The input of SVMs is selected with one C for all words, then a C for each of them.
_EACH = tried("C", [0.3, 1.0, 3.0, 10.0])
_WIDTH = tried("factor", 0.5, 1.0, one_shot=True)
_ROOTS = tried("weighting", "hellinger", one_shot=True)
_CENTRED = tried("weighting", "centred", one_shot=True)


def _strict() -> dict[str, Search]:
    """Return searches over one block size and codebook for each method, begun near the paper's."""
    terms_stages = (tried("block", *BLOCKS, one_shot=True), tried("terms", *SIZES, one_shot=True))
    # The other kernel of one block size that needs no table of all pairs.
    likely = Stage(
        tuple({"view": f"g{b}", "kernel": "likelihood", "factor": 0.5} for b in BLOCKS[:4])
        + tuple({"view": "g64", "kernel": "likelihood", "factor": f} for f in (0.25, 0.35, 1.0)),
        first_split=True,
    )
    return {
        "PAMIR": Search(
            {"block": 64, "terms": 10_000, **_PAMIR}, (*terms_stages, _ROOTS, likely, _C)
        ),
        "SVM": Search(
            {"block": 48, "terms": 10_000, "C": 1.0}, (*terms_stages, _ROOTS, likely, _EACH)
        ),
        "PLSA": Search(
            {"block": 32, "terms": 2000, "n_aspects": 200},
            (*terms_stages, tried("n_aspects", 100, 400)),
        ),
        "CMTT": Search(
            {"block": 256, "terms": 2000, "rank": 50}, (*terms_stages, tried("rank", 100, 200, 400))
        ),
        "CMRM": Search(
            {"block": 128, "terms": 2000, "alpha": 0.5, "beta": 0.1},
            (*terms_stages, tried("joint_counts", True), tried("beta", 0.02, 0.2, 0.5)),
        ),
    }


_MIXED = "b32+64+128_k2000_s1+2"
_DEEP = " & ".join(name for name in FEATURE_SETS["best"] if name != "fisher")


def _classic() -> dict[str, Search]:
    """Return searches over several block sizes, spatial parts, and the whole picture's vector."""
    terms = ("b32+64+128_k2000", _MIXED)
    counted = tried("view", *terms, one_shot=True)
    with_classic = tried("view", f"{_MIXED} & classic", one_shot=True)
    mixed: dict[str, Json] = {
        "view": "fisher & g32 & g64",
        "weighting": "centred",
        "kernel": ["linear", "likelihood", "likelihood"],
        "factor": [1.0, 0.5, 0.5],
        "weights": [4.0, 1.0, 1.0],
    }
    kernel = Stage(({"view": "fisher", "kernel": "rbf"}, mixed), first_split=True)
    return {
        "PAMIR": Search({"view": "fisher", **_PAMIR}, (with_classic, _CENTRED, kernel, _C)),
        "SVM": Search({"view": "fisher", "C": 1.0}, (with_classic, _CENTRED, kernel, _EACH)),
        "PLSA": Search({"view": terms[0], "n_aspects": 400}, (counted,)),
        "CMTT": Search({"view": terms[0], "rank": 200}, (counted, tried("rank", 400))),
        "CMRM": Search(
            {"view": terms[0], "alpha": 0.5, "beta": 0.1},
            (counted, tried("joint_counts", True), tried("beta", 0.2, 0.5)),
        ),
        # Each step scores many pictures, which is slow with long rows.
        "WARP": Search({"view": "fisher", **_PAMIR, "n_iter": 800_000}),
        "kernel ridge": Search({"view": "fisher & classic", "factor": 0.7}, (_WIDTH,)),
        "log-product": Search({"view": "fisher & classic", "factor": 0.7}, (_WIDTH,)),
    }


def _deep() -> dict[str, Search]:
    everything = f"{_DEEP} & fisher"
    return {
        "PAMIR": Search(
            {"view": _DEEP, "weighting": "whitened", **_PAMIR}, (tried("weighting", "unit"), _C)
        ),
        "SVM": Search({"view": _DEEP, "kernel": "rbf"}),
        "neighbours": Search({"view": everything}),
        "kernel PAMIR": Search({"view": everything, **_PAMIR}),
        "kernel ridge": Search({"view": everything, "factor": 0.7}, (_WIDTH,)),
        "log-product": Search({"view": everything, "factor": 0.7}, (_WIDTH,)),
        "sightline train": Search({"view": everything}),
    }


def full_plan() -> Plan:
    """Return the run whose figures may be quoted."""
    searches = {"classic-strict": _strict(), "classic": _classic(), "deep": _deep()}
    return Plan(searches, CURVE, _KERNELS, splits=5, features=FEATURES)


def quick_plan() -> Plan:
    """Return a run for a first look: one split, one setting each, few block sizes."""
    searches: dict[str, dict[str, Search]] = {
        "classic-strict": {
            "PAMIR": Search(
                {"block": 64, "terms": 3000, **_PAMIR}, (tried("block", *QUICK_BLOCKS),)
            ),
            "SVM": Search({"block": 64, "terms": 3000, "C": 1.0}),
            "PLSA": Search({"block": 64, "terms": 3000, "n_aspects": 100}),
            "CMTT": Search({"block": 256, "terms": 3000, "rank": 50}),
            "CMRM": Search({"block": 128, "terms": 3000, "alpha": 0.5, "beta": 0.1}),
        },
        "classic": without_stages(_classic()),
        "deep": without_stages(_deep()),
    }
    return Plan(searches, CURVE[1::2], features=FEATURES[:1])
