"""Files that were not indexed, by reason: pictures that failed first, then what rules leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sightline.contracts import Json
from sightline.pictures.tally import ReasonCount
from sightline.records import Skipped, shown

_NUMBER = re.compile(r"\d[\d.,×]*")
_FAILED = {
    "broken": "the picture is broken",
    "unreadable": "the file cannot be read",
    "too-large": "the file or the picture is larger than the limit",
    "memory": "decoding needs too much memory",
    "timeout": "decoding takes too long",
    "crash": "the decoder crashed",
}


@dataclass(frozen=True, slots=True)
class SkipGroup:
    """Files that were not indexed for one reason.

    Attributes
    ----------
    kind, reason : str
        The kind of `Skipped`, and what all of the files have in common.
    count, new : int
        How many files, and how many of them the index before did not report.
    example : str
        One of them, a new one if there is any, with its own reason where that says more.
    failed : bool
        Whether they are pictures that could not be read, in contrast to files left out by a rule.
    """

    kind: str
    reason: str
    count: int
    new: int
    example: str
    failed: bool

    def __str__(self) -> str:
        files = "1 file" if self.count == 1 else f"{self.count:,} files"
        return f"{files}: {self.reason} (such as {self.example})"

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "kind": self.kind, "reason": self.reason, "count": self.count, "new": self.new,
            "example": self.example, "failed": self.failed,
        }  # fmt: skip


def skip_groups(
    skipped: Iterable[Skipped], before: Mapping[bytes, Skipped] | None = None
) -> tuple[SkipGroup, ...]:
    """Group files by reason: those that failed first, then by number.

    Parameters
    ----------
    skipped : iterable of Skipped
        The files.
    before : mapping, optional
        Those that the index before reported, by path; others are new.
    """
    of: dict[tuple[bool, str, str], list[Skipped]] = {}
    for s in skipped:
        reason = _FAILED.get(s.kind) or (s.reason if s.by_rule else _NUMBER.sub("…", s.reason))
        of.setdefault((s.by_rule, s.kind, reason), []).append(s)
    groups = [
        _group(files, kind, reason, not by_rule, before or {})
        for (by_rule, kind, reason), files in of.items()
    ]
    return tuple(sorted(groups, key=lambda g: (not g.failed, -g.count, g.reason)))


def _group(
    files: Sequence[Skipped],
    kind: str,
    reason: str,
    failed: bool,
    before: Mapping[bytes, Skipped],
) -> SkipGroup:
    new = [s for s in files if s.path not in before or before[s.path].kind != s.kind]
    first = min(new or files, key=lambda s: s.path)
    detail = f": {first.reason}" if first.reason != reason else ""
    return SkipGroup(kind, reason, len(files), len(new), f"{shown(first.path)}{detail}", failed)


def skip_lines(
    groups: Sequence[SkipGroup], left_out: Sequence[ReasonCount], *, left_out_new: bool
) -> list[str]:
    """Return what is to be said of files that were not indexed, each once.

    A reason with a new file is named with its number and an example; all others are only counted.
    """
    new = [g for g in groups if g.new]
    lines = []
    for failed, title in ((True, "could not read"), (False, "left out by rule")):
        lines += [f"{title} {g}" for g in new if g.failed == failed]
    if left_out_new:
        lines += [f"not looked at {c}" for c in left_out]
    old = [g for g in groups if not g.new]
    if old:
        failed_count = sum(g.count for g in old if g.failed)
        failing = f", {failed_count:,} of them could not be read" if failed_count else ""
        lines.append(f"{sum(g.count for g in old):,} skipped as before{failing}")
    if groups:
        lines[-1] += " (sightline doctor --skipped lists all)"
    return lines
