"""Heat maps: the contributions of parts, drawn over the hits on one sheet.

One row per hit: the picture, the map of the whole query, and the map of each word. Orange parts
raise the score, blue ones lower it; the two colours are safe for colour-blind readers. Where
nothing contributes the picture stays grey. The colours of a map are scaled to its strongest part,
whose value is printed below: compare positions by colour, and strengths by the values.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from sightline._typing import RGB, Doubles
from sightline.collection.explain.results import Blocks, Explanation, OcclusionMap
from sightline.records import NOT_YET_PROVEN, percent, shown

TILE, GAP, MARGIN = 232, 12, 16
MOST_WORDS = 4
_HEAD, _LINE = 74, 18
_INK, _FAINT, _EMPTY = (30, 30, 34), (100, 100, 108), (238, 238, 240)
# Colours for values from -1 to 1, equally dark on both sides of 0.
_STOPS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
_COLORS = np.array(
    [(36, 102, 202), (120, 179, 241), (236, 236, 238), (240, 156, 62), (186, 66, 4)], np.float64
)
_MARK = "sightline search --why"
_STRONGEST = 0.85  # opacity of the strongest part

Pen = ImageDraw.ImageDraw


def draw_sheet(whys: Sequence[Explanation], title: str = "") -> Image.Image:
    """Return an image with one row per hit."""
    words = [w.word for w in whys[0].learned] if whys else []
    together = [] if len(words) == 1 else ["all words"]
    columns = ["picture", *together, *words[:MOST_WORDS]]
    width = 2 * MARGIN + len(columns) * (TILE + GAP) - GAP
    heights = [_height(w) for w in whys]
    sheet = Image.new("RGB", (width, _HEAD + sum(heights) + MARGIN), "white")
    pen = ImageDraw.Draw(sheet)
    more = f"  (maps of the first {MOST_WORDS} words)" if len(words) > MOST_WORDS else ""
    _draw_head(sheet, pen, title + more, columns)
    top = _HEAD
    for i, (w, height) in enumerate(zip(whys, heights, strict=True)):
        _draw_row(sheet, pen, w, i + 1, top, bool(together))
        top += height
    return sheet


def save_sheet(whys: Sequence[Explanation], title: str, target: str | os.PathLike[str]) -> None:
    """Draw hits into a PNG file that `is_drawing` recognises."""
    mark = PngInfo()
    mark.add_text("Software", _MARK)
    draw_sheet(whys, title).save(target, "PNG", pnginfo=mark)


def is_drawing(path: str | os.PathLike[str]) -> bool:
    """Return whether `save_sheet` wrote a file."""
    try:
        with open(path, "rb") as f:
            return _MARK.encode() in f.read(256)
    except OSError:
        return False


def color_of(values: Doubles) -> Doubles:
    """Return the colours of values from -1 to 1.

    >>> color_of(np.array([0.0, 1.0])).astype(int).tolist()
    [[236, 236, 238], [186, 66, 4]]
    """
    parts = [np.interp(values, _STOPS, _COLORS[:, i]) for i in range(3)]
    return np.stack(parts, axis=-1)


def overlay_heat(rgb: RGB, where: Blocks, values: NDArray[np.float32]) -> RGB:
    """Return a grey picture under the colours of its blocks' contributions."""
    height, width = rgb.shape[:2]
    heat = np.zeros((height, width))
    cells = where.in_cells(values)
    strongest = np.abs(cells).max()
    if strongest > 0:
        # Blocks of visual words may leave out a strip at the right and bottom edge.
        covered = (
            round(where.right[-1] * width / where.width),
            round(where.down[-1] * height / where.height),
        )
        smooth = Image.fromarray(cells / strongest).resize(
            (max(1, covered[0]), max(1, covered[1])), Image.Resampling.BICUBIC
        )
        heat[: covered[1], : covered[0]] = np.clip(np.asarray(smooth), -1, 1)
    grey = rgb @ np.array([0.299, 0.587, 0.114])
    light = (95 + grey * (160 / 255))[..., None]
    cover = _STRONGEST * np.abs(heat)[..., None] ** 0.8
    # The colour is modulated by the picture's brightness, so that shapes stay visible.
    color = color_of(heat) * (0.55 + 0.45 * light / 255)
    return np.asarray(light * (1 - cover) + color * cover + 0.5).astype(np.uint8)


