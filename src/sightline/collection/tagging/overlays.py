"""Overlays of hits as files: pictures are decoded by limited workers, and drawn one a file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sightline.collection.explaining.looking import decoded
from sightline.collection.tagging.drawing import REGIONS, Labelled, clear_drawings, save_overlay
from sightline.collection.tagging.where import HitPlaces, Places
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute
from sightline.pictures.reading import ReadLimits
from sightline.settings import Settings

_LONGEST = 60


def draw_places(
    root: bytes, s: Settings, places: Places, folder: Path, compute: Compute | None = None
) -> list[Path]:
    """Draw each hit whose words lie somewhere; return the files.

    Drawings of an earlier search go; a folder with anything else in it is refused.
    """
    clear_drawings(folder, REGIONS)
    limits = ReadLimits(s.working_size, s.max_megapixels, int(s.max_file_mb * 1e6), s.follow)
    own = compute or LocalCompute(s.workers, seconds=s.seconds)
    some = [(i, h) for i, h in enumerate(places.hits, 1) if h.words]
    files = []
    try:
        read = decoded(root, [h.hit for _, h in some], own, limits)
        for (i, h), seen in zip(some, read, strict=True):
            if seen.rgb is not None:
                files.append(folder / _name(i, h.hit.path))
                save_overlay(seen.rgb, labelled(h), files[-1])
    finally:
        if compute is None:
            own.close()
    return files


def labelled(h: HitPlaces) -> list[Labelled]:
    """Return the words of a hit as they are drawn."""
    said = [f"{w.likely:.0%} likely" + ", carried" * w.carried for w in h.words]
    return [Labelled(w.word, text, w.mask) for w, text in zip(h.words, said, strict=True)]


def _name(number: int, path: bytes) -> str:
    stem = os.path.splitext(os.path.basename(path))[0].decode("utf-8", "replace")
    plain = re.sub(r"[^\w.-]", "_", stem)[:_LONGEST]
    return f"{number:03d}-{plain}.png"
