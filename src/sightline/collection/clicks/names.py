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
class Strangers:
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

    A path is taken from the collection, or as absolute if it lies inside; then a file name that
    only one picture has; then a number as an id. `gone` and `unknown` collect what was not found.
    """

    def __init__(self, catalogue: Catalogue, root: bytes) -> None:
        self._roots = roots_of(root)
        self._paths = {k.path: k.picture for k in catalogue.known()}
        self._ids = frozenset(self._paths.values())
        self._names = _by_name(self._paths)
        gone = catalogue.gone()
        self._gone_paths = frozenset(path for _, path in gone)
        self._gone_ids = frozenset(picture for picture, _ in gone)
        self._known: dict[str, int | None] = {}
        self.gone, self.unknown = Strangers(), Strangers()

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
        alone = self._names.get(os.path.basename(plain.replace(b"\\", b"/")))
        if alone is not None:
            return alone
        number = _number(plain)
        return number if number in self._ids else None

    def _is_gone(self, raw: bytes) -> bool:
        inside = inside_of(raw.strip(), self._roots)
        return inside in self._gone_paths or _number(raw.strip()) in self._gone_ids


def _by_name(paths: dict[bytes, int]) -> dict[bytes, int]:
    """Return the pictures whose file name no other picture has."""
    times = Counter(os.path.basename(p) for p in paths)
    return {n: picture for p, picture in paths.items() if times[n := os.path.basename(p)] == 1}


def _number(plain: bytes) -> int:
    """Return the id a name may be; -1, which none is, if it is no number."""
    return int(plain) if plain.isdigit() and len(plain) < 19 else -1


def _bytes(name: str) -> bytes:
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace")
