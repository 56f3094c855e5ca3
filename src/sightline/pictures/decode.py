"""Decoding: bytes of a picture file in, a small upright RGB picture out.

Only listed formats are tried, the size in the header is checked before any pixel is decoded, and a
JPEG is shrunk while it is decoded. Everything else is converted to RGB in strips, so that a large
picture is never in memory twice. Still, run it in a worker with a memory limit.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline._typing import RGB
from sightline.contracts import RunAlone
from sightline.errors import DataError
from sightline.pictures.metadata import Metadata, read_metadata
from sightline.records import ARE_PROGRAMS

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")
EXTRA_FORMATS = ("HEIF", "AVIF")
# Above this many bytes of pixels a picture is decoded alone, so that memory stays bounded.
HEAVY_BYTES = 64 << 20
_STRIP_PIXELS = 1 << 20

# First bytes of formats; for files that cannot be opened they tell broken from unsupported.
_MAGIC = {
    b"\xff\xd8\xff": "JPEG", b"\x89PNG": "PNG", b"GIF8": "GIF", b"RIFF": "WEBP", b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}  # fmt: skip


class Unfit(DataError):
    """A picture that cannot be used; `kind` is the class of reason (see records.Skipped)."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded picture.

    Attributes
    ----------
    rgb : ndarray of uint8
        Its pixels, shrunk and upright.
    width, height : int
        Its full size.
    format : str
        Its file format.
    metadata : Metadata
        Orientation, time and words in its file.
    """

    rgb: RGB
    width: int
    height: int
    format: str
    metadata: Metadata


def decode(
    data: bytes, *, side: int = 384, max_megapixels: float = 100.0, heavy: bool = True
) -> Decoded:
    """Decode a picture so that its longer side is at most `side`.

    Raises
    ------
    Unfit
        The file is not a picture of a known format, is broken, or has too many pixels.
    RunAlone
        `heavy` is false and the picture would take more than `HEAVY_BYTES`.

    >>> import io
    >>> out = io.BytesIO(); Image.new("RGB", (800, 400), "red").save(out, "PNG")
    >>> decode(out.getvalue(), side=100).rgb.shape
    (50, 100, 3)
    """
    if not data:
        raise Unfit("empty", "the file is empty")
    with _quiet_pillow():
        image = _opened(data)
        kind = "JPEG" if image.format == "MPO" else str(image.format)
        width, height = image.size
        _check_size(width, height, max_megapixels)
        metadata = _metadata(image, data, kind)
        if not heavy and _cost(image, kind) > HEAVY_BYTES:
            raise RunAlone
        try:
            rgb = _pixels(image, data, kind, side)
        except (MemoryError, Unfit):
            raise
        except Exception as e:
            # Decoders raise a dozen kinds of exceptions for broken files; they all mean the same.
            raise Unfit("broken", f"the {kind} data is broken: {_short(e)}") from e
    rgb = upright(rgb, metadata.orientation)
    if metadata.orientation >= 5:
        width, height = height, width
    return Decoded(rgb, width, height, kind, metadata)


@contextlib.contextmanager
def _quiet_pillow() -> Iterator[None]:
    # Our own check of the size, right after opening, replaces Pillow's, which only warns at first.
    # Its other warnings (odd EXIF, odd TIFF tags) are of no use to the user.
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


def _opened(data: bytes) -> Image.Image:
    extra = _looks_heif(data)
    if extra:
        _register_heif()
    try:
        return Image.open(io.BytesIO(data), formats=FORMATS + (EXTRA_FORMATS if extra else ()))
    except MemoryError:
        raise
    except Exception as e:
        claimed = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
        if claimed:
            raise Unfit("broken", f"the {claimed} data is broken: its header is invalid") from e
        raise Unfit("format", _why_unknown(data)) from e


def _looks_heif(data: bytes) -> bool:
    return data[4:8] == b"ftyp" and data[8:12] in (
        b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1", b"avif", b"avis",
    )  # fmt: skip


def _register_heif() -> None:
    try:
        import pillow_heif
    except ImportError:
        need = "HEIC and AVIF pictures need: pip install 'sightline[heic]'"
        raise Unfit("format", need) from None
    pillow_heif.register_heif_opener()


def _why_unknown(data: bytes) -> str:
    start = bytes(data[:256]).lstrip().lower()
    if start.startswith((b"<svg", b"<?xml", b"<!doctype svg")):
        return f"SVG drawings are refused, {ARE_PROGRAMS}"
    if start.startswith((b"%!ps", b"\xc5\xd0\xd3\xc6")):
        return f"EPS and PostScript files are refused, {ARE_PROGRAMS}"
    return f"it is not a picture in a supported format ({', '.join(FORMATS)})"


def _check_size(width: int, height: int, max_megapixels: float) -> None:
    megapixels = width * height / 1e6
    if megapixels > max_megapixels:
        raise Unfit(
            "too-large",
            f"it has {width}×{height} = {megapixels:.9g} megapixels, the limit is "
            f"{max_megapixels:g}; raise it with --max-megapixels",
        )
    if width < 2 or height < 2:
        raise Unfit("broken", f"it has {width}×{height} pixels, fewer than 2×2")


def _metadata(image: Image.Image, data: bytes, kind: str) -> Metadata:
    if kind in EXTRA_FORMATS:
        exif, xmp = image.info.get("exif") or b"", image.info.get("xmp") or b""
        metadata = read_metadata(b"", kind, exif=exif, xmp=xmp)
        # The HEIF reader has already turned the picture upright, Pillow's AVIF reader has not.
        return Metadata(
            1 if kind == "HEIF" else metadata.orientation, metadata.taken, metadata.tags
        )
    metadata = read_metadata(data, kind)
    # Pillow turns a TIFF, and only that, upright while it loads it.
    return Metadata(1, metadata.taken, metadata.tags) if kind == "TIFF" else metadata


def _cost(image: Image.Image, kind: str) -> int:
    pixels = image.size[0] * image.size[1]
    if kind == "JPEG":
        # A progressive file keeps all its coefficients, two bytes each, until the last scan.
        return pixels * 6 if "progressive" in image.info else pixels // 8
    per_pixel = {"1": 1, "L": 1, "P": 1, "I;16": 2, "RGB": 4, "RGBA": 4, "CMYK": 4, "F": 4, "I": 4}
    return pixels * per_pixel.get(image.mode, 4) * (2 if kind == "WEBP" else 1)


def _pixels(image: Image.Image, data: bytes, kind: str, side: int) -> RGB:
    if kind == "JPEG":
        fast = _fast_jpeg(data, side)
        if fast is not None:
            return shrink(fast, side)
        image.draft("RGB", _at_least(image.size, side))
    image.load()
    return _in_strips(image, side)


def _at_least(size: tuple[int, int], side: int) -> tuple[int, int]:
    """Return the target size whose longer side is `side`."""
    scale = side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _fast_jpeg(data: bytes, side: int) -> RGB | None:
    """Decode by simplejpeg; None if it cannot, so that Pillow tries."""
    import simplejpeg

    try:
        height, width, space, _ = simplejpeg.decode_jpeg_header(data)
        if space not in ("YCbCr", "Gray", "RGB"):
            return None
        w, h = _at_least((width, height), side) if max(width, height) > side else (0, 0)
        rgb: RGB = simplejpeg.decode_jpeg(data, "RGB", min_width=w, min_height=h)
    except ValueError:
        return None
    return rgb


def _in_strips(image: Image.Image, side: int) -> RGB:
    width, height = image.size
    factor = max(1, max(width, height) // (2 * side))
    rows = max(factor, _STRIP_PIXELS // width // factor * factor)
    boxes = [(0, top, width, min(top + rows, height)) for top in range(0, height, rows)]
    # White in a float picture is determined once, for all strips.
    white = _white(image, boxes) if image.mode == "F" else 255.0
    strips: list[RGB] = []
    for box in boxes:
        part = _on_white(image.crop(box), white)
        strips.append(np.asarray(part.reduce(factor) if factor > 1 else part))
    return shrink(np.concatenate(strips), side)


def _on_white(part: Image.Image, white: float) -> Image.Image:
    if part.mode in ("I;16", "I;16B", "I;16L", "I"):
        grey = np.asarray(part).astype(np.int64)
        return Image.fromarray((np.clip(grey, 0, 65535) >> 8).astype(np.uint8)).convert("RGB")
    if part.mode == "F":
        grey = np.clip(_finite(part) * (255.0 / white), 0, 255)
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if part.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in part.info:
        part = part.convert("RGBA")
        paper = Image.new("RGB", part.size, "white")
        paper.paste(part, mask=part.getchannel("A"))
        return paper
    return part.convert("RGB")


def _white(image: Image.Image, boxes: list[tuple[int, int, int, int]]) -> float:
    """Return the value of white in a float picture: 1 if none is above it, else 255."""
    return 1.0 if all(_finite(image.crop(b)).max(initial=0.0) <= 1.0 for b in boxes) else 255.0


def _finite(part: Image.Image) -> NDArray[np.float64]:
    return np.nan_to_num(np.asarray(part, np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def shrink(rgb: RGB, side: int) -> RGB:
    """Return a picture whose longer side is at most `side`; smaller ones are left as they are."""
    height, width = rgb.shape[:2]
    if max(height, width) <= side:
        return rgb
    size = _at_least((width, height), side)
    small = Image.fromarray(rgb).resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(small)


# Quarter turns to the left, then whether to mirror, for each EXIF orientation.
_TURNS = {
    2: (0, True), 3: (2, False), 4: (2, True), 5: (3, True), 6: (3, False), 7: (1, True),
    8: (1, False),
}  # fmt: skip


def upright(rgb: RGB, orientation: int) -> RGB:
    """Turn a picture as its EXIF orientation says (1 to 8)."""
    if orientation not in _TURNS:
        return rgb
    turns, mirrored = _TURNS[orientation]
    turned = np.rot90(rgb, turns)
    return np.ascontiguousarray(turned[:, ::-1] if mirrored else turned)


def _short(e: BaseException) -> str:
    text = " ".join(str(e).split()) or type(e).__name__
    return text if len(text) <= 120 else text[:117] + "…"
