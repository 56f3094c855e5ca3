"""Curves: the objective while learning, and time against pictures and tags."""

from __future__ import annotations

from pathlib import Path

from sightline.measures.plots import draw_lines
from sightline.reproduce.regions.results import Growth, Results


def draw_curves(found: Results, out: Path) -> list[Path]:
    """Write what there is to draw; return the files."""
    files = []
    for features, (fitted, _) in found.models.items():
        if fitted.model is None:
            continue
        course = fitted.model.model_.minimum_
        steps = [float(i + 1) for i in range(len(course.values))]
        files.append(out / f"learning-{features}.png")
        draw_lines(
            files[-1],
            {"objective, best so far": (steps, course.values), "gap": (steps, course.gaps)},
            f"Latent model, {features}, half 0: objective and gap of the bundle method",
            ("iterations", "objective"),
        )
    return files + _growth(found.growth, out)


def _growth(growth: list[Growth], out: Path) -> list[Path]:
    if not growth:
        return []
    most, tags = max(g.pictures for g in growth), max(g.tags for g in growth)
    files = []
    for what, some, across in (
        ("pictures", [g for g in growth if g.tags == tags], lambda g: float(g.pictures)),
        ("tags", [g for g in growth if g.pictures == most], lambda g: float(g.tags)),
    ):
        some = sorted(some, key=across)
        x = [across(g) for g in some]
        files.append(out / f"growth-{what}.png")
        lines = {
            "learning, seconds": (x, [g.learning for g in some]),
            "tagging a picture, milliseconds": (x, [1000 * g.inference for g in some]),
        }
        draw_lines(files[-1], lines, f"Latent model: time against {what}", (what, "CPU time"))
    return files
