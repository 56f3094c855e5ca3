"""The keyword lists of XMP, and how each of them writes a hierarchy.

Programs keep the same keywords in several lists and read the first they know: digiKam and immich
`digiKam:TagsList` (levels separated by `/`), Lightroom and darktable `lr:hierarchicalSubject`
(separated by `|`), most others the flat `dc:subject`. A separator inside a name would make a
hierarchy that nobody meant, so each list writes the other's separator there: the keyword `AC/DC` is
`AC|DC` in `digiKam:TagsList` and `AC/DC` in the two others. immich reads Lightroom's list in the
same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TAGS_LIST = "digiKam:TagsList"
HIERARCHICAL = "lr:hierarchicalSubject"
SUBJECT = "dc:subject"
MICROSOFT = "MicrosoftPhoto:LastKeywordXMP"
# In the order in which words are read.
KEYWORD_LISTS = (TAGS_LIST, HIERARCHICAL, SUBJECT, MICROSOFT)
HIERARCHICAL_LISTS = (TAGS_LIST, HIERARCHICAL, MICROSOFT)
# Longer labels are cut when a picture is read.
MAX_LABEL = 200

_SEPARATORS = {TAGS_LIST: "/", HIERARCHICAL: "|", MICROSOFT: "/"}
_OTHER = {"/": "|", "|": "/"}

Levels = tuple[str, ...]
"""A keyword from the top of its hierarchy down; one level if it is flat."""


def split(entry: str, name: str) -> Levels:
    """Return the levels of an entry of a list, without empty ones.

    >>> split("Places/Paris", TAGS_LIST), split("Places|Paris", HIERARCHICAL)
    (('Places', 'Paris'), ('Places', 'Paris'))
    >>> split("AC|DC", TAGS_LIST), split("AC/DC", HIERARCHICAL), split("AC/DC", SUBJECT)
    (('AC/DC',), ('AC/DC',), ('AC/DC',))
    """
    if name == SUBJECT:
        return (entry,)
    levels = (level.strip() for level in entry.split(_SEPARATORS[name]))
    return tuple(level.replace("|", "/") for level in levels if level)


def joined(levels: Levels, name: str) -> str:
    """Return a keyword as an entry of a list; `dc:subject` has its last level alone.

    >>> [joined(("Music", "AC/DC"), name) for name in (TAGS_LIST, HIERARCHICAL, SUBJECT)]
    ['Music/AC|DC', 'Music|AC/DC', 'AC/DC']
    """
    if name == SUBJECT:
        return levels[-1]
    separator = _SEPARATORS[name]
    return separator.join(level.replace(separator, _OTHER[separator]) for level in levels)


def labels(lists: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the entries of all lists, each keyword once.

    The same path in a second list is left out, and so is a flat keyword that is the last level of
    a path. A flat keyword is spelled as `dc:subject` has it.

    >>> labels({TAGS_LIST: ["Places/Paris", "AC|DC"], SUBJECT: ["Paris", "AC/DC", "night"]})
    ('Places/Paris', 'AC/DC', 'night')
    """
    paths = [(split(e, n), e) for n in HIERARCHICAL_LISTS for e in lists.get(n, ())]
    # A path that will be cut does not replace its last level.
    last = {levels[-1] for levels, e in paths if len(levels) > 1 and len(e) <= MAX_LABEL}
    hierarchical = {e for levels, e in paths if len(levels) > 1}
    unique: dict[Levels, str] = {}
    for name in KEYWORD_LISTS:
        for entry in lists.get(name, ()):
            path = split(entry, name) or (entry,)
            if name in (TAGS_LIST, HIERARCHICAL) or len(path) > 1:
                unique.setdefault(path, entry)
            elif entry not in hierarchical and (flat := entry.replace("|", "/")) not in last:
                unique[flat,] = entry
    return tuple(dict.fromkeys(unique.values()))
