"""The answer of a federation: merged hits, and what each member did for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from sightline.contracts import Json
from sightline.federation.merge import FederatedHit


@dataclass(frozen=True, slots=True)
class MemberReport:
    """What one member did for an answer.

    Attributes
    ----------
    name : str
        The member.
    version : int or None
        The version that answered; None if it did not answer.
    problem : str
        Why it did not answer; empty if it did.
    remarks : tuple of str
        What there is to say about its part, such as that it has no word model.
    """

    name: str
    version: int | None = None
    problem: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether its hits are in the answer."""
        return not self.problem

    def lines(self) -> list[str]:
        """Say what there is to say about the member.

        >>> MemberReport("work", problem="The store is damaged.").lines()
        ['work did not answer: The store is damaged.']
        """
        if self.problem:
            return [f"{self.name} did not answer: {self.problem}"]
        return [f"{self.name}: {remark}" for remark in self.remarks]

    def to_dict(self) -> dict[str, Json]:
        """Return the report as JSON."""
        return {
            "name": self.name, "version": self.version, "answered": self.answered,
            "problem": self.problem, "remarks": list[Json](self.remarks),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class FederatedResults:
    """Merged hits, best first, and a report on every member, in their order.

    Attributes
    ----------
    more : bool
        Whether the list goes on after these hits.
    """

    hits: tuple[FederatedHit, ...]
    members: tuple[MemberReport, ...]
    more: bool = False

    def __iter__(self) -> Iterator[FederatedHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def is_complete(self) -> bool:
        """Whether every member answered."""
        return all(m.answered for m in self.members)

    @property
    def version(self) -> int:
        """A number that stands for the members that answered, and their versions."""
        state = json.dumps([(m.name, m.version) for m in self.members]).encode()
        return int.from_bytes(hashlib.sha256(state).digest()[:6], "big")

    def lines(self) -> list[str]:
        """Say what there is to say about all members."""
        return [line for m in self.members for line in m.lines()]

    def to_dict(self) -> dict[str, Json]:
        """Return the answer as JSON."""
        return {
            "hits": [h.to_dict() for h in self.hits], "more": self.more,
            "complete": self.is_complete, "collections": [m.to_dict() for m in self.members],
        }  # fmt: skip
