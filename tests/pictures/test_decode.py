"""Decoding: every odd kind of file gives the right small picture or a reason, nothing else."""

from __future__ import annotations

import io
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sightline.contracts import RunAlone
from sightline.pictures import decode as room
from sightline.pictures.decode import Decoded, Unfit, decode, shrink, upright
from tests.factories.picture_files import (
    FORMATS,
    HEIC,
    bad,
    chunk,
    encoded,
    exif,
    good,
    huge_png,
    noise,
    odd_but_good,
    pattern,
    raw_png,
    turned,
)
from tests.naive.pictures import small_rgb

FIXTURES = Path(__file__).parent / "fixtures"
LOSSLESS = {"PNG": {}, "TIFF": {}, "WEBP": {"lossless": True, "exact": True}, "BMP": {}}


@pytest.mark.parametrize("kind", FORMATS)
def test_small_picture_stays_as_it_is(kind: str) -> None:
    rgb = pattern(60, 40)
    got = decode(encoded(rgb, kind, **LOSSLESS.get(kind, {})))
    assert (got.width, got.height, got.format) == (60, 40, kind) and got.rgb.dtype == np.uint8
    if kind in LOSSLESS:
        assert np.array_equal(got.rgb, rgb)
    else:
        assert np.abs(got.rgb.astype(int) - rgb).mean() < 12


@pytest.mark.parametrize("name", sorted(odd_but_good()))
def test_odd_kinds_are_decoded(name: str) -> None:
    got = decode(odd_but_good()[name])
    assert got.rgb.shape == (got.height, got.width, 3) and got.rgb.dtype == np.uint8


@pytest.mark.parametrize("name", sorted(n for n in bad() if not n.endswith((".svg", ".eps"))))
def test_bad_file_says_why(name: str) -> None:
    data, kind, reason = bad()[name]
    with pytest.raises(Unfit) as caught:
        decode(data)
    assert caught.value.kind == kind and reason in str(caught.value)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_first_frame_of_an_animation(kind: str) -> None:
    got = decode(odd_but_good()[f"animated.{kind.lower()}"]).rgb
    assert np.abs(got.astype(int) - pattern(60, 40)).mean() < 8
    assert np.abs(got.astype(int) - pattern(60, 40, 3)).mean() > 8


def test_cmyk_jpeg_is_shrunk_while_decoded_and_keeps_its_colours() -> None:
    rgb = pattern(800, 600)
    cmyk = encoded(Image.fromarray(rgb).convert("CMYK"), "JPEG", quality=95)
    got = decode(cmyk, side=100)
    assert (got.width, got.height, got.rgb.shape) == (800, 600, (75, 100, 3))
    assert np.abs(got.rgb.astype(int) - shrink(rgb, 100)).mean() < 6


def test_sixteen_bits_and_one_bit_span_black_to_white() -> None:
    for name in ("16bit-grey.png", "16bit-rgb.png"):
        rgb = decode(odd_but_good()[name]).rgb
        assert rgb[0, 0].tolist() == [0, 0, 0] and rgb[-1, -1].tolist() == [255, 255, 255]
        assert np.abs(rgb[20, 0].astype(int) - 128).max() <= 1
    assert set(np.unique(decode(odd_but_good()["1bit.png"]).rgb)) == {0, 255}


def test_whole_numbers_of_32_bits_are_read_as_16_bits() -> None:
    values = np.array([[-5, 0, 32768], [65535, 70000, 256]], np.int32)
    got = decode(encoded(Image.fromarray(values), "TIFF")).rgb[..., 0]
    assert got.tolist() == [[0, 0, 128], [255, 255, 1]]


def test_transparent_parts_lie_on_white() -> None:
    rgba = np.zeros((4, 6, 4), np.uint8)
    rgba[:, 3:] = (255, 0, 0, 255)
    rgba[0, 0] = (0, 0, 0, 128)
    got = decode(encoded(rgba, "PNG")).rgb
    assert got[2, 1].tolist() == [255, 255, 255] and got[2, 4].tolist() == [255, 0, 0]
    assert np.abs(got[0, 0].astype(int) - 127).max() <= 1


def test_colour_declared_transparent_lies_on_white() -> None:
    palette = Image.fromarray(np.array([[0, 1], [1, 0]], np.uint8), "P")
    palette.putpalette([10, 20, 30, 200, 100, 50])
    got = decode(encoded(palette, "PNG", transparency=0)).rgb
    assert got.tolist() == [[[255] * 3, [200, 100, 50]], [[200, 100, 50], [255] * 3]]
    rgb = encoded(np.full((2, 2, 3), 7, np.uint8), "PNG", transparency=(7, 7, 7))
    assert decode(rgb).rgb.min() == 255


