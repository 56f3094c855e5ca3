"""Where in an XMP packet something can be put: offsets of the elements that matter.

Only offsets are taken from the parser. What is put in goes between bytes that are there, so all
that other programs wrote stays as it is, to the byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from sightline.errors import DataError
from sightline.exchange.exported import folded
from sightline.pictures.keyword_lists import KEYWORD_LISTS
from sightline.pictures.xmp_names import DESCRIPTION, LISTS, Prefixes

_TAG = re.compile(rb"""<(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")


@dataclass(slots=True)
class Element:
    """An element of a packet: its name as written, and the offsets of its start and end tags.

    `rdf` is how names of RDF begin in it, `usual` the prefixes with their usual meaning in it;
    `plain` is whether nothing but blanks, and no attribute, says something besides elements.
    """

    name: str
    start: int
    rdf: str
    usual: frozenset[str]
    plain: bool
    end: int = 0


@dataclass(slots=True)
class Offsets:
    """The elements of a packet that something may be put into; None where there is none.

    Of keyword lists there are `properties` and, inside these, `lists`, by name; `attributes` are
    those given as an attribute, which has no list. `captioned` is whether there is a
    `dc:description`; `named` are the regions there are.
    """

    rdf: Element | None = None
    description: Element | None = None
    regions: Element | None = None
    region_list: Element | None = None
    properties: dict[str, Element] = field(default_factory=dict)
    lists: dict[str, Element] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    captioned: bool = False
    named: set[str] = field(default_factory=set)


def offsets_in(packet: bytes) -> Offsets:
    """Find them in a packet, given as UTF-8.

    Raises
    ------
    DataError
        It is not well-formed XML.
    """
    walk = _Walk()
    try:
        walk.parse(packet)
    except expat.ExpatError as e:
        raise DataError(f"it is not well-formed XML ({e})") from e
    return walk.offsets


def inside(packet: bytes, element: Element, text: bytes) -> tuple[int, int, bytes]:
    """Return how to put text at the end of an element: from where to where what is replaced."""
    tag = _TAG.match(packet, element.start)
    if tag is not None and tag[0].endswith(b"/>"):
        close = b"</" + element.name.encode() + b">"
        return tag.end() - 2, tag.end(), b">" + text + line_before(packet, element.start) + close
    at = len(packet[: element.end].rstrip(b" \t\r\n"))
    # Blanks that only lay out the closing tag stay with it.
    return (at, at, text) if b"\n" in packet[at : element.end] else (element.end, element.end, text)


def line_before(packet: bytes, at: int) -> bytes:
    """Return the line break and the blanks that stand right before an offset, if that is all."""
    begin = len(packet[:at].rstrip(b" \t"))
    if packet[begin - 1 : begin] != b"\n":
        return b""
    return packet[begin - (2 if packet[begin - 2 : begin] == b"\r\n" else 1) : at]


class _Walk:
    """Goes through a packet once."""

    def __init__(self) -> None:
        self.offsets = Offsets()
        self._prefixes = Prefixes()
        self._path: list[str] = []
        self._open: list[Element | None] = []
        self._rdf: list[str] = ["rdf:"]
        self._regions = 0
        self._parser = expat.ParserCreate("utf-8")
        self._name: list[str] | None = None

    def parse(self, packet: bytes) -> None:
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text
        self._parser.Parse(packet, True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._prefixes.enter(attributes)
        key = self._prefixes.key(name)
        self._path.append(key)
        prefix = name[: len(name) - len(name.rpartition(":")[2])]
        self._rdf.append(prefix if key.startswith("rdf:") else self._rdf[-1])
        keys = {self._prefixes.key(a) for a in attributes if not a.startswith("xmlns")}
        self._open.append(self._element(name, key, not keys))
        if self._path[-2:] == DESCRIPTION:
            self.offsets.attributes |= keys.intersection(KEYWORD_LISTS)
            self.offsets.captioned |= "dc:description" in keys
        self._regions += key == "mwg-rs:Regions"
        if self._regions:
            named = (v for a, v in attributes.items() if self._prefixes.key(a) == "mwg-rs:Name")
            self.offsets.named.update(map(folded, named))
            self._name = [] if key == "mwg-rs:Name" else self._name

    def _element(self, name: str, key: str, plain: bool) -> Element | None:
        place = self._place(key)
        list_slot = None if place else self._list_slot(key)
        if place is None and list_slot is None:
            return None
        at, usual = self._parser.CurrentByteIndex, self._prefixes.usual()
        element = Element(name, at, self._rdf[-1], usual, plain)
        if place is not None:
            setattr(self.offsets, place, element)
        elif list_slot is not None:
            list_slot[0][list_slot[1]] = element
        return element

    def _list_slot(self, key: str) -> tuple[dict[str, Element], str] | None:
        """Return where to record a keyword list, or the list in it; only the first of each is."""
        offsets, path = self.offsets, self._path
        if path[-3:-1] == DESCRIPTION and key in KEYWORD_LISTS and key not in offsets.properties:
            return offsets.properties, key
        if key in LISTS and self._open and self._open[-1] is not None:
            name = path[-2]
            if offsets.properties.get(name) is self._open[-1] and name not in offsets.lists:
                return offsets.lists, name
        return None

    def _place(self, key: str) -> str | None:
        """Return the attribute that records an element, if any; only the first of each is."""
        offsets, path = self.offsets, self._path
        if key == "rdf:RDF" and offsets.rdf is None:
            return "rdf"
        if path[-2:] == DESCRIPTION and offsets.description is None:
            return "description"
        if path[-3:-1] == DESCRIPTION:
            if key == "mwg-rs:Regions" and offsets.regions is None:
                return "regions"
            offsets.captioned |= key == "dc:description"
        if key not in LISTS or not self._open:
            return None
        if path[-2] == "mwg-rs:RegionList" and self._regions and offsets.region_list is None:
            return "region_list"
        return None

    def _add_text(self, text: str) -> None:
        element = self._open[-1] if self._open else None
        if element is not None and text.strip():
            element.plain = False
        if self._name is not None:
            self._name.append(text)

    def _end(self, name: str) -> None:
        element = self._open.pop()
        if element is not None:
            # Of an element without content this is behind its only tag.
            element.end = self._parser.CurrentByteIndex
        key = self._path.pop()
        if key == "mwg-rs:Name" and self._name is not None:
            self.offsets.named.add(folded("".join(self._name)))
            self._name = None
        self._regions -= key == "mwg-rs:Regions"
        self._rdf.pop()
        self._prefixes.leave()
