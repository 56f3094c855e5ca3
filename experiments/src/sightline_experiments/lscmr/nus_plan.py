"""What a run does with NUS-WIDE: how pictures are shared out, and the settings tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sightline.contracts import Json
from sightline_experiments.tuning import Search, tried, without_stages


def _searches() -> dict[str, Search]:
    """Return what is tried of each method: first its strength, then the number of dimensions."""
    k = tried("n_components", 25, 50, 100)
    return {
        "CCA": Search({"n_components": 10, "kappa": 0.3}, (tried("kappa", 0.03, 3.0), k)),
        "PAMIR": Search({"C": 0.1, "n_iter": None, "eval_every": 100_000},
                        (tried("C", 0.01, 1.0),)),
        "SSI": Search({"n_components": 10, "eta": 0.03, "eval_every": 100_000,
                       "n_iter": 2_000_000}, (tried("eta", 0.01, 0.1), k)),
        "LSCMR": Search({"n_components": 10, "lam": 1e-3, "max_rounds": 150},
                        (tried("lam", 1e-4, 3e-4, 3e-3), k)),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class NusPlan:
    """One run; the sizes are the paper's (table 1).

    Attributes
    ----------
    documents : pictures with their tags, for training, validation and test.
    queries : how many of those for validation and for test are queries as well; of those for
        training all are.
    candidates : of a list, drawn from the training documents.
    searches : the settings to try, for each method.
    block : test queries whose scores are held at once.
    """

    documents: tuple[int, int, int] = (2664, 23_977, 106_567)
    queries: tuple[int, int] = (2000, 2000)
    candidates: int = 40
    searches: Mapping[str, Search] = field(default_factory=_searches)
    block: int = 200


def full_nus_plan() -> NusPlan:
    """Return the run whose figures may be quoted."""
    return NusPlan()


def quick_nus_plan() -> NusPlan:
    """Return a run that shows how it goes: fewer queries, and one setting each."""
    few: dict[str, dict[str, Json]] = {"LSCMR": {"max_rounds": 40}, "SSI": {"n_iter": 200_000}}
    searches = without_stages(_searches(), few)
    return replace(full_nus_plan(), queries=(300, 300), searches=searches)
