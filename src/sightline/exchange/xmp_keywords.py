"""Which entries the keyword lists of a packet lack.

Three lists are written, each with all keywords, because every program reads the first it knows and
none of the others: `digiKam:TagsList`, `lr:hierarchicalSubject`, and `dc:subject` with the last
level of each path. A flat word that is a level of a path makes no entry of its own in the first
two: galleries would show it as a second tag. Nothing is taken out, and a keyword that was refused
stays in the lists it is in, and in no other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sightline.exchange.exported import folded, writable
from sightline.pictures.keyword_lists import (
    HIERARCHICAL,
    HIERARCHICAL_LISTS,
    SUBJECT,
    TAGS_LIST,
    Levels,
    joined,
    split,
)
from sightline.words.tokens import labels

WRITTEN = {TAGS_LIST: "rdf:Seq", HIERARCHICAL: "rdf:Bag", SUBJECT: "rdf:Bag"}
_SEPARATOR = re.compile(r"[/|]")

Lists = Mapping[str, Sequence[str]]
_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MissingKeywords:
    """Entries to add to each list.

    Attributes
    ----------
    entries : dict
        By list; lists that lack nothing are left out.
    words : tuple of str
        Keywords that are in no list yet, the last level of each.
    completed : tuple of str
        Keywords that some of the lists have and others lack.
    """

    entries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()


def levels(word: str) -> Levels:
    """Return the levels of a word that people typed, where `/` and `|` part levels.

    >>> levels("Places/New York"), levels(" snow ")
    (('Places', 'New York'), ('snow',))
    """
    return clean(_SEPARATOR.split(word))


def separated(word: str) -> bool:
    """Return whether a word contains a separator of one of the lists."""
    return _SEPARATOR.search(word) is not None


def clean(path: Iterable[str]) -> Levels:
    """Return levels without characters that XML cannot hold, and without empty ones."""
    return tuple(level for part in path if folded(level := writable(part)))


def known_paths(lists: Lists) -> dict[str, Levels]:
    """Return what each entry of a packet's lists means; as a path if any of them has it as one.

    >>> known_paths({TAGS_LIST: ["Places/Paris", "b|w"], SUBJECT: ["Paris", "AC/DC"]})
    {'Places/Paris': ('Places', 'Paris'), 'b|w': ('b/w',), 'Paris': ('Paris',), 'AC/DC': ('AC/DC',)}
    """
    paths: dict[str, Levels] = {}
    for name in (*HIERARCHICAL_LISTS, SUBJECT):
        for entry in lists.get(name, ()):
            path = clean(split(entry, name))
            if len(path) > len(paths.get(entry, ())):
                paths[entry] = path
    return paths


def missing(
    lists: Lists, keywords: Iterable[Levels], refused: Collection[str] = ()
) -> MissingKeywords:
    """Return what the three lists lack of their own keywords and of those that are given.

    Parameters
    ----------
    lists : Lists
        The entries of a packet, by list.
    keywords : iterable of Levels
        Keywords it should have.
    refused : Collection, default=()
        Terms that do not fit the picture. Keywords of the packet that hold one are not copied from
        a list to another.

    Examples
    --------
    >>> missing({TAGS_LIST: ["Places/Paris"]}, [("paris",), ("night",)]).entries == {
    ...     TAGS_LIST: ("night",),
    ...     HIERARCHICAL: ("Places|Paris", "night"),
    ...     SUBJECT: ("Paris", "night"),
    ... }
    True
    """
    packet_keywords, all_keywords = _Keywords(), _Keywords()
    for entry, path in known_paths(lists).items():
        packet_keywords.add(path, flat=not _in_hierarchy(entry, lists))
        if not refused or set(refused).isdisjoint(labels(entry)):
            all_keywords.add(path, flat=not _in_hierarchy(entry, lists))
    new_keywords = [path for path in map(clean, keywords) if path]
    for path in new_keywords:
        all_keywords.add(path, flat=len(path) == 1)
    tree = all_keywords.tree()
    added = {name: _lacking(tree, lists.get(name, ()), name) for name in (TAGS_LIST, HIERARCHICAL)}
    added[SUBJECT] = _lacking_subjects(all_keywords, packet_keywords, lists.get(SUBJECT, ()))
    changed = {_key(p)[-1]: p[-1] for paths in added.values() for p in paths}
    fresh = {_key(p)[-1] for p in new_keywords if not packet_keywords.has(p)}
    return MissingKeywords(
        {name: tuple(joined(p, name) for p in paths) for name, paths in added.items() if paths},
        tuple(word for key, word in changed.items() if key in fresh),
        tuple(word for key, word in changed.items() if key not in fresh),
    )


def _in_hierarchy(entry: str, lists: Lists) -> bool:
    return any(entry in lists.get(name, ()) for name in HIERARCHICAL_LISTS)


class _Keywords:
    """Keywords by the form in which they are compared: paths, and flat words of no hierarchy."""

    def __init__(self) -> None:
        self.paths: dict[_Key, Levels] = {}
        self.flat: dict[str, str] = {}

    def add(self, path: Levels, *, flat: bool) -> None:
        if not path:
            return
        if flat:
            self.flat.setdefault(_key(path)[0], path[0])
        else:
            self.paths.setdefault(_key(path), path)

    def has(self, path: Levels) -> bool:
        key = _key(path)
        return key in self.paths or (len(key) == 1 and key[0] in self.flat.keys() | self.inside())

    def inside(self, top: int = 0) -> set[str]:
        """Return the levels of paths of more than one level, from a level down."""
        return {level for key in self.paths if len(key) > 1 for level in key[top:]}

    def spells_path(self, word: str) -> bool:
        """Say whether a flat word is a path of a hierarchy, written in one piece."""
        key = _key(levels(word))
        return len(key) > 1 and key in self.paths

    def tree(self) -> list[Levels]:
        """Return the entries of a list of paths: no flat word that is a level of one of them."""
        every, below = self.inside(), self.inside(1)
        tree = {k: p for k, p in self.paths.items() if len(k) > 1 or k[0] not in below}
        for key, word in self.flat.items():
            if key not in every and not self.spells_path(word):
                tree.setdefault((key,), (word,))
        return list(tree.values())


def _lacking(tree: Iterable[Levels], entries: Sequence[str], name: str) -> list[Levels]:
    existing = {_key(clean(split(entry, name))) for entry in entries}
    inside = {level for key in existing for level in key}
    return [
        path for path in tree
        if (key := _key(path)) not in existing and not (len(key) == 1 and key[0] in inside)
    ]  # fmt: skip


def _lacking_subjects(
    all_keywords: _Keywords, packet_keywords: _Keywords, entries: Sequence[str]
) -> list[Levels]:
    existing = {_key((entry,))[0] for entry in entries}
    words = {key[-1]: path[-1] for key, path in all_keywords.paths.items()}
    for key, word in all_keywords.flat.items():
        # A flat word that is a level of a hierarchy of the packet is there.
        if key not in packet_keywords.inside() and not all_keywords.spells_path(word):
            words.setdefault(key, word)
    return [(word,) for key, word in words.items() if key not in existing]


def _key(path: Levels) -> _Key:
    """Return the form in which keywords are compared, whichever separator is in a name."""
    return tuple(folded(level.replace("|", "/")) for level in path)
