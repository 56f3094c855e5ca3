"""The kinds of models, and what is listed of each model that the store keeps.

The stored figures of a model (`about["figures"]`) have names of their own for each kind. The table
below is the only place where these names are mapped to those of `lifecycle.GateReport`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.contracts import Json


@dataclass(frozen=True, slots=True)
class ModelKind:
    """A kind of model: how it is stored, measured and named.

    Attributes
    ----------
    name : str
        In lists of models.
    prefix : str
        What the names of its models begin with in the store.
    pointer : str
        The field of a store version that names the model in use.
    title : str
        In messages.
    metric : str
        What held-out data is measured by.
    unit : str
        What is measured: queries or pictures.
    baseline : str
        What a model is compared with beside the one in use.
    baseline_slack : bool
        Whether it may be below the baseline by as much as below the one in use.
    figures : mapping
        Stored name of each figure, with the field or the extra figure of `GateReport`.
    """

    name: str
    prefix: str
    pointer: str
    title: str
    metric: str
    unit: str
    baseline: str
    baseline_slack: bool
    figures: Mapping[str, str]

    def stored_name(self, field: str) -> str:
        """Return the stored name of a field of `GateReport`; empty if it is not stored."""
        return next((key for key, name in self.figures.items() if name == field), "")


WORDS = ModelKind(
    "words", "words", "model", "word model", "mean AvgP", "queries", "the untrained order", False,
    {
        "n": "n", "candidate": "candidate", "untrained": "baseline", "p": "p", "helped": "helped",
        "harmed": "harmed", "p10": "p10", "bep": "bep", "current": "current",
        "against_current": "candidate_on_common", "n_both": "n_common",
        "not_compared": "not_compared",
    },
)  # fmt: skip

SIMILARITY = ModelKind(
    "likeness", "similar", "similar", "similarity model", "mean AvgP", "queries",
    "equal weights for all descriptors", True,
    {
        "n": "n", "candidate": "candidate", "uniform": "baseline", "single": "single", "p": "p",
        "helped": "helped", "harmed": "harmed", "current": "current",
        "not_compared": "not_compared",
    },
)  # fmt: skip

REGIONS = ModelKind(
    "regions", "region-tags", "regions", "region model", "F", "pictures",
    "the same words for every picture", True,
    {
        "n": "n", "candidate": "candidate", "same": "baseline", "current": "current",
        "against": "candidate_on_common", "given": "given", "right": "right",
    },
)  # fmt: skip

TEXT = ModelKind(
    "text", "text", "text", "text model", "mean AvgP", "pictures", "the untrained order", False,
    {
        "n": "n", "candidate": "candidate", "untrained": "baseline", "p": "p", "helped": "helped",
        "harmed": "harmed", "current": "current", "against_current": "candidate_on_common",
        "n_both": "n_common", "not_compared": "not_compared", "text_to_picture": "text_to_picture",
        "picture_to_text": "picture_to_text", "word_model": "word_model",
    },
)  # fmt: skip

MODEL_KINDS = {kind.name: kind for kind in (WORDS, SIMILARITY, REGIONS, TEXT)}
"""The kinds by the name that lists of models have."""


def measured_text(kind: ModelKind, about: Mapping[str, Json], on: str, baseline: str = "") -> str:
    """Return how a stored model did on held-out data, as the end of a line that describes it.

    >>> figures = {"candidate": 0.5, "untrained": 0.25, "forced": True}
    >>> measured_text(WORDS, {"figures": figures}, "pictures", "untrained")
    ', mean AvgP 0.500 on held-out pictures (untrained 0.250), forced'
    >>> measured_text(WORDS, {}, "pictures")
    ', unproven'
    """
    figures = about.get("figures")
    if not isinstance(figures, dict) or figures.get("candidate") is None:
        return ", unproven"
    text = f", {kind.metric} {figures['candidate']:.3f} on held-out {on}"
    if baseline:
        text += f" ({baseline} {figures[kind.stored_name('baseline')]:.3f})"
    return text + "".join(f", {mark}" for mark in ("unproven", "forced") if figures.get(mark))


@dataclass(frozen=True, slots=True)
class Proven:
    """A model and its figures on held-out data; None where nothing was measured.

    `candidate` and `untrained`, the baseline, are by `measure` over `queries`: over that many
    pictures for regions and texts. `current` and `against_current` compare the model with the one
    before, on what both know.
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
    """Return the figures that a model keeps of how it was measured."""
    spec = MODEL_KINDS[kind]

    def number(key: str) -> Any:
        value = figures.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def stored(field: str) -> Any:
        return number(spec.stored_name(field))

    return Proven(
        name, kind, spec.metric.removeprefix("mean "), number("trained"), stored("n") or 0,
        stored("candidate"), stored("baseline"), stored("p"), stored("current"),
        stored("candidate_on_common"), bool(figures.get("unproven", True)),
        bool(figures.get("forced", False)),
    )  # fmt: skip
