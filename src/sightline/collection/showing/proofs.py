"""Models as they are shown: with the figures that each keeps of its own proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.contracts import Json


@dataclass(frozen=True, slots=True)
class Proven:
    """A model and what held-out pictures said of it; None where they said nothing.

    `candidate` and `untrained` are mean AvgP over `queries`; of likeness, `untrained` is all
    descriptors alike. `current` and `against_current` compare it with the model before, on the
    queries both know.
    """

    model: str
    kind: str
    trained: int | None
    queries: int
    candidate: float | None
    untrained: float | None
    p: float | None
    current: float | None
    against_current: float | None
    unproven: bool
    forced: bool


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version that is kept, with the models it serves."""

    version: int
    written: int
    pictures: int
    note: str
    current: bool
    finished: bool
    models: tuple[Proven, ...]


def proof_of(name: str, kind: str, figures: Mapping[str, Json]) -> Proven:
    """Return the figures that a model keeps of its proof."""

    def number(key: str) -> Any:
        value = figures.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    return Proven(
        name, kind, number("trained"), number("n") or 0, number("candidate"),
        number("untrained" if kind == "words" else "uniform"), number("p"), number("current"),
        number("against_current"), bool(figures.get("unproven", True)),
        bool(figures.get("forced", False)),
    )  # fmt: skip
