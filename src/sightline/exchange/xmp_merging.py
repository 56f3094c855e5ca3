"""Words put into an XMP packet that is there, or into a new one.

Nothing is taken out or moved: what is new goes between the bytes of the packet. Words go to
`dc:subject`, which every program reads, and to a `digiKam:TagsList` that is there, which some
read in its place. Lightroom's hierarchies stay as they are, and a word that stands in one is not
added. A running text goes to `dc:description` where there is none, places of words go to the
regions of the Metadata Working Group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightline.errors import DataError
from sightline.exchange.exported import folded, writable
from sightline.exchange.xmp_places import Element, Places, inside, line_before, places
from sightline.exchange.xmp_regions import UNSEEN, Frame, Region, region_node, regions_node
from sightline.exchange.xmp_text import Node, listed, written
from sightline.pictures._xmp import MAX_BYTES, read_xmp

EMPTY = b"""<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Sightline">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:dc="http://purl.org/dc/elements/1.1/">
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']""")
_LEVEL = re.compile(r"[/|]")
_ASCII = ("us-ascii", "ascii")


@dataclass(frozen=True, slots=True)
class Additions:
    """What a packet should say: words, running text, regions in a frame."""

    words: tuple[str, ...] = ()
    caption: str = ""
    regions: tuple[Region, ...] = ()
    frame: Frame = UNSEEN


@dataclass(frozen=True, slots=True)
class Merged:
    """A packet with what was added to it; `data` is the packet itself if that is nothing."""

    data: bytes
    words: tuple[str, ...] = ()
    regions: int = 0
    captioned: bool = False

    def __bool__(self) -> bool:
        return bool(self.words or self.regions or self.captioned)


def flat(words: Iterable[str]) -> tuple[str, ...]:
    """Return words as they go to `dc:subject`: each level of a hierarchy is one, none twice.

    >>> flat(["Places/New York", "new york", "snow"])
    ('Places', 'New York', 'snow')
    """
    levels = (writable(level) for word in words for level in _LEVEL.split(word))
    first: dict[str, str] = {}
    for level in levels:
        if key := folded(level):
            first.setdefault(key, level)
    return tuple(first.values())


def merged(packet: bytes, new: Additions) -> Merged:
    """Put words, text and regions into a packet, those that it does not have.

    Parameters
    ----------
    packet
        The whole file; `EMPTY` for a new one.
    new
        What it should say.

    Raises
    ------
    DataError
        The packet cannot be understood well enough to add to it: too large, not XML, declares
        entities, in another encoding than UTF-8 or UTF-16, or its words are no list.

    Examples
    --------
    >>> once = merged(EMPTY, Additions(("Snow", "tree")))
    >>> once.words, merged(once.data, Additions(("snow",))).words
    (('Snow', 'tree'), ())
    """
    if len(packet) > MAX_BYTES:
        raise DataError(f"it has {len(packet)} bytes, and at most {MAX_BYTES} are read")
    mark, codec, text, plain_ascii = _text(packet)
    begin, end = text.find(b"<"), text.rfind(b">") + 1
    body = text[max(begin, 0) : end]
    found = places(body)
    outcome = Merged(packet, *_news(packet, found, new))
    if not outcome:
        return outcome
    changed = _spliced(body, _changes(body, found, new, outcome), plain_ascii)
    places(changed)
    whole = text[: max(begin, 0)] + changed + text[end:]
    data = mark + whole.decode("utf-8").encode(codec)
    _refuse_unsound(packet, data, outcome)
    return Merged(data, outcome.words, outcome.regions, outcome.captioned)


