"""Adds words, a caption and boxes to an XMP packet, or to a new one.

Nothing is removed or moved: new text is inserted between the bytes of the packet. Keywords go to
the three lists that programs read, each completed (see `xmp_keywords`), a caption to
`dc:description` if there is none, boxes of words to the regions of the Metadata Working Group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sightline.errors import DataError
from sightline.exchange.exported import folded, writable
from sightline.exchange.xmp_keywords import WRITTEN, MissingKeywords, levels, missing
from sightline.exchange.xmp_offsets import Element, Offsets, inside, line_before, offsets_in
from sightline.exchange.xmp_regions import (
    UNKNOWN_FRAME,
    Region,
    RegionFrame,
    region_node,
    regions_node,
)
from sightline.exchange.xmp_text import Node, listed, written
from sightline.pictures._xmp import MAX_BYTES, read_keywords
from sightline.pictures.keyword_lists import Levels

EMPTY = b"""<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Sightline">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:digiKam="http://www.digikam.org/ns/1.0/"
    xmlns:lr="http://ns.adobe.com/lightroom/1.0/">
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']""")
_TOOLKIT = re.compile(rb"""\bx:xmptk\s*=\s*["']Sightline["']""")
_ASCII = ("us-ascii", "ascii")


@dataclass(frozen=True, slots=True)
class Additions:
    """What to add to a packet.

    Attributes
    ----------
    words : tuple of str or Levels
        As typed, levels separated by `/` or `|`, or as levels.
    caption : str
        The caption.
    regions : tuple of Region
        Boxes of words.
    frame : RegionFrame
        Size and orientation of the picture.
    complete : bool
        Also add to each keyword list the keywords of the others, if there are no new words.
    refused : frozenset
        Terms that do not fit the picture; the packet's keywords that contain one stay where they
        are, and go to no other list.
    """

    words: tuple[str | Levels, ...] = ()
    caption: str = ""
    regions: tuple[Region, ...] = ()
    frame: RegionFrame = UNKNOWN_FRAME
    complete: bool = False
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Merged:
    """A packet after additions; `data` is the packet itself if nothing was added.

    `words` are new to the packet, `completed` were missing in some of its keyword lists.
    """

    data: bytes
    words: tuple[str, ...] = ()
    regions: int = 0
    captioned: bool = False
    completed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.regions or self.captioned or self.completed)


def is_own_packet(packet: bytes) -> bool:
    """Return whether a packet was made from `EMPTY`, and not rewritten by another program."""
    return _TOOLKIT.search(packet[:1000]) is not None


def merged(packet: bytes, new: Additions) -> Merged:
    """Add the words, caption and regions that a packet lacks.

    Parameters
    ----------
    packet : bytes
        The whole file; `EMPTY` for a new one.
    new : Additions
        What to add.

    Raises
    ------
    DataError
        The packet cannot be edited safely: it is too large, not XML, declares entities, has another
        encoding than UTF-8 or UTF-16, or its keywords are not a list.

    Examples
    --------
    >>> first = merged(EMPTY, Additions(("Snow", "tree")))
    >>> first.words, merged(first.data, Additions(("snow",))).words
    (('Snow', 'tree'), ())
    """
    if len(packet) > MAX_BYTES:
        raise DataError(f"it has {len(packet)} bytes, and at most {MAX_BYTES} are read")
    mark, codec, text, plain_ascii = _text(packet)
    begin, end = text.find(b"<"), text.rfind(b">") + 1
    body = text[max(begin, 0) : end]
    offsets = offsets_in(body)
    if offsets.rdf is None:
        raise DataError("there is no rdf:RDF in it, so it is not XMP")
    lacking = _lacking(packet, offsets, new)
    captioned = bool(writable(new.caption)) and not offsets.captioned
    regions = _new_regions(offsets, new)
    outcome = Merged(packet, lacking.words, len(regions), captioned, lacking.completed)
    if not outcome:
        return outcome
    caption = new.caption if captioned else ""
    changes = _changes(
        body, offsets, lacking, replace(new, caption=caption, regions=tuple(regions))
    )
    changed = _spliced(body, changes, plain_ascii)
    offsets_in(changed)
    whole = text[: max(begin, 0)] + changed + text[end:]
    data = mark + whole.decode("utf-8").encode(codec)
    _check_readable(packet, data, lacking)
    return replace(outcome, data=data)


