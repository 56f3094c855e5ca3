"""Descent on the true objective, against the same optimum found by cutting planes."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.solvers.descent import descend
from sightline.solvers.structural import STOPS, TrainingRound, course_summary, cutting_planes
from tests.factories.recorded_progress import RecordedProgress
from tests.solvers.test_structural import Binary, Doubles, Plane, made


class Sloped(Binary):
    """The linear SVM, with a slope."""

    def parameters(self) -> Doubles:
        return self.w.copy()

    def put(self, parameters: Doubles) -> None:
        self.w = parameters.copy()

    def slope(self, batch: Plane) -> Doubles:
        return self.lam * self.w - batch[1]


def sloped() -> Sloped:
    given = made()
    return Sloped(given.X, given.y, given.lam)


def test_it_ends_where_cutting_planes_do() -> None:
    by_planes, by_descent = made(), sloped()
    planes = cutting_planes(by_planes, eps=1e-6)
    found = descend(by_descent, max_rounds=500)
    assert found.stop == "converged"
    assert found.kept.objective == pytest.approx(planes.kept.objective, rel=0.01)
    assert by_descent.w == pytest.approx(by_planes.w, abs=0.1)


def test_the_best_is_kept_and_every_step_is_told() -> None:
    told, heard = RecordedProgress(), list[TrainingRound]()
    model = sloped()
    found = descend(model, 7, told, heard.append)
    assert found.stop == "max_rounds" and tuple(heard) == found.rounds[1:]
    assert len(heard) == told.done == 7 and told.finished
    assert found.kept.objective <= min(r.objective for r in found.rounds)
    violation = model.violations([model.separate()])[0]
    assert model.penalty() + max(0.0, violation) == pytest.approx(found.kept.objective)
    assert [r.number for r in found.rounds] == list(range(8))


def test_how_a_training_went_is_said_by_its_best_round() -> None:
    course = np.array([[0.0, 1.0, 1.0], [0.1, 0.3, 0.4], [0.1, 0.5, 0.6]])
    said = course_summary({"course": course, "stop": np.array(STOPS.index("max_rounds"))})
    assert said == "2 rounds, objective 0.4000 (penalty 0.1000, violation 0.3000), max_rounds"
    assert course_summary({"U": course}) == ""
