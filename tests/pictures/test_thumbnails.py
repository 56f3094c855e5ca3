"""Thumbnails are small, and nothing of a file but its pixels gets into them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.pictures.decode import decode
from sightline.pictures.thumbnails import SIDE, contact_sheet, thumbnail
from tests.factories.picture_files import encoded, exif, noise, pattern

FIXTURES = Path(__file__).parent / "fixtures"
FILES = sorted(p.name for p in FIXTURES.iterdir() if p.suffix not in (".md", ".xmp"))
TRACES = (b"Exif\0", b"http://", b"xpacket", b"Photoshop", b"8BIM", b"ICC_PROFILE", b"Secret")


def markers(jpeg: bytes) -> set[int]:
    """Return the kinds of segments before the pixels of a JPEG."""
    found, at = set(), 2
    while jpeg[at + 1] != 0xDA:
        assert jpeg[at] == 0xFF
        found.add(jpeg[at + 1])
        at += 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
    return found


def has_no_metadata(jpeg: bytes) -> bool:
    """Say whether a JPEG has no segment but those needed to decode it, and JFIF's own."""
    kinds = markers(jpeg)
    return not any(t in jpeg for t in TRACES) and not kinds & {*range(0xE1, 0xF0), 0xFE}


@pytest.mark.parametrize("name", FILES)
def test_no_metadata_of_any_sample_comes_along(name: str) -> None:
    small = thumbnail(decode((FIXTURES / name).read_bytes()).rgb)
    assert has_no_metadata(small)
    with Image.open(io.BytesIO(small), formats=("JPEG",)) as image:
        assert not image.getexif() and max(image.size) <= SIDE


def test_place_and_camera_do_not_come_along() -> None:
    profile = b"Secret profile" + bytes(200)
    options = {"exif": exif(1, gps=True), "icc_profile": profile, "comment": b"Secret comment"}
    source = encoded(pattern(300, 200), "JPEG", **options)
    assert source.count(b"Secret") == 3 and not has_no_metadata(source)
    with Image.open(io.BytesIO(source)) as image:
        assert image.getexif().get_ifd(0x8825)[2] == (52.0, 31.0, 12.0)
    assert has_no_metadata(thumbnail(decode(source).rgb))


@pytest.mark.parametrize(
    ("width", "height"), [(600, 300), (300, 600), (257, 2), (256, 256), (3, 2), (1, 384), (384, 1)]
)
def test_size_and_look(width: int, height: int) -> None:
    rgb = pattern(width, height)
    with Image.open(io.BytesIO(thumbnail(rgb))) as image:
        assert image.format == "JPEG" and image.mode == "RGB"
        assert max(image.size) == min(SIDE, max(width, height))
        got = np.asarray(image).astype(int)
    assert abs(got.mean() - rgb.mean()) < 4


def test_rows_that_do_not_lie_together_are_fine() -> None:
    assert thumbnail(noise(40, 30)[::-1, ::-1]) == thumbnail(noise(40, 30)[::-1, ::-1].copy())


def test_contact_sheet_has_a_cell_for_each() -> None:
    red = thumbnail(np.full((90, 90, 3), (200, 0, 0), np.uint8))
    blue = thumbnail(np.full((50, 300, 3), (0, 0, 200), np.uint8))
    sheet = np.asarray(contact_sheet([red, red, blue], ["a", "b" * 300, ""], columns=2, cell=100))
    assert sheet.shape == (2 * 132, 2 * 108, 3)
    assert np.abs(sheet[54, 54].astype(int) - [200, 0, 0]).max() < 8
    assert np.abs(sheet[132 + 54, 54].astype(int) - [0, 0, 200]).max() < 8
    assert sheet[132:, 108:].min() == 255  # The fourth cell is empty.
    with pytest.raises(ValueError):
        contact_sheet([red], [])