def test_float_picture_has_one_white_for_all_its_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dark strip of a picture that goes up to 255 must not be taken for one that goes to 1."""
    values = np.full((200, 50), 0.5, np.float32)
    values[150:] = 200
    values[0, 0] = np.nan
    monkeypatch.setattr(room, "_STRIP_PIXELS", 50 * 20)
    got = decode(encoded(Image.fromarray(values), "TIFF")).rgb
    assert got[10].max() == 0 and got[199].min() == 200
    bright = encoded(Image.fromarray(np.full((200, 50), 0.5, np.float32)), "TIFF")
    assert set(np.unique(decode(bright).rgb)) == {127}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_every_orientation_gives_the_same_upright_picture(kind: str, orientation: int) -> None:
    rgb = pattern(60, 40)
    options = {"quality": 95, "subsampling": 0} if kind == "JPEG" else LOSSLESS[kind]
    stored = encoded(turned(rgb, orientation), kind, exif=exif(orientation), **options)
    got = decode(stored)
    assert (got.width, got.height) == (60, 40)
    assert np.abs(got.rgb.astype(int) - rgb).max() <= (12 if kind == "JPEG" else 0)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_that_exiftool_wrote(orientation: int) -> None:
    stored = decode((FIXTURES / "base.jpg").read_bytes()).rgb
    got = decode((FIXTURES / f"exiftool-orientation-{orientation}.jpg").read_bytes()).rgb
    assert np.array_equal(turned(got, orientation), stored)


def test_unknown_orientation_changes_nothing() -> None:
    rgb = noise(5, 4)
    assert upright(rgb, 0) is rgb and upright(rgb, 9) is rgb


@pytest.mark.parametrize(("width", "height"), [(10_000, 2), (2, 10_000), (385, 384), (3, 1000)])
def test_longer_side_is_the_working_size(width: int, height: int) -> None:
    got = decode(encoded(pattern(width, height), "PNG"))
    assert max(got.rgb.shape[:2]) == 384 and (got.width, got.height) == (width, height)


def test_megapixel_limit_is_inclusive_and_can_be_set() -> None:
    data = encoded(pattern(100, 100), "PNG")
    assert decode(data, max_megapixels=0.01).width == 100
    with pytest.raises(Unfit, match=r"100×100 = 0\.01 megapixels, the limit is 0\.009"):
        decode(data, max_megapixels=0.009)


def test_a_hundred_megapixels_in_full_colour_are_decoded_alone() -> None:
    data = huge_png(10_000, 10_000)
    with pytest.raises(RunAlone):
        decode(data, heavy=False)
    got = decode(data)
    assert (got.width, got.height, got.rgb.shape) == (10_000, 10_000, (384, 384, 3))
    assert got.rgb[100, 10].tolist() == [255, 0, 0]
    assert np.abs(got.rgb[300, 300].astype(int) - [127, 127, 255]).max() <= 1


def test_a_large_baseline_jpeg_is_light_and_a_progressive_one_is_heavy() -> None:
    rgb = np.zeros((4000, 4000, 3), np.uint8)
    assert decode(encoded(rgb, "JPEG"), heavy=False).width == 4000
    with pytest.raises(RunAlone):
        decode(encoded(rgb, "JPEG", progressive=True), heavy=False)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\n <svg ", "SVG"),
        (b"<!DOCTYPE svg ", "SVG"),
        (b"\xc5\xd0\xd3\xc6", "EPS"),
        (b"%!PS", "EPS"),
    ],
)
def test_drawings_and_programs_are_known_by_their_start(start: bytes, reason: str) -> None:
    with pytest.raises(Unfit, match=f"{reason} .* are refused"):
        decode(start + bytes(300))


def test_what_pillow_warns_of_is_neither_shown_nor_a_fault() -> None:
    plain = raw_png(2, 2, zlib.compress(bytes(2 * 7)), colour=2)
    no_frames = chunk(b"acTL", bytes(8))
    with pytest.warns(UserWarning, match="APNG"):
        Image.open(io.BytesIO(plain[:33] + no_frames + plain[33:]))
    assert decode(plain[:33] + no_frames + plain[33:]).rgb.max() == 0


@pytest.mark.parametrize(
    "error", [SyntaxError, ValueError, OverflowError, RecursionError, KeyError]
)
def test_whatever_a_decoder_raises_means_broken(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error("at byte 7")

    monkeypatch.setattr(room, "_in_strips", fail)
    with pytest.raises(Unfit, match=r"the PNG data is broken: .*at byte 7"):
        decode(good("PNG"))
    error = MemoryError
    with pytest.raises(MemoryError):
        decode(good("PNG"))


def test_heic_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(Unfit, match=r"pip install 'sightline\[heic\]'"):
        decode(HEIC)


def test_heic_and_avif_are_read_and_upright_with_the_extra() -> None:
    heif = pytest.importorskip("pillow_heif", reason="needs the extra [heic]")
    heif.register_heif_opener()
    rgb = pattern(60, 40)
    avif = decode(encoded(turned(rgb, 6), "AVIF", quality=95, exif=exif(6)))
    heic = decode(encoded(rgb, "HEIF", quality=95))
    for got, kind in ((avif, "AVIF"), (heic, "HEIF")):
        assert (got.format, got.width, got.height) == (kind, 60, 40)
        assert np.abs(got.rgb.astype(int) - rgb).mean() < 6


def test_pillow_is_left_as_it_was() -> None:
    before = Image.MAX_IMAGE_PIXELS
    decode(good("PNG"))
    with pytest.raises(Unfit):
        decode(b"x")
    assert before == Image.MAX_IMAGE_PIXELS is not None


def test_picture_cut_after_its_header_is_broken() -> None:
    with pytest.raises(Unfit) as caught:
        decode(raw_png(40, 40, zlib.compress(b"")))
    assert caught.value.kind == "broken"
    for kind in ("JPEG", "PNG", "GIF", "WEBP", "TIFF"):
        with pytest.raises(Unfit, match=f"the {kind} data is broken: its head") as caught:
            decode(good(kind)[:12])
        assert caught.value.kind == "broken"


# -- laws ----------------------------------------------------------------------------------------

MAGIC = (
    b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"BM",
    b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08", b"\0\0\0\x18ftypheic", b"%!PS", b"<svg",
)  # fmt: skip


def lawful(data: bytes, side: int = 32) -> None:
    """Check that bytes give a small RGB picture or a reason, and nothing else."""
    try:
        got = decode(data, side=side, max_megapixels=1)
    except Unfit as e:
        assert str(e) and e.kind in ("empty", "format", "broken", "too-large")
        return
    assert isinstance(got, Decoded)
    height, width, depth = got.rgb.shape
    assert got.rgb.dtype == np.uint8 and depth == 3 and 1 <= max(height, width) <= side
    assert got.width >= 2 and got.height >= 2 and got.width * got.height <= 1e6


@given(st.sampled_from(MAGIC), st.binary(max_size=400))
@settings(max_examples=300)
def test_arbitrary_bytes_give_a_picture_or_a_reason(magic: bytes, rest: bytes) -> None:
    lawful(magic + rest)


VALID = {
    **{kind: good(kind, 40, 30) for kind in FORMATS},
    **{name: odd_but_good()[name] for name in ("animated.gif", "animated.webp", "cmyk.jpg")},
    **{name: odd_but_good()[name] for name in ("float.tif", "palette-alpha.png", "turned-6.jpg")},
    "LZW": encoded(noise(40, 30), "TIFF", compression="tiff_lzw"),
}
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=12)


@pytest.mark.parametrize("name", sorted(VALID))
@given(edits=EDITS, front=st.booleans(), end=st.floats(0.3, 1))
@settings(max_examples=150)
def test_spoilt_files_give_a_picture_or_a_reason(
    name: str, edits: list[tuple[float, int]], front: bool, end: float
) -> None:
    data = bytearray(VALID[name])
    reach = min(len(data), 200) if front else len(data)
    for place, byte in edits:
        data[int(place * (reach - 1))] = byte
    lawful(bytes(data[: int(end * len(data)) + 1] if end < 0.8 else data))


def _image(mode: str, width: int, height: int) -> Image.Image:
    if mode == "I;16":
        values = np.random.default_rng(1).integers(0, 65536, (height, width), dtype=np.uint16)
        return Image.fromarray(values)
    if mode == "F":
        return Image.fromarray(np.random.default_rng(1).random((height, width), np.float32) * 255)
    rgba = Image.fromarray(noise(width, height, 4))
    if mode == "P":
        palette = rgba.convert("RGB").quantize(32)
        palette.info["transparency"] = bytes(range(0, 256, 8))
        return palette
    return rgba.convert("RGB").convert(mode) if mode in ("CMYK", "1", "L") else rgba.convert(mode)


@pytest.mark.parametrize("mode", ["RGBA", "CMYK", "I;16", "P", "LA", "RGB", "L", "1", "F"])
@given(
    width=st.integers(2, 150),
    height=st.integers(2, 150),
    side=st.integers(4, 40),
    strip=st.integers(1, 3000),
)
@settings(max_examples=40)
def test_strips_give_what_one_go_gives(
    mode: str, width: int, height: int, side: int, strip: int
) -> None:
    image = _image(mode, width, height)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_STRIP_PIXELS", strip)
        got = room._in_strips(image, side)
    expected = small_rgb(image, side)
    assert got.shape == expected.shape
    assert np.abs(got.astype(int) - expected).max() <= 1


@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 64))
def test_shrinking_never_enlarges(width: int, height: int, side: int) -> None:
    rgb = noise(width, height)
    got = shrink(rgb, side)
    if max(width, height) <= side:
        assert got is rgb
    else:
        assert max(got.shape[:2]) == side and min(got.shape[:2]) >= 1
