"""Thumbnails are small, and nothing of a file but its pixels gets into them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import simplejpeg
from PIL import Image

from sightline.cli.dialogue.terminal import drawn
from sightline.collection.similarity.duplicates import cells_of
from sightline.pictures.decode import decode
from sightline.pictures.thumbnails import SIDE, contact_sheet, media_type, thumbnail
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


def chunks(webp: bytes) -> list[bytes]:
    """Return the kinds of chunks of a WebP file."""
    found, at = [], 12
    while at < len(webp):
        found.append(webp[at : at + 4])
        size = int.from_bytes(webp[at + 4 : at + 8], "little")
        at += 8 + size + size % 2
    return found


def has_no_metadata(file: bytes) -> bool:
    """Say whether a file has no part but those needed to decode it, and JFIF's own."""
    if any(t in file for t in TRACES):
        return False
    if file.startswith(b"RIFF"):
        return chunks(file) == [b"VP8 "]
    return not markers(file) & {*range(0xE1, 0xF0), 0xFE}


@pytest.mark.parametrize("name", FILES)
def test_no_metadata_of_any_sample_comes_along(name: str) -> None:
    small = thumbnail(decode((FIXTURES / name).read_bytes()).rgb)
    assert has_no_metadata(small)
    with Image.open(io.BytesIO(small), formats=("WEBP",)) as image:
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
        assert image.format == "WEBP" and image.mode == "RGB"
        assert max(image.size) == min(SIDE, max(width, height))
        got = np.asarray(image).astype(int)
    assert abs(got.mean() - rgb.mean()) < 4


def test_a_thumbnail_takes_few_bytes_and_looks_as_the_picture() -> None:
    """Detail of every scale, as in a photograph."""
    rng = np.random.default_rng(0)
    rgb = np.full((192, SIDE, 3), 128.0)
    for scale in (2, 4, 8, 16, 32, 64):
        coarse = rng.normal(128, scale**0.5 * 4, (192 // scale, SIDE // scale, 3))
        noisy = Image.fromarray(np.clip(coarse, 0, 255).astype(np.uint8))
        rgb += np.asarray(noisy.resize((SIDE, 192), Image.Resampling.BICUBIC)) - 128.0
    rgb = np.clip(rgb, 0, 255).astype(np.uint8)
    small, earlier = thumbnail(rgb), simplejpeg.encode_jpeg(rgb, 80, "RGB", "420")
    assert len(small) < 0.8 * len(earlier)
    with Image.open(io.BytesIO(small)) as image:
        error = np.asarray(image).astype(float) - rgb
    assert 10 * np.log10(255**2 / (error**2).mean()) > 30


def test_thumbnails_of_earlier_versions_stay_readable() -> None:
    rgb = np.full((90, 90, 3), (200, 0, 0), np.uint8)
    earlier = simplejpeg.encode_jpeg(rgb, 80, "RGB", "420")
    assert (media_type(earlier), media_type(thumbnail(rgb))) == ("image/jpeg", "image/webp")
    assert media_type(b"RIFF") == media_type(b"<svg") == media_type(b"") == ""
    sheet = np.asarray(contact_sheet([earlier, thumbnail(rgb)], ["a", "b"], cell=100))
    assert all(np.abs(sheet[54, x].astype(int) - [200, 0, 0]).max() < 8 for x in (54, 162))
    signatures = [cells_of(earlier), cells_of(thumbnail(rgb))]
    assert all(s is not None and np.abs(s[0].reshape(-1, 3) - [200, 0, 0]).max() < 8
               for s in signatures)  # fmt: skip
    assert "iVBOR" in drawn(earlier, "kitty") and "iVBOR" in drawn(thumbnail(rgb), "kitty")


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
