"""The rows of the report: one figure each, with what it is measured against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from sightline.contracts import Json


class BenchmarkError(Exception):
    """A benchmark that gave a wrong result; how fast it was does not matter then."""


@dataclass(frozen=True, slots=True)
class Goal:
    """The figure not to be exceeded: of the value itself, or of its ratio to the baseline."""

    of: Literal["value", "ratio"]
    at_most: float
    stretch: float | None = None

    def __str__(self) -> str:
        times = "×" if self.of == "ratio" else ""
        further = f" ({self.stretch:g}{times})" if self.stretch is not None else ""
        return f"≤ {self.at_most:g}{times}{further}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `samples` holds every repetition of ours and of the baseline's."""

    name: str
    value: float
    unit: str
    baseline: str = ""
    baseline_value: float | None = None
    ratio: float | None = None
    goal: Goal | None = None
    repetitions: int = 1
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Say whether the goal is met; None where there is none."""
        if self.goal is None:
            return None
        figure = self.value if self.goal.of == "value" else self.ratio
        return figure is not None and figure <= self.goal.at_most

    def as_json(self) -> dict[str, Json]:
        """Return the row as plain values."""
        goal: dict[str, Json] | None = None
        if self.goal is not None:
            g = self.goal
            goal = {"of": g.of, "at_most": g.at_most, "stretch": g.stretch}
        samples = {side: list[Json](values) for side, values in self.samples.items()}
        # What readers of older files know the baseline by.
        aliases: dict[str, Json] = {"rival": self.baseline, "rival_value": self.baseline_value}
        if "baseline" in samples:
            samples["rival"] = samples["baseline"]
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "baseline": self.baseline,
            "baseline_value": self.baseline_value,
            "ratio": self.ratio,
            "goal": goal,
            "met": self.met,
            "repetitions": self.repetitions,
            "samples": dict[str, Json](samples),
            "note": self.note,
            **aliases,
        }


def compared(
    name: str,
    unit: str,
    ours: Sequence[float],
    baseline: str,
    baseline_samples: Sequence[float],
    goal: Goal | None = None,
    note: str = "",
) -> Row:
    """Return a row of ours beside a baseline's; sample n of each was taken one after the other.

    The ratio is the median of the ratios of such pairs, because a machine that slows down half-way
    slows both of a pair. It is always ours over the baseline's, whatever the unit.
    """
    ratios = [a / b for a, b in zip(ours, baseline_samples, strict=True)]
    return Row(
        name,
        median(ours),
        unit,
        baseline,
        median(baseline_samples),
        median(ratios),
        goal,
        len(ours),
        {"ours": ours, "baseline": baseline_samples},
        note,
    )


def curve(
    name: str, unit: str, sizes: Sequence[int], what: str, taken: Sequence[Sequence[float]],
    goal: Goal,
) -> Row:  # fmt: skip
    """Return a row for the largest size beside the smallest, with all of them in its note."""
    points = [f"{n:,}: {median(t):.3g}" for n, t in zip(sizes, taken, strict=True)]
    note = f"{unit} at " + ", ".join(points) + f" {what}"
    return compared(name, unit, taken[-1], f"{unit} at {sizes[0]:,} {what}", taken[0], goal, note)


def alone(
    name: str, unit: str, ours: Sequence[float], goal: Goal | None = None, note: str = ""
) -> Row:
    """Return a row that is measured against nothing but its goal."""
    samples = {"ours": ours}
    return Row(name, median(ours), unit, goal=goal, repetitions=len(ours), samples=samples,
               note=note)  # fmt: skip


_HEAD = ("name", "ours", "baseline or limit", "ratio", "goal", "met?")


def table(rows: Sequence[Row]) -> str:
    """Return the rows as one table, with the notes below it."""
    body = [_HEAD, *(_cells(r) for r in rows)]
    widths = [max(len(line[i]) for line in body) for i in range(len(_HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in body]
    lines.insert(1, "  ".join("-" * w for w in widths))
    notes = [f"{r.name}: {r.note}" for r in rows if r.note]
    return "\n".join(line.rstrip() for line in [*lines, *([""] if notes else []), *notes])


def _cells(r: Row) -> tuple[str, ...]:
    baseline = r.baseline
    if r.baseline_value is not None:
        baseline = f"{_figure(r.baseline_value)} {r.baseline}"
    return (
        r.name,
        f"{_figure(r.value)} {r.unit}",
        baseline or "-",
        f"{r.ratio:.3f}" if r.ratio is not None else "-",
        str(r.goal) if r.goal is not None else "-",
        {None: "-", True: "yes", False: "NO"}[r.met],
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
