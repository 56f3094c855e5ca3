"""The task of a describe worker: one small picture in, one checked row of each feature out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sightline.compute.features import (
    DESCRIBE_TASK,
    describe_job,
    fingerprint,
    load_feature,
    rows_of,
)
from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute, Done, Failed
from sightline.errors import DataError
from tests.factories import plugin_features as made
from tests.factories.picture_files import noise
from tests.factories.worker_tasks import let_workers_import

MEAN, SIZE = "plugin_features:MeanColour", "plugin_features:Size"
RED = np.full((20, 30, 3), (255, 0, 0), np.uint8)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    let_workers_import(monkeypatch)


@pytest.fixture(params=["inline", "local"])
def compute(request: pytest.FixtureRequest) -> Iterator[Compute]:
    c = InlineCompute() if request.param == "inline" else LocalCompute(1)
    yield c
    c.close()


def test_rows_of_several_features_come_back_in_order(compute: Compute) -> None:
    pictures = [noise(40, 30, seed=i) for i in range(4)] + [noise(768, 768), RED]
    jobs = [describe_job(b"", p, [MEAN, SIZE, MEAN]) for p in pictures]
    answers = list(compute.run(DESCRIBE_TASK, jobs, "describe"))
    for picture, answer in zip(pictures, answers, strict=True):
        assert isinstance(answer, Done)
        mean, size, again = (r for r in rows_of(answer) if not isinstance(r, tuple))
        assert mean.dtype == np.float32 and mean.shape == (3,)
        assert np.array_equal(mean, made.MeanColour().describe(picture))
        assert np.array_equal(again, mean) and size.tolist() == list(picture.shape[:2])


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("plugin_features:RaisesAtRed", "I do not like red"),
        (
            "plugin_features:NotFiniteAtRed",
            "not-finite-at-red returned a value that is not finite.",
        ),
        ("plugin_features:WrongShapeAtRed", "wrong-shape-at-red returned shape (2,), not (3,)."),
        ("plugin_features:NoDescribe", "plugin_features:NoDescribe is not a feature."),
        ("plugin_features:NoSuch", "has no attribute 'NoSuch'"),
    ],
)
def test_feature_that_fails_says_so_for_that_picture_alone(place: str, reason: str) -> None:
    jobs = [describe_job(b"", p, [MEAN, place]) for p in (noise(9, 9), RED, noise(9, 9))]
    answers = list(InlineCompute().run(DESCRIBE_TASK, jobs, "describe"))
    failed = [a for a in answers if isinstance(a, Failed)]
    assert failed and all(f.kind == "broken" and reason in f.reason for f in failed)
    assert len(failed) == (1 if place.endswith("AtRed") else 3)


def test_picture_cannot_be_changed_by_a_feature() -> None:
    (answer,) = InlineCompute().run(
        DESCRIBE_TASK, [describe_job(b"", RED, ["plugin_features:Writes"])], "describe"
    )
    assert isinstance(answer, Failed) and "read-only" in answer.reason


def test_feature_is_made_once_in_a_process() -> None:
    assert load_feature(MEAN) is load_feature(MEAN)
    with pytest.raises(DataError, match="is not a feature"):
        load_feature("plugin_features:NoDescribe")


def test_fingerprint_tells_apart_what_does_not_fit_together() -> None:
    a = made.MeanColour()
    prints = {fingerprint(a, 384), fingerprint(a, 385), fingerprint(made.Size(), 384)}
    newer, other = made.MeanColour(), made.OddParameters()
    newer.version = 2
    prints.add(fingerprint(newer, 384))
    with pytest.raises(TypeError):
        fingerprint(other, 384)
    assert len(prints) == 4 and fingerprint(made.MeanColour(), 384) in prints


@pytest.mark.parametrize(("shape", "features"), [("x", []), ([2, 2, 3], "y"), ([5, 5, 3], [])])
def test_job_that_makes_no_sense_fails(shape: object, features: object) -> None:
    good = describe_job(b"", RED[:2, :2], [MEAN])
    bad = type(good)(b"", {"shape": shape, "features": features}, good.blob)  # type: ignore[dict-item]
    (answer,) = InlineCompute().run(DESCRIBE_TASK, [bad], "describe")
    assert isinstance(answer, Failed)
