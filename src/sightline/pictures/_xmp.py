"""Words and dates in an XMP packet, embedded in a picture or in a sidecar.

The packet is read by expat without its namespace processing, and prefixes are resolved by
`xmp_names`. Expat copies a namespace address once for every attribute that uses it, so one packet
of 440 KB takes a namespace-aware parser (ElementTree is one) beyond 3 GB. Here the work is linear
in the packet's size.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.parsers import expat

from sightline.pictures.keyword_lists import KEYWORD_LISTS, labels
from sightline.pictures.tally import Loss
from sightline.pictures.xmp_names import DESCRIPTION, LISTS, Prefixes

MAX_BYTES = 1 << 20

_TEXTS = ("dc:title", "dc:description")
_DATES = ("photoshop:DateCreated", "exif:DateTimeOriginal")
_Values = dict[str, list[tuple[str, str]]]
_KNOWN = frozenset(KEYWORD_LISTS + _TEXTS + _DATES)

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

# What cameras and editors write into the caption of every picture.
_BOILERPLATE = frozenset(
    (
        "casio computer co.,ltd",
        "dcim",
        "default",
        "digital camera",
        "exif_jpeg_picture",
        "kodak digital still camera",
        "konica minolta digital camera",
        "minolta digital camera",
        "olympus digital camera",
        "samsung digital camera",
        "sanyo digital camera",
        "sony dsc",
        "untitled",
    )
)


class EmbeddedMetadata(NamedTuple):
    """The content of one block of metadata: labels, running text, dates as they are written.

    `losses` are the words that were dropped, or the block if none of it can be read.
    """

    labels: tuple[str, ...] = ()
    text: str = ""
    dates: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()


def decoded(data: bytes) -> str:
    r"""Return bytes of unknown encoding as text: UTF-16 by its mark, else UTF-8, else latin-1.

    >>> decoded(b"caf\xc3\xa9"), decoded(b"caf\xe9"), decoded(b"\xff\xfec\x00")
    ('café', 'café', 'c')
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def plain(text: str) -> str:
    r"""Return text without control characters and outer white space; lines end in ``\n``.

    >>> plain(" one\r\ntwo\x00\x1b ")
    'one\ntwo'
    """
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def running(texts: list[str]) -> tuple[str, tuple[Loss, ...]]:
    r"""Join the sentences a person wrote, each once, and name those that the camera wrote.

    >>> text, losses = running(["SONY DSC", "Snow", "Snow", "on trees"])
    >>> text, [loss.example for loss in losses]
    ('Snow\non trees', ['SONY DSC'])
    """
    by_camera = [text for text in texts if " ".join(text.casefold().split()) in _BOILERPLATE]
    own_texts = "\n".join(dict.fromkeys(t for t in texts if t and t not in by_camera))
    reason = "a caption that cameras and editors write by themselves"
    return own_texts, tuple(Loss("by-camera", reason, text) for text in by_camera)


def read_xmp(data: bytes) -> EmbeddedMetadata:
    """Read an XMP packet; one that is too large, malformed or declares entities counts as empty.

    Parameters
    ----------
    data : bytes
        The packet, with or without its ``<?xpacket?>`` wrapper and padding.

    Returns
    -------
    EmbeddedMetadata
        Labels without repeats in the order digiKam, Lightroom, Dublin Core, Microsoft; title and
        description as text; the two dates of taking, if given.
    """
    properties, loss = _properties(data)
    text, losses = running([_preferred(properties[key]) for key in _TEXTS if key in properties])
    return EmbeddedMetadata(
        labels(_keywords(properties)),
        text,
        tuple(properties[key][0][1] for key in _DATES if key in properties),
        (*losses, *([loss] if loss else [])),
    )


def read_keywords(data: bytes) -> dict[str, tuple[str, ...]]:
    """Return the keyword lists of an XMP packet by name, as they are; none of an unreadable one."""
    return _keywords(_properties(data)[0])


def _keywords(properties: _Values) -> dict[str, tuple[str, ...]]:
    return {
        key: tuple(entry for _, entry in properties[key])
        for key in KEYWORD_LISTS
        if key in properties
    }


def _properties(data: bytes) -> tuple[_Values, Loss | None]:
    """Return the values of the known properties, each with its language, or why there are none."""
    if not data:
        return {}, None
    if len(data) > MAX_BYTES:
        return {}, Loss("xmp-too-large", f"XMP of more than {MAX_BYTES:,} bytes", f"{len(data):,}")
    text = decoded(data)
    text = text[text.find("<") : text.rfind(">") + 1]
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return {}, Loss("xmp-entities", "XMP that declares entities")
    packet = _Packet()
    try:
        packet.parse(text)
    except expat.ExpatError as error:
        return {}, Loss("xmp-broken", "XMP that is no well-formed XML", str(error))
    return packet.values, None


def _preferred(alternatives: list[tuple[str, str]]) -> str:
    defaults = (text for language, text in alternatives if language == "x-default")
    return next(defaults, alternatives[0][1])


class _Packet:
    """Collects (language, value) pairs for every known property of the picture."""

    def __init__(self) -> None:
        self.values: _Values = {}
        self._prefixes = Prefixes()
        self._path: list[str] = []
        self._property = ""
        self._depth = 0
        self._listed = False
        self._language = ""
        self._pieces: list[str] = []

    def parse(self, text: str) -> None:
        """Read a packet; raises `ExpatError` if it is malformed."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        # Given as text, the packet is UTF-8 to expat whatever encoding it declares, so nothing
        # can hide from the check for entities.
        parser.Parse(text, True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._prefixes.enter(attributes)
        key = self._prefixes.key(name)
        path = self._path
        path.append(key)
        if self._property:
            if key == "rdf:li" and len(path) == self._depth + 2 and path[-2] in LISTS:
                self._listed = True
                self._language = attributes.get("xml:lang", "")
                self._pieces = []
        elif key == "rdf:Description" and path[-2:] == DESCRIPTION:
            for attribute, value in attributes.items():
                if ":" in attribute:
                    self._add(self._prefixes.key(attribute), "", value)
        elif key in _KNOWN and path[-3:-1] == DESCRIPTION:
            self._property, self._depth = key, len(path)
            self._listed, self._pieces = False, []

    def _end(self, name: str) -> None:
        path = self._path
        if self._property:
            if len(path) == self._depth + 2 and path[-1] == "rdf:li" and path[-2] in LISTS:
                self._add(self._property, self._language, "".join(self._pieces))
            elif len(path) == self._depth:
                if not self._listed:
                    self._add(self._property, "", "".join(self._pieces))
                self._property = ""
        path.pop()
        self._prefixes.leave()

    def _add_text(self, text: str) -> None:
        if self._property:
            self._pieces.append(text)

    def _add(self, key: str, language: str, value: str) -> None:
        if key in _KNOWN and (value := plain(value)):
            self.values.setdefault(key, []).append((language, value))
