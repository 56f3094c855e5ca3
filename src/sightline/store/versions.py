"""Versions: what a reader sees, named by one pointer.

A version is a small file listing immutable segments; publishing writes the file and then moves the
pointer in the catalogue, in the same transaction that records the pictures. A reader keeps the
version it opened. The current version, the two finished ones before it and their files are kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sightline.errors import StoreDamaged
from sightline.store.durable import Written, sync_folder, write_file

KEPT = 2
# Files of a store folder that are ours to remove; anything else there is somebody's.
OURS = re.compile(
    r"(pictures|feature|scores|dead|arrays)-[0-9a-f]{0,20}\.safetensors(\.\d+\.part)?"
)
_FORMAT = 4
_READABLE = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file a version needs, with what its bytes must be."""

    name: str
    sha256: str
    size: int

    @classmethod
    def of(cls, written: Written) -> FileEntry:
        return cls(written.name, written.sha256, written.size)


@dataclass(frozen=True, slots=True)
class FeatureFile:
    """The rows of one feature in one segment."""

    feature: str
    file: FileEntry


@dataclass(frozen=True, slots=True)
class Segment:
    """Some pictures: their base file, feature files, the rows that no longer count, the scores a
    model gave them, and the range of their ids, so that a segment need not be opened to learn that
    a picture is not in it."""

    rows: int
    base: FileEntry
    features: tuple[FeatureFile, ...] = ()
    dead: FileEntry | None = None
    dead_rows: int = 0
    scores: FileEntry | None = None
    scored_by: str = ""
    first: int = 0
    last: int = 1 << 62

    def may_hold(self, ids: Iterable[int]) -> bool:
        """Return whether any of some pictures can be here, by the range of ids alone."""
        return any(self.first <= i <= self.last for i in ids)

    @property
    def live(self) -> int:
        return self.rows - self.dead_rows

    def files(self) -> Iterable[FileEntry]:
        yield self.base
        yield from (f.file for f in self.features)
        if self.dead is not None:
            yield self.dead
        if self.scores is not None:
            yield self.scores


@dataclass(frozen=True, slots=True)
class Version:
    """One published state. `finished` is false while an index run is still adding to it.

    `model` ranks its pictures for words, `similar` by how alike they are to other pictures, and
    `regions` says which words lie where in them; `codebooks` are what its features were made with.
    `returned` is the last version before or at it that was an older one, published again.
    """

    number: int
    segments: tuple[Segment, ...] = ()
    model: str = ""
    finished: bool = True
    note: str = field(default="")
    codebooks: tuple[str, ...] = ()
    similar: str = ""
    regions: str = ""
    returned: int = 0

    def models(self) -> set[str]:
        """Return the names of all models it needs."""
        return {*self.codebooks, self.model, self.similar, self.regions} - {""}

    def files(self) -> Iterable[FileEntry]:
        for s in self.segments:
            yield from s.files()

    @property
    def live(self) -> int:
        return sum(s.live for s in self.segments)


def version_name(number: int) -> str:
    """Return the file name of a version."""
    return f"{number:08d}.json"


class Versions:
    """The folder of version files."""

    def __init__(self, folder: Path, shards: Path) -> None:
        self.folder, self.shards = folder, shards

    def write(self, v: Version) -> None:
        """Make a version durable; nothing points at it yet."""
        body = json.dumps(asdict(v), sort_keys=True, separators=(",", ":"))
        text = {"format": _FORMAT, "sha256": hashlib.sha256(body.encode()).hexdigest()}
        whole = json.dumps(text)[:-1] + ', "version": ' + body + "}"
        write_file(self.folder, version_name(v.number), [whole.encode()])

    def read(self, number: int) -> Version:
        """Read a version and check that it is what was written."""
        path = self.folder / version_name(number)
        try:
            raw = path.read_bytes()
            whole = json.loads(raw)
            head, _, rest = raw.partition(b'"version": ')
            if hashlib.sha256(rest[:-1]).hexdigest() != whole["sha256"]:
                raise ValueError("its checksum is wrong")
            if json.loads(head + b'"version": 0}')["format"] not in _READABLE:
                raise ValueError("its format is unknown")
            return _version(whole["version"])
        except FileNotFoundError as e:
            raise StoreDamaged(f"{path} is missing. Run: sightline store repair") from e
        except (ValueError, KeyError, TypeError) as e:
            raise StoreDamaged(f"{path} is damaged ({e}). Run: sightline store repair") from e

    def numbers(self) -> list[int]:
        """Return the numbers of all version files, ascending."""
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        return sorted(int(n[:8]) for n in names if re.fullmatch(r"\d{8}\.json", n))

    def models(self) -> set[str]:
        """Return the names of all models that a readable version needs."""
        readable = [v for n in self.numbers() if (v := self._readable(n))]
        return set[str]().union(*(v.models() for v in readable))

    def prune(self, current: int) -> None:
        """Remove versions beyond those kept, and the files that no version lists any more."""
        older = [v for n in self.numbers() if n < current if (v := self._readable(n))]
        kept = [v for v in older if v.finished][-KEPT:]
        keep = {v.number for v in kept} | {n for n in self.numbers() if n >= current}
        listed = {f.name for n in keep for f in self.read(n).files()}
        # A version must be gone for good before the files it lists are.
        _remove(self.folder, [version_name(n) for n in self.numbers() if n not in keep])
        _remove(
            self.shards,
            [n for n in os.listdir(self.shards) if OURS.fullmatch(n) and n not in listed],
        )

    def _readable(self, number: int) -> Version | None:
        """Return a version, or None for one that is damaged and of no use any more."""
        try:
            return self.read(number)
        except StoreDamaged:
            return None

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove versions; their files go with the next `prune`."""
        _remove(self.folder, [version_name(n) for n in numbers])


def _remove(folder: Path, names: list[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
    if names:
        sync_folder(folder)


def _version(d: dict[str, object]) -> Version:
    segments, codebooks = d.pop("segments"), d.pop("codebooks", [])
    if not isinstance(segments, list) or not isinstance(codebooks, list):
        raise TypeError("segments or codebooks are no list")
    return replace(
        Version(**d),  # type: ignore[arg-type]
        segments=tuple(map(_segment, segments)),
        codebooks=tuple(map(str, codebooks)),
    )


def _segment(d: dict[str, object]) -> Segment:
    features = d["features"]
    if not isinstance(features, list):
        raise TypeError("features are no list")
    return Segment(
        rows=_int(d["rows"]),
        base=_file(d["base"]),
        features=tuple(FeatureFile(str(f["feature"]), _file(f["file"])) for f in features),
        dead=None if d["dead"] is None else _file(d["dead"]),
        dead_rows=_int(d["dead_rows"]),
        scores=None if d.get("scores") is None else _file(d["scores"]),
        scored_by=str(d.get("scored_by", "")),
        first=_int(d.get("first", 0)),
        last=_int(d.get("last", 1 << 62)),
    )


def _file(d: object) -> FileEntry:
    if not isinstance(d, dict):
        raise TypeError("a file entry is no object")
    return FileEntry(str(d["name"]), str(d["sha256"]), _int(d["size"]))


def _int(v: object) -> int:
    if not isinstance(v, int) or isinstance(v, bool) or v < 0:
        raise TypeError(f"{v!r} is no count")
    return v
