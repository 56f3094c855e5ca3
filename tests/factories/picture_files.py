"""Picture files for tests: good ones of every kind, broken ones, and ones made to do harm."""

from __future__ import annotations

import io
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RGB = NDArray[np.uint8]
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n"
HEIC = struct.pack(">I", 24) + b"ftypheic" + bytes(4) + b"mif1heic" + bytes(64)


def pattern(width: int, height: int, seed: int = 0) -> RGB:
    """Return a picture whose corners all differ, soft enough for any format."""
    y, x = np.mgrid[0:height, 0:width]
    down, right = y / max(1, height - 1), x / max(1, width - 1)
    parts = [40 + 200 * right, 30 + 180 * down, 255 * (1 - right) * (1 - down)]
    return (np.stack(parts, axis=2) * (1 - (seed % 7) / 20)).astype(np.uint8)


def noise(width: int, height: int, channels: int = 3, seed: int = 0) -> RGB:
    """Return a picture that cannot be compressed."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)


def encoded(image: Image.Image | RGB, kind: str, **options: Any) -> bytes:
    """Return a picture as the bytes of a file."""
    out = io.BytesIO()
    source = image if isinstance(image, Image.Image) else Image.fromarray(image)
    source.save(out, kind, **options)
    return out.getvalue()


def good(kind: str, width: int = 64, height: int = 48, seed: int = 0) -> bytes:
    """Return a file of a format, full of noise, so that any byte cut off is missed."""
    lossless = {"lossless": True} if kind == "WEBP" else {}
    return encoded(noise(width, height, seed=seed), kind, **lossless)


def turned(rgb: RGB, orientation: int) -> RGB:
    """Return the pixels a camera would store for an upright picture (the EXIF standard, tag 274).

    Row and column 0 of what is stored are the sides of the upright picture named in the table.
    """
    sides = {
        1: "top left", 2: "top right", 3: "bottom right", 4: "bottom left",
        5: "left top", 6: "right top", 7: "right bottom", 8: "left bottom",
    }  # fmt: skip
    row, column = sides[orientation].split()
    if row in ("left", "right"):
        rgb = rgb.transpose(1, 0, 2)
    rgb = rgb[::-1] if row in ("bottom", "right") else rgb
    return np.ascontiguousarray(rgb[:, ::-1] if column in ("bottom", "right") else rgb)


def exif(orientation: int, *, gps: bool = False) -> Image.Exif:
    """Return EXIF with an orientation, and perhaps a place on earth."""
    tags = Image.Exif()
    tags[274] = orientation
    if gps:
        tags[271] = "SecretCamera"
        tags.get_ifd(0x8825).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 36.0)})
    return tags


def chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def raw_png(width: int, height: int, packed: bytes, *, bits: int = 8, colour: int = 6) -> bytes:
    """Return a PNG with any header around already packed pixels."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", packed), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bomb_png(side: int = 60_000) -> bytes:
    """Return a PNG of a few bytes whose header promises a monster."""
    return raw_png(side, side, zlib.compress(bytes(1000)), colour=2)


def huge_png(width: int, height: int) -> bytes:
    """Return an RGBA PNG of many pixels, made without ever holding them.

    Its left half is opaque red, its right half blue that lets half of the white through. One block
    of rows is packed once; a full flush makes it independent, so that it can be repeated.
    """
    half = width // 2
    row = b"\0" + b"\xff\0\0\xff" * half + b"\0\0\xff\x80" * (width - half)
    rows_in_block = 100
    blocks, rest = divmod(height, rows_in_block)
    packer = zlib.compressobj(1)
    start = packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(row * rows_in_block) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(row * rest) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 1
    for _ in range(blocks):
        check = zlib.adler32(row * rows_in_block, check)
    check = zlib.adler32(row * rest, check)
    packed = start + block * blocks + end + b"\x03\x00" + struct.pack(">I", check)
    return raw_png(width, height, packed)


