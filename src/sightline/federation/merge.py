"""The merge of ranked lists of several collections into one.

A list is merged by what its hits show. Exact matches come first, then partial matches on a word
that the member's model has not learned, predicted ones by their calibrated probability, predicted
ones by words that are not yet proven, other partial matches, and suggested ones by their
probability. The cosine by which a collection orders exact and partial matches depends on how many
of its own pictures have a word, so it does not compare: such matches take turns by their rank, in
the order of the members. So do unproven predictions, which show no probability, and equal
probabilities. Similar pictures are merged by their cosine, which compares where members have the
same feature.

Each list has to be in this order itself, so that the first hits of all lists decide the first hits
of the whole: pages of the merged list never overlap, and members are asked for no more than the
end of a page.

A picture whose file is in several members is shown once, where it ranks best, and names the others.
Two pictures of one member with one content are two hits, as in a search of that member alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from sightline.contracts import Json
from sightline.records import Hit, shown

_EXACT, _RARE, _PREDICTED, _UNPROVEN, _PARTIAL, _SUGGESTED, _SIMILAR = range(7)
_GROUPS = {"exact": _EXACT, "predicted": _PREDICTED, "suggested": _SUGGESTED, "similar": _SIMILAR}


@dataclass(frozen=True, slots=True)
class FederatedHit:
    """A hit of one member of a federation.

    Attributes
    ----------
    collection : str
        The name of the member.
    hit : Hit
        The hit as the member ranked it; its id is of that member alone.
    also_in : tuple of str
        Other members with a file of the same content, whose hits are further down.
    content : str
        The SHA-256 of the file; empty for a hit of a server, whose word for it is not taken.
    server : str
        The URL of the server; empty for a hit of a collection on this machine.
    """

    collection: str
    hit: Hit
    also_in: tuple[str, ...] = ()
    content: str = ""
    server: str = ""

    @property
    def path(self) -> str:
        """The file for people: its full path here, or the path that the server shows."""
        return self.hit.name if self.server else shown(bytes(self.hit.file))

    def to_dict(self) -> dict[str, Json]:
        """Return the hit as JSON."""
        hit = self.hit
        return {
            "collection": self.collection, "id": hit.picture,
            "path": hit.name if self.server else str(hit.file),
            "score": hit.score, "match": hit.match, "probability": hit.probability,
            "proven": hit.proven,
            "also_in": list[Json](self.also_in), "server": self.server,
        }  # fmt: skip


def group_of(hit: Hit) -> int:
    """Return the group of a hit; groups follow each other in every list.

    >>> group_of(Hit(1, b"a", 1.0004, "partial")) < group_of(Hit(1, b"a", 0.9, "predicted"))
    True
    >>> group_of(Hit(1, b"a", 0.4, "partial")) > group_of(Hit(1, b"a", 0.9, "predicted"))
    True
    """
    if hit.match == "partial":
        return _RARE if hit.score > 1 else _PARTIAL
    if hit.match == "predicted" and not hit.proven:
        return _UNPROVEN
    return _GROUPS[hit.match]


def measure_of(hit: Hit) -> float | None:
    """Return what compares between members: a probability or cosine; None where nothing does.

    Raises
    ------
    ValueError
        A prediction has no probability, so that nothing says where it belongs.
    """
    if hit.match == "similar":
        return hit.score
    if hit.match in ("exact", "partial") or not hit.proven:
        return None
    if hit.probability is None:
        raise ValueError(f"The {hit.match} picture {hit.picture} has no probability.")
    return hit.probability


def is_ordered(hits: Sequence[Hit]) -> bool:
    """Say whether a list is in the order that the merge relies on."""
    keys = [(group_of(h), -(measure_of(h) or 0.0)) for h in hits]
    return all(a <= b for a, b in pairwise(keys))


def merge(lists: Sequence[Sequence[FederatedHit]]) -> list[FederatedHit]:
    """Return the hits of all members in one order, each content once."""
    keyed = []
    for member, hits in enumerate(lists):
        for _, run in groupby(hits, key=lambda h: (group_of(h.hit), measure_of(h.hit))):
            # Hits that do not compare, or are equal, take turns by their rank among each other.
            for turn, h in enumerate(run):
                measure = measure_of(h.hit)
                order = group_of(h.hit), -(measure or 0.0), turn, member
                keyed.append((order, h))
    return _each_once([h for _, h in sorted(keyed, key=lambda pair: pair[0])])


def _each_once(hits: Sequence[FederatedHit]) -> list[FederatedHit]:
    """Return the first hit of each content, with the other members that have it."""
    first: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    shown_hits = []
    for h in hits:
        owner = first.setdefault(h.content, h.collection) if h.content else h.collection
        if owner == h.collection:
            shown_hits.append(h)
        elif h.collection not in others.setdefault(h.content, []):
            others[h.content].append(h.collection)
    return [replace(h, also_in=tuple(others.get(h.content, ()))) for h in shown_hits]
