"""The work bench: sizes, a temporary folder, and the workloads that several subjects share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything; the names say what for."""

    repetitions: int = 5
    starts: int = 9
    throughput: int | None = None  # pictures to index; None is all there are
    synthetic: int = 1_000  # pictures to index where no data is given
    isolation: int = 2_000
    vectors: int = 1_000_000
    listed: int = 1_000_000  # rows that lists of bytes hold
    worded: int = 100_000
    vocabulary: int = 20_000
    collection: int = 10_000
    growth: tuple[int, ...] = (1_000, 5_000, 10_000)
    queries: tuple[int, ...] = (10_000, 100_000)
    sentences: tuple[int, int] = (8_000, 100_000)  # pictures
    trained: tuple[int, ...] = (10_000, 100_000)  # pictures
    ridge: tuple[int, int] = (6_000, 4_000)  # pictures, words


FULL = Sizes()
# Killing an index half-way takes more pictures than one batch of it.
QUICK = Sizes(
    starts=7,
    throughput=1_000,
    isolation=500,
    vectors=100_000,
    listed=20_000,
    worded=10_000,
    vocabulary=5_000,
    collection=2_500,
    growth=(500, 1_000, 2_000),
    queries=(2_000, 10_000),
    sentences=(2_000, 8_000),
    trained=(2_000, 8_000),
    ridge=(1_000, 500),
)


class Bench:
    """What a benchmark works on. Everything it makes lies in one folder, removed at the end."""

    def __init__(self, folder: Path, sizes: Sizes = FULL, data: Path | None = None) -> None:
        self.folder, self.sizes, self.data = folder, sizes, data
        self._made: dict[str, object] = {}

    def once(self, name: str, make: Callable[[Path], T]) -> T:
        """Return what `make(folder)` made the first time it was asked for by this name."""
        if name not in self._made:
            self.say(f"making {name}")
            folder = self.folder / name
            folder.mkdir()
            self._made[name] = make(folder)
        return self._made[name]  # type: ignore[return-value]

    def fresh(self, name: str) -> Path:
        """Return a path in the bench's folder at which nothing lies yet."""
        number = sum(1 for p in self.folder.iterdir() if p.name.startswith(f"{name}-"))
        return self.folder / f"{name}-{number}"

    def say(self, text: str) -> None:
        """Say on stderr how far it has come."""
        print(f"bench: {text}", file=sys.stderr, flush=True)