def odd_but_good() -> dict[str, bytes]:
    """Return files of unusual kinds that have to be indexed, by name."""
    rgb = pattern(60, 40)
    grey = Image.fromarray(rgb).convert("L")
    palette = Image.fromarray(rgb).quantize(16)
    frames = [Image.fromarray(pattern(60, 40, seed)) for seed in (1, 2, 3)]
    moving: dict[str, Any] = {"save_all": True, "append_images": frames, "duration": 50}
    ramp = np.linspace(0, 65535, 60 * 40).reshape(40, 60).astype(np.uint16)
    wide = b"".join(b"\0" + (row.astype(">u2").repeat(3)).tobytes() for row in ramp)
    return {
        "1bit.png": encoded(grey.convert("1"), "PNG"),
        "16bit-grey.png": encoded(Image.fromarray(ramp), "PNG"),
        "16bit-rgb.png": raw_png(60, 40, zlib.compress(wide), bits=16, colour=2),
        "animated.gif": encoded(Image.fromarray(rgb), "GIF", **moving),
        "animated.png": encoded(Image.fromarray(rgb), "PNG", **moving),
        "animated.webp": encoded(Image.fromarray(rgb), "WEBP", lossless=True, **moving),
        "cmyk.jpg": encoded(Image.fromarray(rgb).convert("CMYK"), "JPEG", quality=95),
        "float.tif": encoded(Image.fromarray((ramp / 65535).astype(np.float32)), "TIFF"),
        "grey-alpha.png": encoded(grey.convert("LA"), "PNG"),
        "jpeg-called.png": encoded(rgb, "JPEG"),
        "palette-alpha.png": encoded(palette, "PNG", transparency=3),
        "progressive.jpg": encoded(rgb, "JPEG", progressive=True),
        **{f"plain-{kind.lower()}.{_ENDINGS[kind]}": good(kind) for kind in FORMATS},
        **{f"turned-{n}.jpg": encoded(turned(rgb, n), "JPEG", exif=exif(n)) for n in range(1, 9)},
    }


_ENDINGS = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp", "TIFF": "tif", "BMP": "bmp"}


def bad() -> dict[str, tuple[bytes, str, str]]:
    """Return files that have to be skipped: content, kind and a piece of the reason, by name."""
    halves = {
        f"half.{_ENDINGS[kind]}": (good(kind)[: len(good(kind)) // 2], "broken", f"the {kind} data")
        for kind in FORMATS
    }
    installed = find_spec("pillow_heif") is not None
    heic = "not a picture in a supported format" if installed else "pip install 'sightline[heic]'"
    return {
        **halves,
        "bomb.png": (bomb_png(), "too-large", "60000×60000 = 3600 megapixels"),
        "drawing-called.jpg": (SVG, "format", "SVG drawings are refused"),
        "drawing.svg": (SVG, "format", ".svg files are not supported"),
        "empty.jpg": (b"", "empty", "the file is empty"),
        "one-pixel.png": (encoded(pattern(1, 1), "PNG"), "broken", "fewer than 2×2"),
        "phone.heic": (HEIC, "format", heic),
        "print-called.jpg": (EPS, "format", "EPS and PostScript files are refused"),
        "print.eps": (EPS, "format", ".eps files are not supported"),
        "text-called.jpg": (
            b"Dear Sir or Madam, " * 40,
            "format",
            "not a picture in a supported format",
        ),
        "wide.png": (
            raw_png(10_001, 10_000, zlib.compress(bytes(1000))),
            "too-large",
            "10001×10000 = 100.01 megapixels, the limit is 100; raise it with --max-megapixels",
        ),
    }


def zoo(folder: Path) -> Path:
    """Write all odd and all bad files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in odd_but_good().items():
        (folder / name).write_bytes(data)
    for name, (data, _, _) in bad().items():
        (folder / name).write_bytes(data)
    return folder
