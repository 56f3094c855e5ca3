"""Counts of what was dropped, cut or skipped, by reason and with examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sightline.contracts import Json


class Loss(NamedTuple):
    """Words that were dropped or cut while one picture was read, and what they were."""

    kind: str
    reason: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How often something happened for one reason, with the first cases as examples."""

    kind: str
    reason: str
    count: int
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        example = f" (such as {self.examples[0]})" if self.examples else ""
        return f"{self.count:,}: {self.reason}{example}"

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "kind": self.kind, "reason": self.reason, "count": self.count,
            "examples": list[Json](self.examples),
        }  # fmt: skip


class Tally:
    """Counts cases by reason and keeps the first of each as examples.

    >>> tally = Tally()
    >>> tally.add("link", "it is a link", "a.jpg"); tally.add("link", "it is a link", "b.jpg")
    >>> print(*tally.counts())
    2: it is a link (such as a.jpg)
    """

    _KEPT = 3
    _LONGEST = 120

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, int, list[str]]] = {}

    def add(self, kind: str, reason: str, *examples: str, times: int = 1) -> None:
        """Count cases; the reason of the first one stands for its kind."""
        text, count, kept = self._of.get(kind, (reason, 0, []))
        kept += [cut(e, self._LONGEST) for e in examples[: self._KEPT - len(kept)]]
        self._of[kind] = text, count + times, kept

    def counts(self) -> tuple[ReasonCount, ...]:
        """Return what was counted, the most frequent first."""
        every = (ReasonCount(kind, t, n, tuple(e)) for kind, (t, n, e) in self._of.items())
        return tuple(sorted(every, key=lambda c: -c.count))


def cut(text: str, longest: int) -> str:
    r"""Return a text in one line, with `…` in place of what is beyond a number of characters.

    >>> cut("snow on\nold trees", 10)
    'snow on o…'
    """
    line = " ".join(text[: 2 * longest].split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
