"""Metadata of a picture file: its orientation, when it was taken, and the words in it.

`read_metadata` is a pure function of the file's bytes and runs on every picture, so it follows the
file's structure and reads only the parts it needs. It accepts any bytes: what is missing, damaged,
too large or hostile counts as absent, and the work is bounded.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from struct import Struct
from typing import Literal, NamedTuple

from sightline.pictures._iptc import iptc_resource, read_iptc
from sightline.pictures._xmp import MAX_BYTES, EmbeddedMetadata, read_xmp
from sightline.pictures.tally import Loss
from sightline.records import Tags

# Real files have some hundreds of segments, some thousands of chunks and under 200 entries.
_MAX_PARTS = 65_536
_MAX_ENTRIES = 4_096

_ORIENTATION, _CHANGED, _XMP, _IPTC, _RESOURCES = 0x0112, 0x0132, 0x02BC, 0x83BB, 0x8649
_EXIF_IFD, _ORIGINAL, _DIGITIZED = 0x8769, 0x9003, 0x9004
_FIELDS = frozenset(
    (_ORIENTATION, _CHANGED, _XMP, _IPTC, _RESOURCES, _EXIF_IFD, _ORIGINAL, _DIGITIZED)
)
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 7: 1, 13: 4, 16: 8, 18: 8}

_DATE = re.compile(
    r"\s*(\d{4})[:/.-](\d\d)[:/.-](\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)

_JPEG_EXIF = b"Exif\0\0"
_JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_JPEG_PHOTOSHOP = b"Photoshop 3.0\0"
_JPEG_BARE = frozenset((0x01, *range(0xD0, 0xD9)))
_PNG_XMP = b"XML:com.adobe.xmp"
_PNG_RAW = b"Raw profile type "
_PNG_NAMES = {b"exif": "exif", b"APP1": "exif", b"xmp": "xmp", b"iptc": "iptc", b"8bim": "iptc"}
_WEBP_NAMES = {b"EXIF": "exif", b"XMP ": "xmp"}
_GIF_XMP = re.compile(rb"\x21\xff\x0bXMP DataXMP")
_PACKET = re.compile(rb"<x:x[am]pmeta[\s>]")
_PACKET_END = re.compile(rb"</x:x[am]pmeta\s*>")
_GIF_END = b"\x01\xff\xfe\xfd\xfc"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a picture file.

    Attributes
    ----------
    orientation : int
        EXIF orientation, 1 to 8; 1 is upright and the default.
    taken : int or None
        Seconds from the start of 1970 to the clock time of taking, as if the camera stood in UTC.
    tags : tuple of Tags
        Words embedded in the file, from the sources ``xmp`` and ``iptc``.
    losses : tuple of Loss
        Words that were found and dropped.
    """

    orientation: int = 1
    taken: int | None = None
    tags: tuple[Tags, ...] = ()
    losses: tuple[Loss, ...] = ()


_EMPTY = Metadata()


class _Parts(NamedTuple):
    """The blocks of metadata found in a file, and those that are too large or broken."""

    exif: bytes | memoryview = b""
    xmp: bytes = b""
    iptc: bytes = b""
    losses: tuple[Loss, ...] = ()


def read_metadata(
    data: bytes | memoryview, kind: str, *, exif: bytes = b"", xmp: bytes = b""
) -> Metadata:
    """Read orientation, date and words from the bytes of a picture file.

    Parameters
    ----------
    data : bytes or memoryview
        The whole file.
    kind : str
        One of JPEG, PNG, GIF, WEBP, TIFF, BMP, HEIF, AVIF; other formats have no metadata.
    exif, xmp : bytes
        Blocks that a decoder already extracted; for HEIF and AVIF the only source.

    Returns
    -------
    Metadata
        Defaults for whatever is missing or unreadable.

    Examples
    --------
    >>> read_metadata(b"not a picture", "JPEG")
    Metadata(orientation=1, taken=None, tags=(), losses=())
    """
    reader = _READERS.get(kind)
    parts = reader(memoryview(data)) if reader else _Parts()
    header = exif or parts.exif
    fields = _exif_fields(memoryview(header)) if header else {}
    packet = xmp or parts.xmp or fields.get(_XMP, b"")
    # ImageMagick cuts the bare IPTC block of a TIFF to a quarter, not the one among the resources.
    records = parts.iptc or iptc_resource(fields.get(_RESOURCES, b"")) or fields.get(_IPTC, b"")
    if not (fields or packet or records or parts.losses):
        return _EMPTY
    from_xmp = read_xmp(packet) if packet else EmbeddedMetadata()
    from_iptc = read_iptc(records) if records else EmbeddedMetadata()
    return Metadata(
        _orientation(fields), _time_taken(fields, from_xmp, from_iptc), _tags(from_xmp, from_iptc),
        (*from_xmp.losses, *from_iptc.losses, *parts.losses),
    )  # fmt: skip


