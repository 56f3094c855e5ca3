"""Which picture a click log means: by its path, its file name or its id."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field

from sightline.pictures.tables import inside_of, roots_of
from sightline.records import shown
from sightline.store.catalogue import Catalogue

_NAMED = 20


@dataclass(slots=True)
class UnresolvedNames:
    """Names that are no picture's, with how often each came up."""

    counts: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.counts)

    def first(self) -> tuple[str, ...]:
        """Return the most frequent ones, safe to print."""
        often = sorted(self.counts.items(), key=lambda c: (-c[1], c[0]))[:_NAMED]
        return tuple(shown(_bytes(name)) for name, _ in often)


class Names:
    """Finds pictures by what other programs call them.

    A path is taken from the collection, or as absolute if it lies inside; then a file name without
    a folder that only one picture has or ever had; then a number as an id. A folder is believed: a
    picture of the same file name elsewhere is another one. `gone` and `unknown` collect what was
    not found.
    """

    def __init__(self, catalogue: Catalogue, root: bytes) -> None:
        self._roots = roots_of(root)
        self._paths = {k.path: k.picture for k in catalogue.known()}
        self._ids = frozenset(self._paths.values())
        gone = catalogue.gone()
        self._gone_paths = frozenset(path for _, path in gone)
        self._gone_names = frozenset(map(os.path.basename, self._gone_paths))
        self._names = _by_name(self._paths, self._gone_names)
        self._gone_ids = frozenset(picture for picture, _ in gone)
        self._known: dict[str, int | None] = {}
        self.gone, self.unknown = UnresolvedNames(), UnresolvedNames()

    def find(self, name: str) -> int | None:
        """Return the id of the picture, or None, which is then counted."""
        if name not in self._known:
            self._known[name] = self._find(_bytes(name))
        picture = self._known[name]
        if picture is None:
            strangers = self.gone if self._is_gone(_bytes(name)) else self.unknown
            strangers.counts[name] += 1
        return picture

    def _find(self, raw: bytes) -> int | None:
        if raw in self._paths:
            return self._paths[raw]
        plain = raw.strip()
        inside = inside_of(plain, self._roots)
        if inside is not None and inside in self._paths:
            return self._paths[inside]
        # Looked up whole, so that what has a folder is never found by its file name.
        if inside not in self._gone_paths and plain in self._names:
            return self._names[plain]
        number = _number(plain)
        return number if number in self._ids else None

    def _is_gone(self, raw: bytes) -> bool:
        plain = raw.strip()
        return (
            inside_of(plain, self._roots) in self._gone_paths
            or plain in self._gone_names
            or _number(plain) in self._gone_ids
        )


def _by_name(paths: dict[bytes, int], gone: frozenset[bytes]) -> dict[bytes, int]:
    """Return the pictures whose file name no other picture has, nor one that is gone had."""
    times = Counter(os.path.basename(p) for p in paths)
    times.update(gone)
    return {n: picture for p, picture in paths.items() if times[n := os.path.basename(p)] == 1}


def _number(plain: bytes) -> int:
    """Return the id a name may be; -1, which none is, if it is no number."""
    return int(plain) if plain.isdigit() and len(plain) < 19 else -1


def _bytes(name: str) -> bytes:
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace")
