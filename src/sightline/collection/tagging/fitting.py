"""Models of regions, each fitted to some of the pictures and asked about others, here or elsewhere.

Six models are learnt in a training, and none needs another: on a cluster they learn side by side.
What is learnt from goes out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.tagging.ground import Bools, Inputs, Int
from sightline.contracts import Json, Mapper, Part
from sightline.regions.scored import ScoredRegionModel

Arrays = dict[str, NDArray[Any]]
# Codewords say less than vectors do, and are held shorter.
_WHOLE_ALPHA, _REGION_ALPHA = 0.6, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What one model learns from and is asked about: positions of pictures."""

    learnt: Int
    asked: Int


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A model, and the margins of what it was asked about."""

    model: ScoredRegionModel
    margins: NDArray[np.float32]


def fitted(
    inputs: Inputs,
    labels: Bools,
    courses: Sequence[Course],
    scenes: int,
    compute: Mapper | None = None,
) -> Iterator[Outcome]:
    """Yield a model for each course, in order."""
    if compute is None:
        for c in courses:
            yield _fit(inputs, labels, c, scenes)
        return
    held = (compute.hold({"labels": labels, **_sent(inputs)}),)
    parts = (
        Part({"scenes": scenes}, {"learnt": c.learnt, "asked": c.asked}, held) for c in courses
    )
    for done in compute.map(fit_regions, parts):
        arrays = {n: np.asarray(a) for n, a in done.arrays.items()}
        margins = arrays.pop("margins")
        yield Outcome(ScoredRegionModel.from_arrays(arrays), margins)


def fit_regions(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Fit one model."""
    course = Course(arrays["learnt"], arrays["asked"])
    made = _fit(_received(arrays), arrays["labels"], course, int(str(args["scenes"])))
    return {}, {**made.model.to_arrays(), "margins": made.margins}


def _fit(inputs: Inputs, labels: Bools, course: Course, scenes: int) -> Outcome:
    some, other = inputs.only(course.learnt), inputs.only(course.asked)
    model = ScoredRegionModel(n_scenes=scenes)
    if some.whole is None:
        model.set_params(whole_alpha=_WHOLE_ALPHA, region_alpha=_REGION_ALPHA)
    model.fit(some.X, labels[course.learnt], some.whole, some.areas)
    margins = np.zeros((0, labels.shape[1]), np.float32)
    if len(course.asked):
        margins = model.decision_function(other.X, other.whole, other.areas).astype(np.float32)
    return Outcome(model, margins)


def _sent(inputs: Inputs) -> Arrays:
    """Return what is seen of pictures as few arrays."""
    counts = np.array([len(x) for x in inputs.X], np.int64)
    out: Arrays = {
        "counts": counts, "rows": np.concatenate(inputs.X), "areas": np.concatenate(inputs.areas)
    }  # fmt: skip
    return out if inputs.whole is None else {**out, "whole": inputs.whole}


def _received(arrays: Mapping[str, NDArray[Any]]) -> Inputs:
    ends = np.cumsum(arrays["counts"])[:-1]
    rows, areas = (np.split(arrays[n], ends) for n in ("rows", "areas"))
    return Inputs(rows, arrays.get("whole"), areas)
