"""Models as they are shown: with the figures that each keeps of its own proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.contracts import Json


# What each kind calls the figure without a model, and its own beside that of the model before.
_NAMES = {
    "words": ("untrained", "against_current"), "likeness": ("uniform", "against_current"),
    "regions": ("same", "against"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proven:
    """A model and what held-out pictures said of it; None where they said nothing.

    `candidate` and `untrained` are by `measure` over `queries`, of regions over so many pictures.
    `untrained` is, of likeness, all descriptors alike, and of regions, the same words for every
    picture. `current` and `against_current` compare it with the model before, on what both know.
    """

    model: str
    kind: str
    measure: str
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

    without, against = _NAMES[kind]
    measure = "F" if kind == "regions" else "AvgP"
    return Proven(
        name, kind, measure, number("trained"), number("n") or 0, number("candidate"),
        number(without), number("p"), number("current"),
        number(against), bool(figures.get("unproven", True)),
        bool(figures.get("forced", False)),
    )  # fmt: skip
