"""Curves: the objective while learning, and time against pictures and tags."""

from __future__ import annotations

from pathlib import Path

from sightline.measures.plots import draw_lines
from sightline_experiments.regions.results import Growth, RegionResults


def draw_curves(results: RegionResults, out: Path) -> list[Path]:
    """Write what there is to draw; return the files."""
    files: list[Path] = []
    for features, (fitted, _) in results.models.items():
        if not fitted.course:
            continue
        steps = [float(s.iteration + 1) for s in fitted.course]
        values, gaps, f = zip(*((s.value, s.gap, s.f) for s in fitted.course), strict=True)
        title = f"Latent model, {features}, half 0"
        files += [out / f"learning-{features}.png", out / f"learning-f-{features}.png"]
        draw_lines(
            files[-2],
            {"objective, best so far": (steps, values), "gap": (steps, gaps)},
            f"{title}: objective and gap of the bundle method",
            ("iterations", "objective"),
        )
        draw_lines(
            files[-1],
            {"F of the best weights so far": (steps, f)},
            f"{title}: F on the pictures learnt from",
            ("iterations", "F"),
        )
    return files + _growth(results.growth, out)


def _growth(growth: list[Growth], out: Path) -> list[Path]:
    if not growth:
        return []
    # First all tags with more and more pictures, then all pictures with more and more tags.
    tags, pictures = growth[0].tags, growth[-1].pictures
    files = []
    by_pictures = {float(g.pictures): g for g in growth if g.tags == tags}
    by_tags = {float(g.tags): g for g in growth if g.pictures == pictures}
    for what, growths in (("pictures", by_pictures), ("tags", by_tags)):
        x = sorted(growths)
        files.append(out / f"growth-{what}.png")
        lines = {
            "learning, seconds": (x, [growths[n].learning for n in x]),
            "tagging a picture, milliseconds": (x, [1000 * growths[n].inference for n in x]),
        }
        draw_lines(files[-1], lines, f"Latent model: time against {what}", (what, "CPU time"))
    return files
