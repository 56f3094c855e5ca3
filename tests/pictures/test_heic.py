"""HEIC and AVIF, with the extra installed."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from sightline.pictures.decode import decode


@pytest.mark.parametrize("kind", ["HEIF", "AVIF"])
def test_a_picture_comes_out_upright_and_small(kind: str) -> None:
    heif = pytest.importorskip("pillow_heif", reason="the extra [heic] is not installed")
    heif.register_heif_opener()
    picture = Image.new("RGB", (800, 400), "blue")
    picture.paste("red", (0, 0, 400, 400))
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    picture.save(out, kind, exif=exif.tobytes())
    decoded = decode(out.getvalue(), side=100)
    assert decoded.format == kind
    assert (decoded.width, decoded.height) == (400, 800)
    assert decoded.rgb.shape == (100, 50, 3)
    # Turned a quarter to the right, what was left is on top.
    assert np.abs(decoded.rgb[20, 25].astype(int) - (255, 0, 0)).max() < 40
    assert np.abs(decoded.rgb[80, 25].astype(int) - (0, 0, 255)).max() < 40
