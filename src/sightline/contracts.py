"""What the parts of Sightline promise each other.

A learner, a feature, a store and a way to compute are interchangeable because each keeps one of
these contracts; `sightline.testing` checks them, for built-in parts and for plugins alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightline.records import DenseQuery, SparseQuery, Top

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
WorkerKind = Literal["decode", "describe"]


@runtime_checkable
class Feature(Protocol):
    """A way to turn one small upright RGB picture into a vector of fixed length.

    `describe` is pure: the same picture gives the same vector, whatever came before, in any
    process. `name`, `version` and `parameters` make up the fingerprint under which rows are kept.
    """

    name: str
    version: int
    length: int

    @property
    def parameters(self) -> dict[str, Json]: ...

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]: ...


@runtime_checkable
class Store(Protocol):
    """Where pictures, words and vectors lie; a reader sees one published version at a time."""

    version: int

    def top(
        self,
        query: DenseQuery | SparseQuery,
        k: int,
        where: NDArray[np.int64] | None = None,
    ) -> Top:
        """Return the k best pictures; `where` lists the only picture ids that may appear."""
        ...

    def ids(self) -> NDArray[np.int64]:
        """Return the ids of all live pictures, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of work for a worker: `name` says whose fault a crash is, in an error message."""

    name: bytes
    args: dict[str, Json]
    blob: bytes | memoryview = b""


@dataclass(frozen=True, slots=True)
class Done:
    """A job's answer."""

    value: dict[str, Json]
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class Failed:
    """A job that could not be done: `kind` is broken, memory, timeout or crash (see Skipped)."""

    kind: str
    reason: str


class RunAlone(Exception):
    """Raised by a task that needs much memory: run me again while no other such job runs."""


class Compute(Protocol):
    """Runs tasks, named by their dotted path, over many jobs; answers come in the jobs' order.

    A task is a module-level function `task(args, blob, alone) -> Done`. It is named
    `package.module:function`, so that a worker process finds it by importing it.
    """

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]: ...

    def close(self) -> None: ...


class Progress(Protocol):
    """Told how far a long piece of work has come."""

    def start(self, what: str, total: int | None) -> None: ...

    def advance(self, n: int = 1) -> None: ...

    def finish(self) -> None: ...
