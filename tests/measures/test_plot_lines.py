"""Lines that are drawn for several methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.measures.plots import draw_lines

pytest.importorskip("matplotlib")


def pixels(file: Path) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(file).convert("RGB"))


def test_lines_are_drawn_and_axes_follow_the_scale_asked_for(tmp_path: Path) -> None:
    across = [10.0, 100.0, 1000.0]
    lines = {"one": (across, [0.1, 0.2, 0.3]), "two": (across, [0.3, 0.2, 0.1])}
    plain, logarithmic, single = (tmp_path / f"{n}.png" for n in ("plain", "log", "single"))
    draw_lines(plain, lines, "A title", ("triplets", "seconds"))
    draw_lines(logarithmic, lines, "A title", ("triplets", "seconds"), (True, True))
    draw_lines(single, {"one": lines["one"]}, "A title", ("triplets", "seconds"))
    assert (pixels(plain) != 255).any()
    assert not np.array_equal(pixels(plain), pixels(logarithmic))
    assert not np.array_equal(pixels(plain), pixels(single))


def test_many_points_have_no_marks(tmp_path: Path) -> None:
    few, many = tmp_path / "few.png", tmp_path / "many.png"
    draw_lines(few, {"a": ([0.0, 1.0], [0.0, 1.0])}, "t", ("x", "y"))
    across = np.linspace(0, 1, 50).tolist()
    draw_lines(many, {"a": (across, across)}, "t", ("x", "y"))
    # The same straight line, once with a mark at each end.
    assert (pixels(few) != 255).any(axis=2).sum() > (pixels(many) != 255).any(axis=2).sum()