def _text(packet: bytes) -> tuple[bytes, str, bytes, bool]:
    """Return byte-order mark, codec, the packet as UTF-8, and whether only ASCII may be added."""
    mark, codec = next(((m, c) for m, c in _MARKS if packet.startswith(m)), (b"", "utf-8"))
    try:
        text = packet[len(mark) :].decode(codec).encode("utf-8")
    except UnicodeError as e:
        raise DataError(f"it is not {codec.upper()} ({e.__class__.__name__})") from e
    declared = _DECLARED.match(text)
    encoding = declared[1].decode("utf-8", "replace").lower() if declared else codec
    allowed = ("utf-8", "utf8", *_ASCII) if codec == "utf-8" else ("utf-16", codec)
    if encoding not in allowed:
        raise DataError(f"it declares the encoding {encoding!r:.40}; UTF-8 and UTF-16 are written")
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise DataError("it declares a document type or entities, which no XMP has")
    return mark, codec, text, encoding in _ASCII


def _lacking(packet: bytes, offsets: Offsets, new: Additions) -> MissingKeywords:
    """Return what the keyword lists lack; nothing if there are no new words."""
    if not new.words and not new.complete:
        return MissingKeywords()
    new_words = [levels(word) if isinstance(word, str) else word for word in new.words]
    lacking = missing(read_keywords(packet), new_words, new.refused)
    for name in lacking.entries:
        element = offsets.properties.get(name)
        text = element is not None and name not in offsets.lists and not element.plain
        if name in offsets.attributes or text:
            raise DataError(f"its {name} is no list of words")
    return lacking


def _new_regions(offsets: Offsets, new: Additions) -> list[Region]:
    # Regions in another form than programs write are not added to.
    if offsets.regions is not None and offsets.region_list is None:
        return []
    named = {folded(r.name): Region(writable(r.name), r.box) for r in reversed(new.regions)}
    return [r for key, r in reversed(named.items()) if r.name and key not in offsets.named]


_Change = tuple[int, int, str]


def _changes(
    body: bytes, offsets: Offsets, lacking: MissingKeywords, new: Additions
) -> list[_Change]:
    inserted: list[tuple[Element, list[Node]]] = []
    properties: list[Node] = []
    if caption := writable(new.caption):
        entry = Node("rdf:li", {"xml:lang": "x-default"}, text=caption)
        properties.append(Node("dc:description", parts=(Node("rdf:Alt", parts=(entry,)),)))
    for name, entries in lacking.entries.items():
        keywords = listed(name, WRITTEN[name], entries)
        if name in offsets.lists:
            inserted.append((offsets.lists[name], list(keywords.parts[0].parts)))
        elif name in offsets.properties:
            inserted.append((offsets.properties[name], list(keywords.parts)))
        else:
            properties.append(keywords)
    if new.regions:
        if offsets.region_list is not None:
            nodes = [region_node(r, new.frame.orientation) for r in new.regions]
            inserted.append((offsets.region_list, nodes))
        else:
            properties.append(regions_node(new.regions, new.frame))
    if properties and offsets.description is not None:
        inserted.append((offsets.description, properties))
    elif properties and offsets.rdf is not None:
        description = Node("rdf:Description", {"rdf:about": ""}, tuple(properties))
        inserted.append((offsets.rdf, [description]))
    return [_change(body, element, nodes) for element, nodes in inserted]


def _change(body: bytes, element: Element, nodes: Sequence[Node]) -> _Change:
    before = line_before(body, element.start).decode()
    indent = before + " " if before else None
    text = "".join(written(n, element.usual, indent, element.rdf) for n in nodes)
    start, end, put = inside(body, element, text.encode("utf-8"))
    return start, end, put.decode("utf-8")


def _spliced(body: bytes, changes: list[_Change], plain_ascii: bool) -> bytes:
    for start, end, text in sorted(changes, reverse=True):
        put = text.encode("ascii", "xmlcharrefreplace") if plain_ascii else text.encode("utf-8")
        body = body[:start] + put + body[end:]
    return body


def _check_readable(packet: bytes, data: bytes, lacking: MissingKeywords) -> None:
    """Read the result as `index` will: each list must have its old keywords and the new ones."""
    if len(data) > MAX_BYTES:
        raise DataError(
            f"with the new words it would have {len(data)} bytes, more than {MAX_BYTES}"
        )
    before, after = read_keywords(packet), read_keywords(data)
    for name in before.keys() | after.keys():
        wanted = Counter((*before.get(name, ()), *lacking.entries.get(name, ())))
        if Counter(after.get(name, ())) != wanted:
            raise DataError(f"its {name} could not be read back after words were added")