def xmp_packet(data: bytes | memoryview, kind: str) -> bytes:
    """Return the XMP packet embedded in a picture file; empty if none is found.

    >>> xmp_packet(b"not a picture", "JPEG")
    b''
    """
    view = memoryview(data)
    if reader := _READERS.get(kind):
        parts = reader(view)
        header = parts.exif
        return parts.xmp or (_exif_fields(memoryview(header)).get(_XMP, b"") if header else b"")
    # HEIF and AVIF have it in one piece.
    head = _PACKET.search(view)
    end = _PACKET_END.search(view, head.end()) if head else None
    return bytes(view[head.start() : end.end()]) if head and end else b""


def _tags(from_xmp: EmbeddedMetadata, from_iptc: EmbeddedMetadata) -> tuple[Tags, ...]:
    named = (("xmp", from_xmp), ("iptc", from_iptc))
    return tuple(Tags(name, m.labels, m.text) for name, m in named if m[:2] != ((), ""))


def _orientation(fields: dict[int, bytes]) -> int:
    value = int.from_bytes(fields.get(_ORIENTATION, b"\1"), "big")
    return value if 1 <= value <= 8 else 1


def _time_taken(
    fields: dict[int, bytes], from_xmp: EmbeddedMetadata, from_iptc: EmbeddedMetadata
) -> int | None:
    written = [fields.get(tag, b"").decode("latin-1") for tag in (_ORIGINAL, _DIGITIZED, _CHANGED)]
    written[2:2] = from_xmp.dates + from_iptc.dates
    moments = (_seconds(text) for text in written)
    return next((moment for moment in moments if moment is not None), None)


def _seconds(text: str) -> int | None:
    """Return the clock time of an EXIF or XMP date as seconds.

    >>> _seconds("1970:01:02 00:00:01"), _seconds("1970-01-01T00:00:02+05:00")
    (86401, 2)
    >>> _seconds("0000:00:00 00:00:00"), _seconds("    :  :     :  :  ")
    (None, None)
    """
    match = _DATE.match(text)
    if not match:
        return None
    try:
        moment = datetime(*map(int, match.groups("0")))  # type: ignore[arg-type]
    except ValueError:
        return None
    return (moment - _EPOCH) // _SECOND


class _TiffLayout:
    """How numbers are stored in a TIFF structure: byte order, and classic or BigTIFF."""

    def __init__(self, order: Literal["little", "big"], wide: bool) -> None:
        sign = "<" if order == "little" else ">"
        self.order = order
        self.start = 8 if wide else 4
        self.reference = 8 if wide else 4
        self.count = Struct(sign + ("Q" if wide else "H"))
        self.entry = Struct(sign + ("HHQ8s" if wide else "HHI4s"))


_LAYOUTS = {
    b"II*\0": _TiffLayout("little", False),
    b"MM\0*": _TiffLayout("big", False),
    b"II+\0": _TiffLayout("little", True),
    b"MM\0+": _TiffLayout("big", True),
}


def _exif_fields(view: memoryview) -> dict[int, bytes]:
    """Return the raw values of the known tags; numbers are converted to big-endian."""
    # A JPEG segment starts with the name Exif, a HEIF item with an offset and perhaps the name.
    for skip in (0, 6, 4, 10):
        layout = _LAYOUTS.get(bytes(view[skip : skip + 4]))
        if layout:
            view = view[skip:]
            break
    else:
        return {}
    fields = _directory(view, bytes(view[layout.start : layout.start + layout.reference]), layout)
    if _EXIF_IFD in fields:
        inner = _directory(view, fields[_EXIF_IFD], layout)
        fields.update((tag, inner[tag]) for tag in (_ORIGINAL, _DIGITIZED) if tag in inner)
    if layout.order == "little" and _ORIENTATION in fields:
        fields[_ORIENTATION] = fields[_ORIENTATION][::-1]
    return fields


