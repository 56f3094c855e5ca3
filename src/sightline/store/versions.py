"""Versions: what readers see, named by one pointer.

A version is a small file that lists immutable segments; publishing writes the file and then moves
the pointer in the catalogue, in the same transaction that records the pictures. A reader stays at
the version it opened. The current version and the two finished ones before it are kept, with their
files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from sightline.errors import StoreDamaged
from sightline.store.durable import Written, sync_folder, write_file

OLD_VERSIONS = 2
# Names of array files, which may be removed; any other file in the folder is somebody else's.
ARRAY_FILE = re.compile(
    r"(pictures|feature|scores|dead|arrays)-[0-9a-f]{0,20}\.safetensors(\.\d+\.part)?"
)
_FORMAT = 5
_READABLE = (1, 2, 3, 4, 5)

ScoringKind = Literal["words", "text"]
"""The kinds of models that score every picture; what they give is published in the segments."""
SCORING_KINDS: tuple[ScoringKind, ...] = ("words", "text")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a version, with its checksum and size."""

    name: str
    sha256: str
    size: int

    @classmethod
    def of(cls, written: Written) -> FileEntry:
        """Return the entry of a file that was just written."""
        return cls(written.name, written.sha256, written.size)


@dataclass(frozen=True, slots=True)
class FeatureFile:
    """The rows of one feature in one segment."""

    feature: str
    file: FileEntry


@dataclass(frozen=True, slots=True)
class Segment:
    """The files of a group of pictures.

    Attributes
    ----------
    rows : int
        How many pictures it has, dead ones included.
    base : FileEntry
        Ids, words and thumbnails.
    features : tuple of FeatureFile
        The rows of each feature.
    dead : FileEntry or None
        Which rows no longer count.
    dead_rows : int
        How many rows no longer count.
    scores : FileEntry or None
        What a word model published for the pictures.
    scored_by : str
        The name of that model.
    text_scores : FileEntry or None
        What a text model published for the pictures.
    text_scored_by : str
        The name of that model.
    first, last : int
        The range of ids, so that a segment need not be opened to see that it lacks a picture.
    """

    rows: int
    base: FileEntry
    features: tuple[FeatureFile, ...] = ()
    dead: FileEntry | None = None
    dead_rows: int = 0
    scores: FileEntry | None = None
    scored_by: str = ""
    first: int = 0
    last: int = 1 << 62
    text_scores: FileEntry | None = None
    text_scored_by: str = ""

    def published(self, kind: ScoringKind) -> tuple[FileEntry | None, str]:
        """Return what a model of a kind published for the pictures, and the model's name."""
        if kind == "words":
            return self.scores, self.scored_by
        return self.text_scores, self.text_scored_by

    def with_published(
        self, kind: ScoringKind, file: FileEntry | None = None, model: str = ""
    ) -> Segment:
        """Return the segment with what a model of a kind published; by default with nothing."""
        if kind == "words":
            return replace(self, scores=file, scored_by=model)
        return replace(self, text_scores=file, text_scored_by=model)

    def unscored(self) -> Segment:
        """Return the segment without what any model published."""
        return self.with_published("words").with_published("text")

    def may_hold(self, ids: Iterable[int]) -> bool:
        """Return whether any of some pictures can be in it, by the range of ids alone."""
        return any(self.first <= i <= self.last for i in ids)

    @property
    def live(self) -> int:
        """How many rows count."""
        return self.rows - self.dead_rows

    def files(self) -> Iterable[FileEntry]:
        """Yield all its files."""
        yield self.base
        yield from (f.file for f in self.features)
        if self.dead is not None:
            yield self.dead
        for kind in SCORING_KINDS:
            file, _ = self.published(kind)
            if file is not None:
                yield file


