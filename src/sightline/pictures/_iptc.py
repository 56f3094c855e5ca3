"""Words and dates in IPTC-IIM records, bare or inside Photoshop's image resources."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.pictures._xmp import MAX_BYTES, EmbeddedMetadata, decoded, plain, running
from sightline.pictures.tally import Loss

_RESOURCE = b"8BIM"
_IPTC_RESOURCE = 0x0404
_CHARACTER_SET = (1, 90)
_KEYWORDS = (2, 25)
_DATE_CREATED = (2, 55)
_TIME_CREATED = (2, 60)
_HEADLINE = (2, 105)
_CAPTION = (2, 120)
_UTF8 = b"\x1b%G"


def read_iptc(data: bytes) -> EmbeddedMetadata:
    r"""Read the IPTC fields of a block; what cannot be read counts as absent.

    Parameters
    ----------
    data : bytes
        IIM records, or Photoshop image resources that hold them.

    Returns
    -------
    EmbeddedMetadata
        Keywords as labels, headline and caption as text, the date created.

    Examples
    --------
    >>> read_iptc(b"\x1c\x02\x19\x00\x04snow\x1c\x02\x78\x00\x05trees")
    EmbeddedMetadata(labels=('snow',), text='trees', dates=(), losses=())
    """
    if len(data) > MAX_BYTES:
        reason = f"IPTC of more than {MAX_BYTES:,} bytes"
        return EmbeddedMetadata(losses=(Loss("iptc-too-large", reason, f"{len(data):,}"),))
    if data.startswith(_RESOURCE):
        data = iptc_resource(data)
    fields: dict[tuple[int, int], list[bytes]] = {}
    losses: list[Loss] = []
    for key, value in _records(data, losses):
        fields.setdefault(key, []).append(value)
    utf8 = fields.get(_CHARACTER_SET, [b""])[0].startswith(_UTF8)
    labels = (_text(value, utf8) for value in fields.get(_KEYWORDS, ()))
    texts = [_text(value, utf8) for key in (_HEADLINE, _CAPTION) for value in fields.get(key, ())]
    text, by_camera = running(texts)
    return EmbeddedMetadata(
        tuple(dict.fromkeys(label for label in labels if label)), text, _dates(fields),
        (*by_camera, *losses),
    )  # fmt: skip


def iptc_resource(data: bytes) -> bytes:
    """Return the IPTC records among Photoshop's image resources, or nothing."""
    at = 0
    while data[at : at + 4] == _RESOURCE and at + 8 <= len(data):
        number = int.from_bytes(data[at + 4 : at + 6], "big")
        named = at + 6 + 1 + data[at + 6]
        named += (named - at) % 2
        start = named + 4
        size = int.from_bytes(data[named:start], "big")
        if number == _IPTC_RESOURCE:
            return data[start : start + size]
        at = start + size + size % 2
    return b""


def _records(data: bytes, losses: list[Loss]) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    while at + 5 <= len(data) and data[at] == 0x1C:
        key = (data[at + 1], data[at + 2])
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        at += 5
        # With the high bit set, the other bits are the length of the size that follows.
        if size & 0x8000:
            width = size & 0x7FFF
            size = int.from_bytes(data[at : at + min(width, 8)], "big")
            at += width
        if at + size > len(data):
            losses.append(Loss("iptc-broken", "an IPTC record that ends before its length"))
            return
        yield key, data[at : at + size]
        at += size


def _text(value: bytes, utf8: bool) -> str:
    # A keyword may hold 64 bytes, and writers cut at the 64th even inside a character: where the
    # block says UTF-8, half a character is dropped rather than read as latin-1.
    return plain(value.decode("utf-8", "ignore") if utf8 else decoded(value))


def _dates(fields: dict[tuple[int, int], list[bytes]]) -> tuple[str, ...]:
    date = fields.get(_DATE_CREATED, [b""])[0].decode("latin-1")
    time = fields.get(_TIME_CREATED, [b""])[0].decode("latin-1")
    if len(date) != 8:
        return ()
    written = f"{date[:4]}:{date[4:6]}:{date[6:]}"
    if len(time) >= 6:
        written += f" {time[:2]}:{time[2:4]}:{time[4:6]}"
    return (written,)