def _directory(view: memoryview, reference: bytes, layout: _TiffLayout) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    at = int.from_bytes(reference, layout.order)
    first = at + layout.count.size
    if first > len(view):
        return fields
    (n,) = layout.count.unpack_from(view, at)
    n = min(n, _MAX_ENTRIES, (len(view) - first) // layout.entry.size)
    for tag, kind, count, value in layout.entry.iter_unpack(
        view[first : first + n * layout.entry.size]
    ):
        if tag in _FIELDS and tag not in fields:
            size = _WIDTHS.get(kind, 0) * count
            if size <= layout.reference:
                fields[tag] = value[:size]
            elif size <= MAX_BYTES:
                start = int.from_bytes(value, layout.order)
                fields[tag] = bytes(view[start : start + size])
    return fields


def _jpeg(view: memoryview) -> _Parts:
    exif: bytes | memoryview = b""
    xmp = resources = b""
    at, end = 2, len(view)
    for _ in range(_MAX_PARTS):
        if at + 4 > end or view[at] != 0xFF:
            break
        marker = view[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _JPEG_BARE:
            at += 2
            continue
        if marker in (0xDA, 0xD9):
            break
        size = view[at + 2] << 8 | view[at + 3]
        if marker == 0xE1:
            segment = view[at + 4 : at + 2 + size]
            if not exif and segment[:6] == _JPEG_EXIF:
                exif = segment[6:]
            elif not xmp and segment[:29] == _JPEG_XMP:
                xmp = bytes(segment[29:])
        elif marker == 0xED:
            segment = view[at + 4 : at + 2 + size]
            # Resources beyond 64 KB continue in the next segment.
            if segment[:14] == _JPEG_PHOTOSHOP and len(resources) <= MAX_BYTES:
                resources += segment[14:]
        at += 2 + size
    return _Parts(exif, xmp, iptc_resource(resources) if resources else b"")


def _png(view: memoryview) -> _Parts:
    chunks: dict[str, bytes] = {}
    losses: list[Loss] = []
    at = 8
    for _ in range(_MAX_PARTS):
        if at + 12 > len(view):
            break
        size = int.from_bytes(view[at : at + 4], "big")
        name = bytes(view[at + 4 : at + 8])
        if name in (b"eXIf", b"iTXt", b"zTXt", b"tEXt"):
            body = bytes(view[at + 8 : at + 8 + min(size, 3 * MAX_BYTES)])
            if name == b"eXIf":
                chunks["exif"] = body
            elif size > 3 * MAX_BYTES:
                if body.startswith((_PNG_XMP, _PNG_RAW)):
                    losses.append(_too_large("metadata of a PNG", size))
            elif name == b"iTXt":
                _png_international(body, chunks, losses)
            else:
                _png_profile(body, name == b"zTXt", chunks, losses)
        at += 12 + size
    return _Parts(**chunks, losses=tuple(losses))


def _too_large(what: str, size: int) -> Loss:
    return Loss("metadata-too-large", f"{what} beyond the limit of bytes", f"{size:,}")


def _png_international(body: bytes, chunks: dict[str, bytes], losses: list[Loss]) -> None:
    keyword, _, rest = body.partition(b"\0")
    if keyword == _PNG_XMP and "xmp" not in chunks:
        text = rest[2:].split(b"\0", 2)[-1]
        chunks["xmp"] = _inflated(text, MAX_BYTES, losses) if rest[:1] == b"\1" else text


def _png_profile(body: bytes, packed: bool, chunks: dict[str, bytes], losses: list[Loss]) -> None:
    """Read a profile as ImageMagick writes it: name, length and the bytes in hexadecimal."""
    keyword, _, text = body.partition(b"\0")
    name = _PNG_NAMES.get(keyword.removeprefix(_PNG_RAW))
    if name is None or not keyword.startswith(_PNG_RAW) or name in chunks:
        return
    text = _inflated(text[1:], 3 * MAX_BYTES, losses) if packed else text
    try:
        chunks[name] = bytes.fromhex(text.split(b"\n", 3)[-1].decode("ascii"))
    except ValueError:
        losses.append(Loss("metadata-broken", "metadata of a PNG that is damaged", name))
        chunks[name] = b""


def _inflated(data: bytes, limit: int, losses: list[Loss]) -> bytes:
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(data, limit)
    except zlib.error as error:
        losses.append(Loss("metadata-broken", "metadata of a PNG that is damaged", str(error)))
        return b""
    if stream.unconsumed_tail:
        losses.append(_too_large("metadata of a PNG", limit))
        return b""
    return text


def _webp(view: memoryview) -> _Parts:
    chunks: dict[str, bytes] = {}
    losses: list[Loss] = []
    at = 12
    for _ in range(_MAX_PARTS):
        if at + 8 > len(view):
            break
        name = _WEBP_NAMES.get(bytes(view[at : at + 4]))
        size = int.from_bytes(view[at + 4 : at + 8], "little")
        if name and name not in chunks:
            if size <= MAX_BYTES:
                chunks[name] = bytes(view[at + 8 : at + 8 + size])
            else:
                losses.append(_too_large("metadata of a WebP", size))
        at += 8 + size + size % 2
    return _Parts(**chunks, losses=tuple(losses))


def _gif(view: memoryview) -> _Parts:
    # The packet is not split into blocks: a trailer that counts down from 255 leads a reader of
    # blocks to its end. Searching for it is faster than walking the picture's blocks.
    head = _GIF_XMP.search(view)
    if not head:
        return _Parts()
    packet = bytes(view[head.end() : head.end() + MAX_BYTES + len(_GIF_END)])
    end = packet.find(_GIF_END)
    if end < 0:
        return _Parts(losses=(_too_large("XMP of a GIF", len(packet)),))
    return _Parts(xmp=packet[:end])


def _tiff(view: memoryview) -> _Parts:
    return _Parts(exif=view)


_READERS: dict[str, Callable[[memoryview], _Parts]] = {
    "JPEG": _jpeg,
    "PNG": _png,
    "WEBP": _webp,
    "GIF": _gif,
    "TIFF": _tiff,
}