@dataclass(frozen=True, slots=True)
class Version:
    """One published state of a collection.

    Attributes
    ----------
    number : int
        Its number; later versions have larger ones.
    segments : tuple of Segment
        Its pictures.
    model : str
        The word model, "" for none.
    finished : bool
        False while an index run is still adding to it.
    note : str
        What made it, for people.
    codebooks : tuple of str
        The codebooks its features were computed with.
    similar : str
        The similarity model, "" for none.
    regions : str
        The region model, "" for none.
    text : str
        The text model, "" for none.
    returned : int
        The last version up to this one that was made by a rollback; 0 for none.
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
    text: str = ""

    def scoring_model(self, kind: ScoringKind) -> str:
        """Return the name of the model of a kind that scores pictures; "" for none."""
        return self.model if kind == "words" else self.text

    def with_scoring_model(self, kind: ScoringKind, name: str) -> Version:
        """Return the version with another model of a kind that scores pictures."""
        return replace(self, model=name) if kind == "words" else replace(self, text=name)

    def models(self) -> set[str]:
        """Return the names of all models it needs."""
        return {*self.codebooks, self.model, self.similar, self.regions, self.text} - {""}

    def files(self) -> Iterable[FileEntry]:
        """Yield all its files."""
        for s in self.segments:
            yield from s.files()

    @property
    def live(self) -> int:
        """How many pictures it has."""
        return sum(s.live for s in self.segments)


def version_name(number: int) -> str:
    """Return the file name of a version."""
    return f"{number:08d}.json"


class Versions:
    """The folder of version files."""

    def __init__(self, folder: Path, shards: Path) -> None:
        self.folder, self.shards = folder, shards

    def write(self, v: Version) -> None:
        """Write a version durably; the pointer does not name it yet."""
        body = json.dumps(asdict(v), sort_keys=True, separators=(",", ":"))
        text = {"format": _FORMAT, "sha256": hashlib.sha256(body.encode()).hexdigest()}
        document = json.dumps(text)[:-1] + ', "version": ' + body + "}"
        write_file(self.folder, version_name(v.number), [document.encode()])

    def read(self, number: int) -> Version:
        """Read a version and check that it is what was written."""
        path = self.folder / version_name(number)
        try:
            raw = path.read_bytes()
            document = json.loads(raw)
            head, _, body = raw.partition(b'"version": ')
            if hashlib.sha256(body[:-1]).hexdigest() != document["sha256"]:
                raise ValueError("its checksum is wrong")
            if json.loads(head + b'"version": 0}')["format"] not in _READABLE:
                raise ValueError("its format is unknown")
            return _version(document["version"])
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
        """Remove versions that are no longer kept, and files that no version lists any more."""
        older = [v for n in self.numbers() if n < current if (v := self._readable(n))]
        kept = [v for v in older if v.finished][-OLD_VERSIONS:]
        keep = {v.number for v in kept} | {n for n in self.numbers() if n >= current}
        listed = {f.name for n in keep for f in self.read(n).files()}
        # The removal of a version must be durable before its files are removed.
        _remove(self.folder, [version_name(n) for n in self.numbers() if n not in keep])
        _remove(
            self.shards,
            [n for n in os.listdir(self.shards) if ARRAY_FILE.fullmatch(n) and n not in listed],
        )

    def _readable(self, number: int) -> Version | None:
        """Return a version; None if it is damaged."""
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
        raise TypeError("segments or codebooks are not lists")
    return replace(
        Version(**d),  # type: ignore[arg-type]
        segments=tuple(map(_segment, segments)),
        codebooks=tuple(map(str, codebooks)),
    )


def _segment(d: dict[str, object]) -> Segment:
    features = d["features"]
    if not isinstance(features, list):
        raise TypeError("features are not a list")
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
        text_scores=None if d.get("text_scores") is None else _file(d["text_scores"]),
        text_scored_by=str(d.get("text_scored_by", "")),
    )


def _file(d: object) -> FileEntry:
    if not isinstance(d, dict):
        raise TypeError("a file entry is not an object")
    return FileEntry(str(d["name"]), str(d["sha256"]), _int(d["size"]))


def _int(v: object) -> int:
    if not isinstance(v, int) or isinstance(v, bool) or v < 0:
        raise TypeError(f"{v!r} is not a count")
    return v