def _size(w: Explanation) -> tuple[int, int]:
    """Return width and height of a hit's tiles."""
    if w.picture is None:
        return TILE, TILE // 2
    height, width = w.picture.shape[:2]
    scale = TILE / max(height, width)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _height(w: Explanation) -> int:
    return _LINE + 4 + max(_size(w)[1], 2 * _LINE) + 2 * _LINE + GAP


def _draw_head(sheet: Image.Image, pen: Pen, title: str, columns: Sequence[str]) -> None:
    pen.text((MARGIN, 14), _fit(title, sheet.width // 2 - MARGIN, 18), _INK, _font(18))
    bar = 120
    left = sheet.width - MARGIN - bar - _long("raises the score", 12) - 6
    scale = color_of(np.linspace(-1, 1, bar))[None].repeat(10, axis=0).astype(np.uint8)
    sheet.paste(Image.fromarray(scale), (int(left), 20))
    pen.text((left - 6, 25), "lowers", _FAINT, _font(12), "rm")
    pen.text((left + bar + 6, 25), "raises the score", _FAINT, _font(12), "lm")
    for i, name in enumerate(columns):
        x = MARGIN + i * (TILE + GAP)
        pen.text((x, _HEAD - 14), _fit(name, TILE, 15), _INK, _font(15), "ls")
    pen.line((MARGIN, _HEAD - 6, sheet.width - MARGIN, _HEAD - 6), (200, 200, 205))


def _draw_row(
    sheet: Image.Image, pen: Pen, w: Explanation, number: int, top: int, together: bool
) -> None:
    match = w.hit.label
    room = sheet.width - 2 * MARGIN - _long(match, 13) - GAP
    pen.text((MARGIN, top), _fit(f"{number}  {shown(w.hit.path)}", room, 13), _INK, _font(13))
    pen.text((sheet.width - MARGIN, top), match, _INK, _font(13), "ra")
    top += _LINE + 4
    width, height = _size(w)
    if w.picture is not None:
        small = Image.fromarray(w.picture).resize((width, height), Image.Resampling.LANCZOS)
        sheet.paste(small, (MARGIN, top))
    else:
        pen.rectangle((MARGIN, top, MARGIN + width - 1, top + height - 1), _EMPTY)
    if w.parts is None:
        wrapped = "\n".join(textwrap.wrap(f"no heat map: {w.problem}", 34))
        pen.multiline_text((MARGIN + TILE + GAP, top), wrapped, _FAINT, _font(13))
        return
    for i, (values, lines) in enumerate(_maps(w, w.parts, together)):
        x = MARGIN + (i + 1) * (TILE + GAP)
        tile = overlay_heat(np.asarray(small), w.parts.blocks, values)
        sheet.paste(Image.fromarray(tile), (x, top))
        for j, line in enumerate(lines):
            place = x, top + height + 3 + j * (_LINE - 2)
            pen.text(place, _fit(line, TILE, 12), _INK if j == 0 else _FAINT, _font(12))


def _maps(
    w: Explanation, parts: OcclusionMap, together: bool
) -> list[tuple[NDArray[np.float32], tuple[str, str]]]:
    """Return the maps of a row, each with the two lines of text below it."""
    maps = [parts.of_query, *parts.of_words]
    tagged = [False, *(share.tagged for share in w.learned)]
    proven = [share.proven for share in w.learned]
    proven = [all(proven), *proven]
    captions = []
    for i, (values, is_tagged) in enumerate(zip(maps, tagged, strict=True)):
        likely = f"{percent(parts.likely[i])} likely" if proven[i] else NOT_YET_PROVEN
        first = f"predicted: {likely}" + ("; tagged" if is_tagged else "")
        strongest = f"strongest part {values.flat[np.abs(values).argmax()]:+.2g}"
        if parts.without and proven[i]:
            strongest += f"; {percent(parts.without[i])} without it"
        captions.append((first, strongest))
    begin = 0 if together else 1
    return list(zip(maps, captions, strict=True))[begin : 1 + MOST_WORDS]


@cache
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def _long(text: str, size: int) -> float:
    return float(_font(size).getlength(text))


def _fit(text: str, width: float, size: int) -> str:
    """Return a text, truncated to a width in pixels."""
    if _long(text, size) <= width:
        return text
    while text and _long(text + "…", size) > width:
        text = text[:-1]
    return text + "…"
