"""The loop of all experiments: what is tried, chosen, measured and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from sightline.contracts import Json
from sightline.errors import MissingExtra
from sightline.progress import NoProgress
from sightline_experiments.experiment import Experiment, MethodResult, Results, Trial, timed
from sightline_experiments.tuning import Search, Settings, Stage

GROUP = ("made",)
SEARCH = Search(
    {"a": 1, "b": 1},
    (Stage(({"a": 2}, {"a": 3}, {"a": 4}), first_split=True), Stage(({"b": 2}, {"b": 9}))),
)


@dataclass(slots=True, eq=False)
class MadeResults(Results[MethodResult[str]]):
    """Results whose outcome is the name of what was fitted."""

    def new(self, method: str, group: tuple[str, ...]) -> MethodResult[str]:
        return MethodResult(method, group)


class MadeExperiment(Experiment[int, Settings, MethodResult[str]]):
    """Methods that are the better the closer `a` is to 3, then `b` to 2; `deep` lacks an extra."""

    def __init__(self) -> None:
        super().__init__(MadeResults({}), NoProgress())
        self.fitted: list[tuple[int, Json, Json]] = []

    def fit(self, method: str, settings: Settings, split: int) -> tuple[Settings, float]:
        if method == "deep":
            raise MissingExtra.of("The network", "deep")
        self.fitted.append((split, settings["a"], settings["b"]))
        return timed(lambda: settings)

    def value(self, method: str, fitted: Settings, split: int) -> float:
        a, b = float(str(fitted["a"])), float(str(fitted["b"]))
        return -abs(a - 3) - 0.1 * abs(b - 2)

    def refit(
        self, method: str, trial: Trial, fitted: Settings, split: int
    ) -> tuple[Trial, Settings]:
        return trial, {**fitted, "all": True}

    def details(self, fitted: Settings) -> Mapping[str, Json]:
        return {"n_iter": fitted["a"]}

    def measure(self, result: MethodResult[str], fitted: Settings, split: int) -> None:
        assert fitted["all"]
        result.outcomes.append(f"{split}: {fitted['a']}, {fitted['b']}")


def test_stages_keep_the_best_so_far() -> None:
    experiment = MadeExperiment()
    fits = experiment.run(0, 0, GROUP, {"made": SEARCH})
    result = experiment.results.of(*GROUP)["made"]
    assert fits["made"] == {"a": 3, "b": 2, "all": True}
    assert experiment.fitted == [
        (0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1), (0, 3, 2), (0, 3, 9),
    ]  # fmt: skip
    (chosen,) = result.chosen
    assert chosen.value == max(t.value for t in result.trials)
    assert chosen.settings == {"a": 3, "b": 2} and chosen.details == {"n_iter": 3}
    assert result.outcomes == ["0: 3, 2"] and result.seconds() == chosen.seconds


def test_stages_that_are_tried_once_hold_for_later_splits() -> None:
    experiment = MadeExperiment()
    experiment.run(0, 0, GROUP, {"made": SEARCH})
    experiment.fitted.clear()
    experiment.run(1, 1, GROUP, {"made": SEARCH})
    assert experiment.fitted == [(1, 3, 1), (1, 3, 2), (1, 3, 9)]
    assert [t.split for t in experiment.results.of(*GROUP)["made"].chosen] == [0, 1]


def test_nothing_is_fitted_twice_on_a_split() -> None:
    search = Search({"a": 3, "b": 2}, (Stage(({"a": 3}, {"a": 1})), Stage(({"b": 2},))))
    experiment = MadeExperiment()
    experiment.run(0, 0, GROUP, {"made": search})
    assert len(experiment.fitted) == len(set(experiment.fitted)) == 2


def test_groups_choose_by_themselves() -> None:
    experiment = MadeExperiment()
    for group in (("one",), ("other",)):
        experiment.run(0, 0, group, {"made": SEARCH})
    assert experiment.results.groups() == [("one",), ("other",)]
    assert len(experiment.fitted) == 12


def test_a_method_that_lacks_an_extra_is_left_out_and_noted_once() -> None:
    experiment = MadeExperiment()
    for split in (0, 1):
        fits = experiment.run(split, split, GROUP, {"deep": SEARCH, "made": SEARCH})
        assert list(fits) == ["made"]
    assert list(experiment.results.of(*GROUP)) == ["made"]
    (note,) = experiment.results.notes
    assert note.startswith("deep was left out") and "sightline[deep]" in note


@pytest.mark.parametrize("group", [("made",), ("made", "twice")])
def test_a_result_is_named_with_its_group(group: tuple[str, ...]) -> None:
    assert MethodResult[str]("PA", group).name == f"PA ({', '.join(group)})"
