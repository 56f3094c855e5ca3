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
    by_pictures = {float(g.pictures): g for g in growth if g.tags == tags}
    by_tags = {float(g.tags): g for g in growth if g.pictures == most}
    for what, found in (("pictures", by_pictures), ("tags", by_tags)):
        x = sorted(found)
        files.append(out / f"growth-{what}.png")
        lines = {
            "learning, seconds": (x, [found[n].learning for n in x]),
            "tagging a picture, milliseconds": (x, [1000 * found[n].inference for n in x]),
        }
        draw_lines(files[-1], lines, f"Latent model: time against {what}", (what, "CPU time"))
    return files
