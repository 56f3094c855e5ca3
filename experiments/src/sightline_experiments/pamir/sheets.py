"""Figure 4: the five best pictures of PAMIR and of SVM for two queries, relevant ones framed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sightline.contracts import Compute
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.extraction import decoded
from sightline_experiments.pamir.evaluation import Shown
from sightline_experiments.pamir.results import PamirResults

METHODS = ("PAMIR", "SVM")
_CELL, _GAP, _LEFT, _HEAD, _FRAME = 192, 10, 76, 34, 5
_GREEN, _INK = "#2a9d4a", "#202020"


def draw_sheets(c: Corel5K, results: PamirResults, compute: Compute, out: Path) -> list[Path]:
    """Write a sheet for each set of features, of the first split; return the files."""
    files = []
    for features in results.features():
        ran = results.of(features)
        tops = {m: ran[m].outcomes[0].top for m in METHODS if m in ran}
        queries = list(dict.fromkeys(q for top in tops.values() for q in top))
        if not queries:
            continue
        numbers = sorted({p for top in tops.values() for s in top.values() for p, _ in s.best})
        pictures = dict(zip(numbers, decoded(c, numbers, compute), strict=True))
        rows = [(q, m, top[q]) for q in queries for m, top in tops.items()]
        file = out / f"figure4-{features}.png"
        sheet(rows, pictures).save(file, "PNG")
        files.append(file)
    return files


def sheet(
    rows: Sequence[tuple[str, str, Shown]], pictures: Mapping[int, NDArray[np.uint8]]
) -> Image.Image:
    """Lay out a row for each (query, method, what it found); a new query gets a line of its own."""
    columns = max(len(shown.best) for _, _, shown in rows)
    queries = list(dict.fromkeys(q for q, _, _ in rows))
    cell = _CELL + _GAP
    size = (_LEFT + columns * cell, len(queries) * _HEAD + len(rows) * cell + _GAP)
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    large, small = ImageFont.load_default(18), ImageFont.load_default(15)
    y, before = 0, ""
    for query, method, shown in rows:
        if query != before:
            title = f"{query}  ({shown.relevant} relevant)"
            draw.text((_GAP, y + _HEAD // 2), title, _INK, large, "lm")
            y, before = y + _HEAD, query
        n = sum(fits for _, fits in shown.best)
        draw.text((_GAP, y + _CELL // 2 - 10), method, _INK, small, "lm")
        draw.text((_GAP, y + _CELL // 2 + 10), f"{n} of {len(shown.best)}", _INK, small, "lm")
        for i, (picture, fits) in enumerate(shown.best):
            _place(image, draw, pictures[picture], (_LEFT + i * cell, y), fits)
        y += cell
    return image


def _place(
    image: Image.Image,
    draw: ImageDraw.ImageDraw,
    rgb: NDArray[np.uint8],
    at: tuple[int, int],
    fits: bool,
) -> None:
    """Put a picture into its cell, whole and as large as fits; a relevant one in a green frame."""
    inner = _CELL - 2 * _FRAME
    picture = Image.fromarray(rgb)
    scale = inner / max(picture.size)
    width, height = (max(1, round(side * scale)) for side in picture.size)
    x, y = at[0] + (_CELL - width) // 2, at[1] + (_CELL - height) // 2
    if fits:
        edge = (x - _FRAME, y - _FRAME, x + width + _FRAME - 1, y + height + _FRAME - 1)
        draw.rectangle(edge, fill=_GREEN)
    image.paste(picture.resize((width, height), Image.Resampling.BILINEAR), (x, y))