def _text(packet: bytes) -> tuple[bytes, str, bytes, bool]:
    """Return byte-order mark, codec, the packet as UTF-8, and whether only ASCII may be added."""
    mark, codec = next(((m, c) for m, c in _MARKS if packet.startswith(m)), (b"", "utf-8"))
    try:
        text = packet[len(mark) :].decode(codec).encode("utf-8")
    except UnicodeError as e:
        raise DataError(f"it is not {codec.upper()} ({e.__class__.__name__})") from e
    declared = _DECLARED.match(text)
    said = declared[1].decode("utf-8", "replace").lower() if declared else codec
    allowed = ("utf-8", "utf8", *_ASCII) if codec == "utf-8" else ("utf-16", codec)
    if said not in allowed:
        raise DataError(f"it declares the encoding {said!r:.40}; UTF-8 and UTF-16 are written")
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise DataError("it declares a document type or entities, which no XMP has")
    return mark, codec, text, said in _ASCII


def _news(packet: bytes, found: Places, new: Additions) -> tuple[tuple[str, ...], int, bool]:
    """Return the words, the number of regions, and whether a text are to be added."""
    if found.rdf is None:
        raise DataError("there is no rdf:RDF in it, so it is not XMP")
    said = read_xmp(packet)
    known = {folded(w) for w in (*said.labels, *flat(said.labels))}
    words = tuple(w for w in flat(new.words) if folded(w) not in known)
    text = found.subject is not None and not (found.subjects or found.subject.plain)
    if words and (found.unlisted or text):
        raise DataError("its dc:subject is no list of words")
    captioned = bool(writable(new.caption)) and not found.captioned
    return words, len(_new_regions(found, new)), captioned


def _new_regions(found: Places, new: Additions) -> list[Region]:
    # Regions in another form than programs write are not added to.
    if found.regions is not None and found.region_list is None:
        return []
    named = {folded(r.name): Region(writable(r.name), r.box) for r in reversed(new.regions)}
    return [r for key, r in reversed(named.items()) if r.name and key not in found.named]


_Change = tuple[int, int, str]


def _changes(body: bytes, found: Places, new: Additions, outcome: Merged) -> list[_Change]:
    inserted: list[tuple[Element, list[Node]]] = []
    properties: list[Node] = []
    if outcome.captioned:
        entry = Node("rdf:li", {"xml:lang": "x-default"}, text=writable(new.caption))
        properties.append(Node("dc:description", parts=(Node("rdf:Alt", parts=(entry,)),)))
    if outcome.words:
        subject = listed("dc:subject", "rdf:Bag", outcome.words)
        if found.subjects is not None:
            inserted.append((found.subjects, list(subject.parts[0].parts)))
        elif found.subject is not None:
            inserted.append((found.subject, list(subject.parts)))
        else:
            properties.append(subject)
        if found.tags is not None:
            paths = _paths(new.words, outcome.words)
            inserted.append((found.tags, [Node("rdf:li", text=p) for p in paths]))
    if regions := _new_regions(found, new):
        if found.region_list is not None:
            nodes = [region_node(r, new.frame.orientation) for r in regions]
            inserted.append((found.region_list, nodes))
        else:
            properties.append(regions_node(regions, new.frame))
    if properties and found.description is not None:
        inserted.append((found.description, properties))
    elif properties and found.rdf is not None:
        whole = Node("rdf:Description", {"rdf:about": ""}, tuple(properties))
        inserted.append((found.rdf, [whole]))
    return [_change(body, element, nodes) for element, nodes in inserted]


def _paths(words: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return the words with a level that is added, as digiKam writes hierarchies."""
    fresh = {folded(a) for a in added}
    several = ("/".join(flat([word])) for word in words)
    return [p for p in dict.fromkeys(several) if fresh.intersection(map(folded, p.split("/")))]


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


def _refuse_unsound(packet: bytes, data: bytes, outcome: Merged) -> None:
    """Read what was made as an index will: it must say what the packet said, and what is new."""
    if len(data) > MAX_BYTES:
        raise DataError(f"with the words it would have {len(data)} bytes, more than {MAX_BYTES}")
    now = set(read_xmp(data).labels)
    if not now.issuperset((*read_xmp(packet).labels, *outcome.words)):
        raise DataError("its words could not be read back once they were added")
