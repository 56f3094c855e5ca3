"""Thumbnails in terminals that can show them.

The capabilities of a terminal are read from its environment alone: a query to the terminal would
mix with the user's input. Nothing is drawn if the output is not a terminal, or in tmux and screen.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from PIL import Image

Way = Literal["kitty", "iterm", "sixel", ""]
ROWS = 5
_SIXEL_PIXELS, _SIXEL_COLORS = 90, 64
_CHUNK = 4096


def way_to_show(environment: Mapping[str, str], is_terminal: bool) -> Way:
    """Return the graphics protocol of a terminal; empty if it has none.

    >>> way_to_show({"TERM": "xterm-kitty"}, True), way_to_show({"TERM": "xterm-kitty"}, False)
    ('kitty', '')
    """
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if not is_terminal or "TMUX" in environment or term.startswith(("screen", "tmux", "dumb")):
        return ""
    if "KITTY_WINDOW_ID" in environment or term == "xterm-kitty" or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    if "sixel" in term or term.startswith(("foot", "mlterm", "yaft")):
        return "sixel"
    return ""


def here() -> Way:
    """Return the graphics protocol of stdout."""
    import os

    return way_to_show(os.environ, sys.stdout.isatty())


def drawn(thumbnail: bytes, way: Way) -> str:
    """Return the escape sequence that shows a thumbnail; empty without a graphics protocol."""
    if way == "iterm":
        data = base64.b64encode(thumbnail).decode("ascii")
        what = f"inline=1;height={ROWS};preserveAspectRatio=1;size={len(thumbnail)}"
        return f"\x1b]1337;File={what}:{data}\x07"
    if not way:
        return ""
    from PIL import Image

    from sightline.pictures.thumbnails import FORMATS

    picture = Image.open(io.BytesIO(thumbnail), formats=FORMATS).convert("RGB")
    return _kitty(picture) if way == "kitty" else _sixel(picture)


def _kitty(picture: Image.Image) -> str:
    """Return a picture in kitty's graphics protocol: PNG, in chunks of at most 4,096 characters."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    pieces = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)]
    out = []
    for i, piece in enumerate(pieces):
        more = int(i < len(pieces) - 1)
        what = f"a=T,f=100,r={ROWS},m={more}" if i == 0 else f"m={more}"
        out.append(f"\x1b_G{what};{piece}\x1b\\")
    return "".join(out)


def _sixel(picture: Image.Image) -> str:
    """Return a picture as sixels: bands of six rows, drawn colour by colour."""
    import numpy as np

    picture.thumbnail((2 * _SIXEL_PIXELS, _SIXEL_PIXELS))
    few = picture.quantize(_SIXEL_COLORS)
    pixels = np.asarray(few)
    palette = (few.getpalette() or [])[: 3 * (int(pixels.max()) + 1)]
    out = [f'\x1bPq"1;1;{picture.width};{picture.height}']
    for i in range(0, len(palette), 3):
        r, g, b = (round(100 * value / 255) for value in palette[i : i + 3])
        out.append(f"#{i // 3};2;{r};{g};{b}")
    for top in range(0, len(pixels), 6):
        band = pixels[top : top + 6]
        bits = 1 << np.arange(len(band))
        for color in np.unique(band).tolist():
            row = ((band == color) * bits[:, None]).sum(axis=0)
            out.append(f"#{color}{_runs(row.tolist())}$")
        out.append("-")
    return "".join([*out, "\x1b\\"])


def _runs(row: list[int]) -> str:
    """Return sixels with run-length encoding.

    >>> _runs([0, 0, 0, 0, 1])
    '!4?@'
    """
    out, start = [], 0
    for i in range(1, len(row) + 1):
        if i == len(row) or row[i] != row[start]:
            sign = chr(63 + row[start])
            out.append(f"!{i - start}{sign}" if i - start > 3 else sign * (i - start))
            start = i
    return "".join(out)
