"""The plan of a run: folds, sizes and hyperparameter searches. All that may be tuned is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sightline.contracts import Json
from sightline.similarity.context import SAMPLE
from sightline.similarity.scaling import SCALINGS
from sightline_experiments.experiment import RunPlan
from sightline_experiments.online.methods import METHODS
from sightline_experiments.online.protocol import LAWS
from sightline_experiments.tuning import Search, Stage, tried, without_stages

FEATURES = ("nine", "nine+deep")


@dataclass(frozen=True, slots=True)
class Plan(RunPlan):
    """One run.

    Attributes
    ----------
    triplets, validation, test : how many; queries are those of one fold.
    scalings, scaling_queries : scalings that are tried, and number of validation queries for that.
    sample : training pictures that estimate the usual similarities of a picture.
    searches : the hyperparameter search of each method.
    times : numbers of triplets at which training is timed.
    large : triplets of the large run; none at 0.
    distractors, distracted : numbers of distractors, ascending, and of test queries.
    simulated, refit : queries of the simulation, and how many come between two fits of RankSVM.
    """

    triplets: int
    validation: int
    test: int
    scalings: tuple[str, ...]
    scaling_queries: int
    sample: int
    searches: Mapping[str, Search]
    times: tuple[int, ...]
    large: int
    distractors: tuple[int, ...]
    distracted: int
    simulated: int
    refit: int


_LAW = tried("law", *(law for law in LAWS if law != "queries"))
_QUERIES: dict[str, Json] = {"law": "queries"}
_C = tried("C", 1e-5, 1e-4, 1e-2, 1e-1, 1.0)


def _learners() -> dict[str, Search]:
    """Return the searches of online learners: first the step size, then the law."""
    searches = {}
    for name in ("OPR", "OPAR-I", "OPAR-II", "OGDR"):
        start: dict[str, Json] = {}
        stages: tuple[Stage, ...] = (_LAW,)
        if name.startswith("OPAR"):
            start, stages = {"C": 1e-3}, (_C, _LAW)
        if name == "OGDR":
            start, stages = {"eta": 1e-3}, (tried("eta", 1e-5, 1e-4, 1e-2, 1e-1), _LAW)
        searches[name] = searches[f"{name} averaged"] = Search({**_QUERIES, **start}, stages)
    searches["AROW"] = Search({**_QUERIES, "r": 1.0}, (tried("r", 0.01, 100.0, 1e4, 1e5), _LAW))
    searches["SCW"] = Search(
        {**_QUERIES, "C": 1e-2, "eta": 0.9},
        (tried("C", 1e-4, 1e-3, 0.1, 1.0), tried("eta", 0.6, 0.75), _LAW),
    )
    return searches


def _baselines() -> dict[str, Search]:
    """Return the searches of batch baselines; slow ones try one hyperparameter, once."""
    return {
        "RankSVM": Search({**_QUERIES, "C": 1e-4}, (tried("C", 1e-6, 1e-5, 1e-3, 1e-2), _LAW)),
        "RankNet": Search({**_QUERIES, "rate": 5e-4}, (tried("rate", 5e-5, 5e-3, one_shot=True),)),
        "C-Ascent": Search({**_QUERIES, "n_restarts": 0}),
        "λ-MART": Search({**_QUERIES, "n_trees": 300}, (tried("min_leaf", 200, one_shot=True),)),
    }


def full_plan() -> Plan:
    """Return the run whose figures may be quoted."""
    fixed = {"Best-Fea": Search({}), "Uni-Con": Search({})}
    searches = fixed | _baselines() | _learners()
    return Plan(
        splits=5,
        triplets=200_000,
        validation=300,
        test=150,
        scalings=SCALINGS,
        scaling_queries=100,
        sample=SAMPLE,
        searches={name: searches[name] for name in METHODS},
        features=FEATURES,
        times=(10_000, 50_000, 100_000, 150_000, 200_000),
        large=3_000_000,
        distractors=(10_000, 100_000, 1_000_000),
        distracted=50,
        simulated=2000,
        refit=100,
    )


def quick_plan() -> Plan:
    """Return a run for a first look: one fold, one setting each, fewer of everything."""
    full = full_plan()
    few: dict[str, dict[str, Json]] = {
        "RankNet": {"n_epochs": 5},
        "C-Ascent": {"max_rounds": 1, "n_steps": 6},
        "λ-MART": {"n_trees": 40, "min_leaf": 200},
    }
    searches = without_stages(full.searches, few)
    return replace(
        full,
        splits=1,
        triplets=30_000,
        validation=60,
        scalings=("plain", "ranks", "reduced"),
        scaling_queries=20,
        sample=50,
        searches=searches,
        features=FEATURES[:1],
        times=(10_000, 30_000),
        large=0,
        distractors=(10_000,),
        distracted=10,
        simulated=100,
        refit=50,
    )
