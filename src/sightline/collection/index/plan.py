"""What an index run has to do: which files are new, changed, moved, gone, or as they were.

A picture keeps its id through moves, renames and edits. Content decides first: a file whose content
belonged to a picture that is no longer where it was *is* that picture, even if another picture
lay at its path before (so renumbering a whole folder mixes nothing up). Otherwise the path decides.

What an index run would do, found out without doing it.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from functools import partial

from sightline.errors import DataError
from sightline.pictures.folder import PictureFile, Unreadable
from sightline.pictures.reading import open_regular
from sightline.records import Skipped
from sightline.store.catalogue import UNPUBLISHED, KnownPicture

# Reasons that may have gone by themselves; files skipped for others are tried again when changed.
_PASSING = frozenset(["unreadable", "special"])

_Hash = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class ToRead:
    """A file to read; `picture` is its id where that is already settled."""

    found: PictureFile
    picture: int | None = None
    moved: bool = False


@dataclass(slots=True)
class Plan:
    """The work of one run."""

    read: list[ToRead] = field(default_factory=list)
    words: list[tuple[PictureFile, KnownPicture]] = field(default_factory=list)
    reuse: list[tuple[PictureFile, KnownPicture]] = field(default_factory=list)
    touched: list[tuple[PictureFile, KnownPicture]] = field(default_factory=list)
    vanished: list[KnownPicture] = field(default_factory=list)
    unlisted: list[KnownPicture] = field(default_factory=list)
    still_skipped: list[Skipped] = field(default_factory=list)
    skipped_now: list[Skipped] = field(default_factory=list)
    no_longer_skipped: list[bytes] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    seen: int = 0
    same: int = 0
    free: dict[str, list[int]] = field(default_factory=dict)

    def claim(self, sha: str) -> int | None:
        """Return the id of a picture with this content that lost its place, if there is one."""
        ids = self.free.get(sha)
        return ids.pop(0) if ids else None


def stamps_of(file: PictureFile) -> str:
    """Return size and time of the word files beside a picture, as one comparable text."""
    return json.dumps(
        [[s.path.decode("utf-8", "surrogateescape"), s.size, s.mtime] for s in file.sidecars]
    )


def make_plan(
    walked: Iterable[PictureFile | Skipped | Unreadable],
    known: Iterable[KnownPicture],
    skipped: Iterable[tuple[Skipped, int, int]],
    live: set[int],
    root: bytes,
    *,
    reusable: Container[int] = (),
    retry: bool = False,
    follow: bool = False,
) -> Plan:
    """Compare what is there with what is known; `live` are the ids with complete rows.

    `reusable` are pictures with an outdated row whose right row lies in the store.
    """
    plan = Plan()
    by_path = {k.path: k for k in known}
    bad = {s.path: (s, size, mtime) for s, size, mtime in skipped}
    changed: list[tuple[PictureFile, KnownPicture]] = []
    for item in walked:
        if isinstance(item, Unreadable):
            plan.unreadable.append(item)
            continue
        plan.seen += 1
        before = bad.pop(item.path, None)
        if isinstance(item, Skipped):
            plan.skipped_now.append(item)
            if item.kind == "unreadable":
                by_path.pop(item.path, None)  # It is still there, and keeps its id.
        elif before and not retry and _still_bad(item, before):
            plan.still_skipped.append(before[0])
            by_path.pop(item.path, None)
        elif (k := by_path.pop(item.path, None)) is None:
            plan.read.append(ToRead(item))
        else:
            if (item.size, item.mtime) != (k.size, k.mtime):
                changed.append((item, k))
            else:
                plan.same += _place(plan, item, k, live, reusable)
    plan.no_longer_skipped = list(bad)
    for k in by_path.values():
        (plan.unlisted if _below(k.path, plan.unreadable) else plan.vanished).append(k)
    _identify(plan, changed, partial(_sha, root, follow), live, reusable)
    return plan


def _still_bad(found: PictureFile, before: tuple[Skipped, int, int]) -> bool:
    skipped, size, mtime = before
    return (found.size, found.mtime) == (size, mtime) and skipped.kind not in _PASSING


def _place(
    plan: Plan, found: PictureFile, k: KnownPicture, live: set[int], reusable: Container[int]
) -> bool:
    """Say what to do for a picture whose content is as known; return whether nothing is."""
    outdated = k.outdated
    right = outdated is None or outdated.part == "features"
    if k.picture in reusable:
        plan.reuse.append((found, k))
    elif k.picture not in live or k.stamps == UNPUBLISHED or not right:
        plan.read.append(ToRead(found, k.picture))
        return False
    if stamps_of(found) != (outdated.stamps if outdated else k.stamps):
        plan.words.append((found, k))
        return False
    return k.picture not in reusable


def _below(path: bytes, folders: list[Unreadable]) -> bool:
    return any(f.path == b"" or path.startswith(f.path + b"/") for f in folders)


def _identify(
    plan: Plan,
    changed: list[tuple[PictureFile, KnownPicture]],
    sha_of: _Hash,
    live: set[int],
    reusable: Container[int],
) -> None:
    """Settle who is who among files that changed in place, and note whose content is homeless."""
    homeless = list(plan.vanished)
    edited: list[tuple[PictureFile, KnownPicture, str]] = []
    for found, k in changed:
        sha = sha_of(found.path)
        if sha != k.sha:
            homeless.append(k)
            edited.append((found, k, sha))
        elif _place(plan, found, k, live, reusable):
            plan.touched.append((found, k))
    free: dict[str, list[int]] = defaultdict(list)
    for k in sorted(homeless, key=lambda k: k.picture):
        free[k.sha].append(k.picture)
    plan.free = free
    if edited:
        _settle(plan, edited, sha_of, {k.size for k in homeless})


def _settle(
    plan: Plan, edited: list[tuple[PictureFile, KnownPicture, str]], sha_of: _Hash, sizes: set[int]
) -> None:
    """Let content find its picture first; what is left keeps the id of its path."""
    waiting = []
    for t in plan.read:
        if t.picture is None and t.found.size in sizes:
            claimed = plan.claim(sha_of(t.found.path))
            t = ToRead(t.found, claimed, moved=claimed is not None)
        waiting.append(t)
    moved = [(found, k, plan.claim(sha)) for found, k, sha in edited]
    for found, k, claimed in moved:
        if claimed is None and k.picture in plan.free.get(k.sha, []):
            plan.free[k.sha].remove(k.picture)
            waiting.append(ToRead(found, k.picture))
        else:
            waiting.append(ToRead(found, claimed, moved=claimed is not None))
    plan.read = sorted(waiting, key=lambda t: t.found.path)
    kept = {t.picture for t in plan.read}
    gone = {k.picture: k for k in plan.vanished}
    gone.update((k.picture, k) for _, k, _ in edited)
    plan.vanished = [k for p, k in gone.items() if p not in kept]


def _sha(root: bytes, follow: bool, path: bytes) -> str:
    try:
        with open_regular(root, path, follow) as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    except (OSError, DataError):
        return ""  # The worker that reads it will say why.
