"""The names in an XMP packet: resolving prefixes to namespaces, element by element.

Expat's own namespace processing copies an address once for every attribute that uses it, which a
small hostile packet turns into gigabytes, so prefixes are resolved here.
"""

from __future__ import annotations

from collections.abc import Mapping

ADDRESSES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "MicrosoftPhoto": "http://ns.microsoft.com/photo/1.0/",
    "photoshop": "http://ns.adobe.com/photoshop/1.0/",
    "exif": "http://ns.adobe.com/exif/1.0/",
    "mwg-rs": "http://www.metadataworkinggroup.com/schemas/regions/",
    "stDim": "http://ns.adobe.com/xap/1.0/sType/Dimensions#",
    "stArea": "http://ns.adobe.com/xmp/sType/Area#",
}
# Programs differ in whether an address ends in a slash.
_SHORT = {address.rstrip("/"): name for name, address in ADDRESSES.items()}

LISTS = frozenset(("rdf:Bag", "rdf:Seq", "rdf:Alt"))
# The path of a property of the picture. Deeper descriptions are about other pictures, such as the
# ingredients of a montage, and their words are not this picture's.
DESCRIPTION = ["rdf:RDF", "rdf:Description"]


class Prefixes:
    """The meaning of prefixes at the current element of a packet.

    >>> prefixes = Prefixes()
    >>> prefixes.enter({"xmlns:d": "http://purl.org/dc/elements/1.1/"})
    >>> prefixes.key("d:subject"), prefixes.key("dc:subject")
    ('dc:subject', '')
    >>> prefixes.leave()
    >>> prefixes.key("d:subject")
    ''
    """

    def __init__(self) -> None:
        self._meaning: dict[str, str] = {}
        self._hidden: list[list[tuple[str, str]]] = []

    def enter(self, attributes: Mapping[str, str]) -> None:
        """Enter an element, with the prefixes it declares."""
        hidden = []
        for name, address in attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                prefix = name[6:]
                hidden.append((prefix, self._meaning.get(prefix, "")))
                self._meaning[prefix] = _SHORT.get(address.rstrip("/"), "")
        self._hidden.append(hidden)

    def leave(self) -> None:
        """Leave the element: prefixes mean what they meant outside."""
        for prefix, before in self._hidden.pop():
            self._meaning[prefix] = before

    def key(self, name: str) -> str:
        """Return a name with the usual prefix of its namespace; "" for an unknown namespace."""
        prefix, _, local = name.rpartition(":")
        short = self._meaning.get(prefix)
        return f"{short}:{local}" if short else ""

    def usual(self) -> frozenset[str]:
        """Return the prefixes that have their usual meaning here."""
        return frozenset(p for p, short in self._meaning.items() if p == short)
