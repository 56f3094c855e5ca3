"""The files of a dataset: in a zip archive, or unpacked in a folder.

Nothing is unpacked or written. Files are read into memory one by one, or block by block, up to a
size limit. Archives with names that lead out of them, with links or encryption are rejected, and so
are links in a folder.
"""

from __future__ import annotations

import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from sightline.contracts import Done, Json
from sightline.errors import DataError, UsageError
from sightline.pictures.decode import decode
from sightline.pictures.reading import open_regular
from sightline.records import shown

DECODE_TASK = "sightline_experiments.datasets.sources:decode_blob"
MOST_BYTES = 64 << 20
_BLOCK = 1 << 20
_MOST_FILES = 200_000
# Exceptions that reading a damaged archive raises.
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, ValueError,
    EOFError, OSError,
)  # fmt: skip


class Source(Protocol):
    """Files by name; names have forward slashes and begin at the dataset's own folder."""

    where: str

    def names(self) -> Sequence[str]:
        """Return the names of all files, sorted."""
        ...

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return the content of one file, which may have `most` bytes."""
        ...

    def blocks(self, name: str, most: int = MOST_BYTES) -> Iterator[bytes]:
        """Yield the content of one file, which may have `most` bytes, some of it at a time."""
        ...


def open_source(data: Path, name: str, marks: Sequence[str]) -> Source | None:
    """Return the files of a dataset; None if the folder does not have it.

    Parameters
    ----------
    data : a folder with `name`.zip or an unpacked folder `name`, or that folder itself.
    name : of the dataset.
    marks : files without which it is not this dataset.
    """
    if not data.is_dir():
        raise UsageError(
            f"There is no folder {data}. Name the one that holds {name}.zip or {name}/."
        )
    archive, folder = data / f"{name}.zip", data / name
    if archive.is_file():
        return _checked(ZipSource(archive, marks[0]), marks)
    if folder.is_dir():
        return _checked(FolderSource(folder), marks)
    if data.name == name or (data / marks[0]).is_file():
        return _checked(FolderSource(data), marks)
    return None


def _checked(source: Source, marks: Sequence[str]) -> Source:
    there = set(source.names())
    missing = [m for m in marks if m not in there]
    if missing:
        raise DataError(
            f"{source.where} is not what was expected: it has no {', '.join(missing)}. "
            f"It must hold {', '.join(marks)}."
        )
    return source


class FolderSource:
    """Files in a folder; links are not followed."""

    def __init__(self, root: Path) -> None:
        self.where = str(root)
        self._root = os.fsencode(root)

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        root = os.fsdecode(self._root)
        names = []
        for place, folders, files in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith(".")]
            below = os.path.relpath(place, root)
            names += [f if below == "." else f"{below}/{f}" for f in files]
            if len(names) > _MOST_FILES:
                raise DataError(f"{self.where} has more than {_MOST_FILES} files.")
        return sorted(names)

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return the content of one file, which may have `most` bytes."""
        return b"".join(self.blocks(name, most))

    def blocks(self, name: str, most: int = MOST_BYTES) -> Iterator[bytes]:
        """Yield the content of one file, which may have `most` bytes, some of it at a time."""
        _plain_name(name, self.where)
        return _of_size(self._blocks(name), most, f"{self.where}/{name}")

    def _blocks(self, name: str) -> Iterator[bytes]:
        try:
            with open_regular(self._root, os.fsencode(name), follow=False) as f:
                while block := f.read(_BLOCK):
                    yield block
        except DataError as e:
            raise DataError(f"{self.where}/{name}: {e}.") from e
        except OSError as e:
            raise DataError(f"{self.where}/{name} cannot be read: {e.strerror}.") from e


class ZipSource:
    """Files in a zip archive, read without unpacking it.

    Parameters
    ----------
    path : of the archive.
    mark : a file of the dataset; its place tells whether the dataset begins at the root of the
        archive or in a single folder.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self.where = str(path)
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as e:
            raise DataError(f"{path} is no zip archive that can be read: {e}.") from e
        entries = self._archive.infolist()
        if len(entries) > _MOST_FILES:
            raise DataError(f"{path} has {len(entries)} files, more than {_MOST_FILES}.")
        whole: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            if entry.is_dir():
                continue
            _plain_entry(entry, self.where)
            if entry.filename in whole:
                raise DataError(f"{path} holds {_said(entry.filename)} twice.")
            whole[entry.filename] = entry
        prefix = next((n.removesuffix(mark) for n in whole if _is_mark(n, mark)), "")
        self._entries = {n.removeprefix(prefix): e for n, e in whole.items()}

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self._entries)

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return the content of one file, which may have `most` bytes."""
        return b"".join(self.blocks(name, most))

    def blocks(self, name: str, most: int = MOST_BYTES) -> Iterator[bytes]:
        """Yield the content of one file, which may have `most` bytes, some of it at a time."""
        if name not in self._entries:
            raise DataError(f"{self.where} holds no {_said(name)}.")
        # The size in the header is not trusted.
        return _of_size(self._blocks(name), most, f"{self.where}: {_said(name)}")

    def _blocks(self, name: str) -> Iterator[bytes]:
        try:
            with self._archive.open(self._entries[name]) as f:
                while block := f.read(_BLOCK):
                    yield block
        except _UNREADABLE as e:
            raise DataError(f"{self.where}: {_said(name)} cannot be read: {e}.") from e


def _is_mark(name: str, mark: str) -> bool:
    return name == mark or (name.endswith(f"/{mark}") and name.count("/") == mark.count("/") + 1)


def _plain_entry(entry: zipfile.ZipInfo, where: str) -> None:
    _plain_name(entry.filename, where)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise DataError(f"{where} holds {_said(entry.filename)}, which is no plain file.")
    if entry.flag_bits & 1:
        raise DataError(f"{where} holds {_said(entry.filename)} encrypted. Unpack it first.")


def _plain_name(name: str, where: str) -> None:
    if not name or "\\" in name or "\0" in name or name.startswith("/"):
        raise DataError(f"{where} holds a file named {_said(name)}, which leads elsewhere.")
    if any(part in ("", ".", "..") for part in name.split("/")):
        raise DataError(f"{where} holds a file named {_said(name)}, which leads elsewhere.")


def _said(name: str) -> str:
    return repr(shown(os.fsencode(name)))


def _of_size(blocks: Iterator[bytes], most: int, what: str) -> Iterator[bytes]:
    n_bytes = 0
    for block in blocks:
        n_bytes += len(block)
        if n_bytes > most:
            raise DataError(
                f"{what} has more than {most:,} bytes, more than such a file should have."
            )
        yield block


def decode_blob(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Decode a picture that was read from a source (runs in a worker)."""
    side, limit = int(str(args["side"])), float(str(args["max_megapixels"]))
    picture = decode(bytes(blob), side=side, max_megapixels=limit, heavy=alone)
    return Done({"shape": list[Json](picture.rgb.shape)}, picture.rgb.tobytes())
