"""JPEG files of 384×256, the size of the Corel pictures that the block descriptors were made for.

Photographs of Caltech-101 brought to that size where data is given, generated pictures else, all
encoded anew at quality 92: about 28 KB for a photograph, as the files on the Corel CDs.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image

from benchmarks import pictures
from benchmarks.bench import Bench

_SIZE = (384, 256)
_QUALITY = 92

RGB = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Files:
    """Contents of JPEG files, and what they are in a few words."""

    data: list[bytes]
    what: str


def files(bench: Bench, n: int) -> Files:
    """Return n pictures, or all there are if these are fewer, evenly chosen."""
    folder = pictures.real_or_synthetic(bench)
    paths = sorted(folder.path.rglob("*.jpg"))
    chosen = np.linspace(0, len(paths) - 1, min(n, len(paths))).astype(int).tolist()
    made = bench.once(f"paper-size-{n}", lambda _: [_resized(paths[i]) for i in chosen])
    size = sum(map(len, made)) / len(made) / 1_000
    return Files(made, f"{len(made)} JPEGs of 384×256, {size:.0f} KB each, from {folder.what}")


def decode(data: bytes) -> RGB:
    """Return the pixels of a file."""
    rgb: RGB = simplejpeg.decode_jpeg(data, "RGB")
    return rgb


def _resized(path: Path) -> bytes:
    out = io.BytesIO()
    with Image.open(path) as picture:
        resized = picture.convert("RGB").resize(_SIZE, Image.Resampling.BICUBIC)
    resized.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
