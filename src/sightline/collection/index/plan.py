"""The plan of an index run: which files are new, changed, moved, gone, or as they were.

A picture keeps its id through moves, renames and edits. Content decides first: a file whose content
belonged to a picture that is no longer where it was *is* that picture, even if another picture
lay at its path before (so renumbering a whole folder mixes nothing up). Otherwise the path decides.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sightline.collection.index.options import FeatureRequest, IndexOptions
from sightline.errors import DataError
from sightline.pictures.folder import PictureFile, Unreadable, walk
from sightline.pictures.reading import open_regular
from sightline.pictures.tally import Tally
from sightline.records import Skipped
from sightline.store.catalogue import UNPUBLISHED, Catalogue, KnownPicture
from sightline.store.snapshot import Snapshot

# Reasons that may have gone by themselves; files skipped for others are tried again when changed.
_PASSING = frozenset(["unreadable", "special"])

_Hash = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class ToRead:
    """A file to read; `picture` is its id where that is already known.

    `known` is a picture whose row is right and only lacks features, None for all others.
    """

    file: PictureFile
    picture: int | None = None
    moved: bool = False
    known: KnownPicture | None = None

    @property
    def known_sha(self) -> str | None:
        """The checksum of the content whose row is right; None where there is none."""
        return self.known.sha if self.known is not None else None


@dataclass(slots=True)
class Plan:
    """The work of one run."""

    read: list[ToRead] = field(default_factory=list)
    describe: list[ToRead] = field(default_factory=list)
    words: list[tuple[PictureFile, KnownPicture]] = field(default_factory=list)
    reuse: list[tuple[PictureFile, KnownPicture]] = field(default_factory=list)
    touched: list[tuple[PictureFile, KnownPicture]] = field(default_factory=list)
    vanished: list[KnownPicture] = field(default_factory=list)
    unlisted: list[KnownPicture] = field(default_factory=list)
    still_skipped: list[Skipped] = field(default_factory=list)
    skipped_now: list[Skipped] = field(default_factory=list)
    no_longer_skipped: list[bytes] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    left_out: Tally = field(default_factory=Tally)
    skipped_before: dict[bytes, Skipped] = field(default_factory=dict)
    reread_txt: bool = False
    seen: int = 0
    same: int = 0
    free: dict[str, list[int]] = field(default_factory=dict)

    def present(self, known: Iterable[KnownPicture]) -> set[bytes]:
        """Return the paths of the pictures there will be."""
        gone = {k.path for k in self.vanished}
        return {k.path for k in known if k.path not in gone} | {t.file.path for t in self.read}

    def claim(self, sha: str) -> int | None:
        """Return the id of a picture with this content that lost its file, if there is one."""
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
    lacking: Container[int] = (),
    reusable: Container[int] = (),
    retry: bool = False,
    follow: bool = False,
    reread_txt: bool = False,
) -> Plan:
    """Compare files with what is known of them; `live` are the ids with complete rows.

    `lacking` are the ids whose rows lack features. `reusable` are pictures with an outdated row
    whose right row lies in the store; `reread_txt` asks to read `.txt` files again although they
    did not change.
    """
    plan = Plan(reread_txt=reread_txt)
    rows = _StoredRows(live, lacking, reusable)
    by_path = {k.path: k for k in known}
    skipped_before = {s.path: (s, size, mtime) for s, size, mtime in skipped}
    changed: list[tuple[PictureFile, KnownPicture]] = []
    for item in walked:
        if isinstance(item, Unreadable):
            plan.unreadable.append(item)
            continue
        plan.seen += 1
        before = skipped_before.pop(item.path, None)
        if isinstance(item, Skipped):
            plan.skipped_now.append(item)
            if item.kind == "unreadable":
                by_path.pop(item.path, None)  # The file exists, and the picture keeps its id.
        elif before and not retry and _still_bad(item, before):
            plan.still_skipped.append(before[0])
            by_path.pop(item.path, None)
        elif (k := by_path.pop(item.path, None)) is None:
            plan.read.append(ToRead(item))
        else:
            if (item.size, item.mtime) != (k.size, k.mtime):
                changed.append((item, k))
            else:
                plan.same += _place(plan, item, k, rows)
    plan.no_longer_skipped = list(skipped_before)
    for k in by_path.values():
        (plan.unlisted if _below(k.path, plan.unreadable) else plan.vanished).append(k)
    _identify(plan, changed, partial(_sha, root, follow), rows)
    return plan


@dataclass(frozen=True, slots=True)
class _StoredRows:
    """Pictures by what the store has of them; the attributes are those of `make_plan`."""

    live: Container[int]
    lacking: Container[int]
    reusable: Container[int]


def _still_bad(file: PictureFile, before: tuple[Skipped, int, int]) -> bool:
    skipped, size, mtime = before
    return (file.size, file.mtime) == (size, mtime) and skipped.kind not in _PASSING


def _place(plan: Plan, file: PictureFile, k: KnownPicture, rows: _StoredRows) -> bool:
    """Plan for a picture whose content did not change; return whether there is nothing to do."""
    outdated = k.outdated
    right = k.stamps != UNPUBLISHED and (outdated is None or outdated.part == "features")
    if k.picture in rows.reusable:
        plan.reuse.append((file, k))
    elif right and k.picture in rows.lacking:
        plan.describe.append(ToRead(file, k.picture, known=k))
    elif not right or k.picture not in rows.live:
        plan.read.append(ToRead(file, k.picture))
        return False
    reread = plan.reread_txt and any(s.path.lower().endswith(b".txt") for s in file.sidecars)
    if reread or stamps_of(file) != k.plain_stamps:
        plan.words.append((file, k))
        return False
    return k.picture not in rows.reusable and k.picture not in rows.lacking


def _below(path: bytes, folders: list[Unreadable]) -> bool:
    return any(f.path == b"" or path.startswith(f.path + b"/") for f in folders)


def _identify(
    plan: Plan,
    changed: list[tuple[PictureFile, KnownPicture]],
    sha_of: _Hash,
    rows: _StoredRows,
) -> None:
    """Assign ids to files that changed in place, and collect ids whose content lost its file."""
    unplaced = list(plan.vanished)
    edited: list[tuple[PictureFile, KnownPicture, str]] = []
    for file, k in changed:
        sha = sha_of(file.path)
        if sha != k.sha:
            unplaced.append(k)
            edited.append((file, k, sha))
        elif _place(plan, file, k, rows):
            plan.touched.append((file, k))
    free: dict[str, list[int]] = defaultdict(list)
    for k in sorted(unplaced, key=lambda k: k.picture):
        free[k.sha].append(k.picture)
    plan.free = free
    if edited:
        _settle(plan, edited, sha_of, {k.size for k in unplaced})


def _settle(
    plan: Plan, edited: list[tuple[PictureFile, KnownPicture, str]], sha_of: _Hash, sizes: set[int]
) -> None:
    """Assign ids by content first; the other files keep the id of their path."""
    waiting = []
    for t in plan.read:
        if t.picture is None and t.file.size in sizes:
            claimed = plan.claim(sha_of(t.file.path))
            t = ToRead(t.file, claimed, moved=claimed is not None)
        waiting.append(t)
    moved = [(file, k, plan.claim(sha)) for file, k, sha in edited]
    for file, k, claimed in moved:
        if claimed is None and k.picture in plan.free.get(k.sha, []):
            plan.free[k.sha].remove(k.picture)
            waiting.append(ToRead(file, k.picture))
        else:
            waiting.append(ToRead(file, claimed, moved=claimed is not None))
    plan.read = sorted(waiting, key=lambda t: t.file.path)
    kept = {t.picture for t in plan.read}
    gone = {k.picture: k for k in plan.vanished}
    gone.update((k.picture, k) for _, k, _ in edited)
    plan.vanished = [k for p, k in gone.items() if p not in kept]


def _sha(root: bytes, follow: bool, path: bytes) -> str:
    try:
        with open_regular(root, path, follow) as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    except (OSError, DataError):
        return ""  # The worker that reads it reports why.


def plan_for(
    root: bytes,
    catalogue: Catalogue | None,
    live: set[int],
    options: IndexOptions,
    lacking: Container[int] = (),
    reusable: Container[int] = (),
) -> Plan:
    """Walk the folder and compare it with the catalogue; None for a store that is still empty."""
    follow = options.limits.follow
    left_out = Tally()
    walked = walk(
        root, follow=follow, hidden=options.hidden, exclude=options.exclude, left_out=left_out
    )
    if catalogue is None:
        return replace(make_plan(walked, [], [], live, root, follow=follow), left_out=left_out)
    # A limit that was changed may let in what it kept out.
    retry = options.retry or catalogue.meta("limits") not in (None, limits_text(options))
    known, skipped = catalogue.known(), catalogue.skipped()
    plan = make_plan(
        walked, known, skipped, live, root, lacking=lacking, reusable=reusable, retry=retry,
        follow=follow, reread_txt=(catalogue.meta("txt_as") or "auto") != options.txt_as,
    )  # fmt: skip
    before = {s.path: s for s, _, _ in skipped}
    return replace(plan, left_out=left_out, skipped_before=before)


def complete_rows(snapshot: Snapshot, options: IndexOptions) -> tuple[set[int], set[int]]:
    """Return the ids whose rows have all the features wanted, and those whose rows lack some."""
    wanted = {w.fingerprint for w in options.features}
    complete: set[int] = set()
    lacking: set[int] = set()
    for s in snapshot.segments:
        (complete if wanted <= set(s.features) else lacking).update(s.ids[s.alive()].tolist())
    return complete, lacking


def lacking_features(
    snapshot: Snapshot, pictures: Iterable[ToRead], features: Sequence[FeatureRequest]
) -> dict[int, tuple[FeatureRequest, ...]]:
    """Return the features wanted that rows of known pictures lack, by picture."""
    ids = np.array(sorted(t.picture for t in pictures if t.picture is not None), np.int64)
    lacks: dict[int, tuple[FeatureRequest, ...]] = {}
    for have, group in snapshot.by_features(ids):
        missing = tuple(w for w in features if w.fingerprint not in have)
        lacks.update(dict.fromkeys(group.tolist() if missing else (), missing))
    return lacks


def limits_text(options: IndexOptions) -> str:
    """Return the limits files are skipped by, as one comparable text."""
    limits = options.limits
    return f"{limits.max_megapixels:g} {limits.max_file_bytes} {options.seconds:g}"
