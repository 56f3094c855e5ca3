"""Small pieces of XMP as text, to be put into a packet that is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from sightline.pictures.xmp_names import ADDRESSES


@dataclass(frozen=True, slots=True)
class Node:
    """An element: its name, attributes, and either parts or text."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Node, ...] = ()
    text: str = ""


def listed(name: str, kind: str, words: tuple[str, ...]) -> Node:
    """Return a property that is a list of words."""
    entries = tuple(Node("rdf:li", text=w) for w in words)
    return Node(name, parts=(Node(kind, parts=entries),))


def written(
    node: Node, declared_prefixes: frozenset[str], indent: str | None, rdf: str = "rdf:"
) -> str:
    """Return an element as text.

    Parameters
    ----------
    node : Node
        What to write.
    declared_prefixes : frozenset
        Prefixes that have their usual meaning where it is put; others are declared in it.
    indent : str or None
        What stands before each line; None writes everything in one line.
    rdf : str, default="rdf:"
        How names of RDF begin there.

    Examples
    --------
    >>> written(Node("rdf:li", text="a<b"), frozenset(["rdf"]), None)
    '<rdf:li>a&lt;b</rdf:li>'
    """
    missing = {p: ADDRESSES[p] for p in sorted(_prefixes(node) - declared_prefixes)}
    declared = {f"xmlns:{p}": address for p, address in missing.items()}
    return "".join(_pieces(node, declared, indent, rdf))


def _prefixes(node: Node) -> set[str]:
    """Return the prefixes that must be known; elements of RDF have the one that is there."""
    names = [*node.attributes, *([] if node.name.startswith("rdf:") else [node.name])]
    prefixes = {name.partition(":")[0] for name in names}
    return prefixes.union(*(_prefixes(p) for p in node.parts)) - {"xml"}


def _pieces(node: Node, declared: Mapping[str, str], indent: str | None, rdf: str) -> Iterator[str]:
    name = rdf + node.name[4:] if node.name.startswith("rdf:") else node.name
    attributes = {**declared, **node.attributes}
    attribute_text = "".join(f" {a}={quoteattr(v)}" for a, v in attributes.items())
    start = "" if indent is None else indent
    if node.parts:
        inner = None if indent is None else indent + " "
        yield f"{start}<{name}{attribute_text}>"
        for part in node.parts:
            yield from _pieces(part, {}, inner, rdf)
        yield f"{start}</{name}>"
    elif node.text:
        yield f"{start}<{name}{attribute_text}>{escape(node.text)}</{name}>"
    else:
        yield f"{start}<{name}{attribute_text}/>"
