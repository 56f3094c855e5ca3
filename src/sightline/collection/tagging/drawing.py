"""Pictures with the regions of words drawn over them.

Each word has a colour; its region is tinted and outlined, the rest of the picture is paler.
Pictures are decoded by limited workers, and each hit is drawn into a file of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from sightline._typing import RGB, Bools
from sightline.collection.extraction import Extractor
from sightline.collection.tagging.localize import LocalizedHit, LocalizedHits
from sightline.contracts import Compute
from sightline.errors import UsageError
from sightline.regions.outlines import Mask
from sightline.settings import Settings

# Marker in the metadata of drawings: only files with it are replaced.
REGIONS, SCENES = "sightline regions", "sightline scenes"
_LINE, _MARGIN, _LEAST_SIDE = 20, 6, 320
_INK = (30, 30, 34)
# A palette for colour-blind readers (Okabe and Ito, 2008).
_COLORS = (
    (213, 94, 0), (0, 114, 178), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233),
)  # fmt: skip
_TINT, _PALE = 0.45, 0.35


@dataclass(frozen=True, slots=True)
class Labelled:
    """A word, the text of its legend, and its mask."""

    word: str
    legend: str
    mask: Mask


def overlay(rgb: RGB, words: Sequence[Labelled]) -> Image.Image:
    """Return a picture with its words' regions, and a legend below."""
    scale = max(1.0, _LEAST_SIDE / max(rgb.shape[:2]))
    size = (max(1, round(rgb.shape[1] * scale)), max(1, round(rgb.shape[0] * scale)))
    picture = np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.LANCZOS))
    masks = [_resized(w.mask.inside(), size) for w in words]
    grey = picture.mean(axis=2, keepdims=True)
    drawn = picture * (1 - _PALE) + (0.5 * grey + 127) * _PALE
    anywhere = np.any(masks, axis=0) if masks else np.zeros(picture.shape[:2], bool)
    drawn[anywhere] = picture[anywhere]
    for i, inside in enumerate(masks):
        color = np.array(_COLORS[i % len(_COLORS)])
        drawn[inside] = drawn[inside] * (1 - _TINT) + color * _TINT
        drawn[_edge(inside)] = color
    drawn = Image.fromarray(np.clip(drawn, 0, 255).astype(np.uint8))
    return _with_legend(drawn, words)


def save_overlay(rgb: RGB, words: Sequence[Labelled], target: str | os.PathLike[str]) -> None:
    """Draw into a PNG file that `is_drawing` recognises."""
    save_drawing(overlay(rgb, words), target, REGIONS)


def save_drawing(picture: Image.Image, target: str | os.PathLike[str], kind: str) -> None:
    """Write a PNG file that `is_drawing` recognises."""
    mark = PngInfo()
    mark.add_text("Software", kind)
    picture.save(target, "PNG", pnginfo=mark)


def is_drawing(path: str | os.PathLike[str], kind: str) -> bool:
    """Return whether a file is a drawing of that kind."""
    try:
        with open(path, "rb") as f:
            return kind.encode() in f.read(256)
    except OSError:
        return False


def clear_drawings(folder: Path, kind: str) -> None:
    """Create a folder or remove its drawings; raise if it holds any other file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = sorted(folder.iterdir())
    except OSError as e:
        raise UsageError(f"Nothing can be drawn into {folder}: {e.strerror}.") from e
    others = [p for p in files if not is_drawing(p, kind)]
    if others:
        raise UsageError(
            f"{folder} holds other files, such as {others[0].name}. Name a new or empty folder."
        )
    for p in files:
        p.unlink()


def _resized(inside: Bools, size: tuple[int, int]) -> Bools:
    tile = Image.fromarray(inside.astype(np.uint8) * 255)
    return np.asarray(tile.resize(size, Image.Resampling.NEAREST)) > 127


def _edge(inside: Bools) -> Bools:
    """Return the pixels of a mask within two pixels of its border."""
    core = inside.copy()
    for _ in range(2):
        padded = np.pad(core, 1, constant_values=True)
        core = (
            core & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
        )  # fmt: skip
    return inside & ~core


def _with_legend(picture: Image.Image, words: Sequence[Labelled]) -> Image.Image:
    font = ImageFont.load_default(13)
    texts = [f"{w.word}  {w.legend}" for w in words]
    wide = max([picture.width, *(int(font.getlength(t)) + 34 for t in texts)])
    height = picture.height + _MARGIN + _LINE * len(words)
    sheet = Image.new("RGB", (wide, height), "white")
    sheet.paste(picture, (0, 0))
    pen = ImageDraw.Draw(sheet)
    for i, text in enumerate(texts):
        y = picture.height + _MARGIN + i * _LINE
        pen.rectangle((6, y + 2, 18, y + 14), _COLORS[i % len(_COLORS)])
        pen.text((26, y), text, _INK, font)
    return sheet


_LONGEST = 60


def draw_regions(
    root: bytes, s: Settings, localized: LocalizedHits, folder: Path, compute: Compute | None = None
) -> list[Path]:
    """Draw each hit that has regions of words; return the files.

    Drawings of an earlier search are removed; a folder with other files raises.
    """
    clear_drawings(folder, REGIONS)
    with_regions = [(i, h) for i, h in enumerate(localized.hits, 1) if h.words]
    files = []
    with Extractor(s, compute, workers=s.workers) as extractor:
        pictures = extractor.pixels(root, [h.hit.path for _, h in with_regions])
        for (i, h), picture in zip(with_regions, pictures, strict=True):
            if picture.rgb is not None:
                files.append(folder / _name(i, h.hit.path))
                save_overlay(picture.rgb, labelled(h), files[-1])
    return files


def labelled(h: LocalizedHit) -> list[Labelled]:
    """Return the words of a hit with their legends."""
    legends = [f"{w.likely:.0%} likely" + ", tagged" * w.tagged for w in h.words]
    return [Labelled(w.word, text, w.mask) for w, text in zip(h.words, legends, strict=True)]


def _name(number: int, path: bytes) -> str:
    stem = os.path.splitext(os.path.basename(path))[0].decode("utf-8", "replace")
    plain = re.sub(r"[^\w.-]", "_", stem)[:_LONGEST]
    return f"{number:03d}-{plain}.png"
