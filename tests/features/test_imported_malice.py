"""What a hostile file of vectors can do: nothing runs, and no memory is taken."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.features.imported import ImportedVectors, read_vectors

ROWS = np.ones((3, 4), np.float32)


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_vectors(path)


class Evil:
    """Unpickled, it leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("ending", ["npy", "npz"])
@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_objects_are_never_unpickled(tmp_path: Path, ending: str, shape: tuple[int, ...]) -> None:
    mark, path = tmp_path / "ran", tmp_path / f"v.{ending}"
    array = np.empty(shape, object)
    array.flat[0] = Evil(mark)
    np.save(path, array) if ending == "npy" else np.savez(path, array)
    refused(path, "holds Python objects, which are never read because they can run code")
    np.savez(tmp_path / "w.npz", vectors=ROWS, paths=array)
    refused(tmp_path / "w.npz", "must hold paths as text. Got object")
    np.savez(tmp_path / "x.npz", vectors=ROWS, other=array)
    assert len(read_vectors(tmp_path / "x.npz")) == 3, "what is not read does no harm"
    assert not mark.exists()
    np.load(tmp_path / "w.npz", allow_pickle=True)["paths"]
    assert mark.exists(), "the trap works"


def array_head(shape: tuple[int, ...], kind: str = "<f4") -> bytes:
    out = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


def zipped(path: Path, members: dict[str, list[bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as z:
        for name, parts in members.items():
            with z.open(name, "w") as f:
                for part in parts:
                    f.write(part)
    return path


MB = bytes(1 << 20)


def big_zeros(path: Path) -> Path:
    return zipped(path, {"v.npy": [array_head((96 << 10, 256)), *[MB] * 96]})


def big_beside(path: Path) -> Path:
    return zipped(path, {"v.npy": [array_head((1, 1)), bytes(4)], "x.bin": [MB] * 96})


def big_header(path: Path) -> Path:
    long = b"\x93NUMPY\x02\x00" + struct.pack("<I", 60 << 20)
    return zipped(path, {"v.npy": [long, *[b" " * (1 << 20)] * 60]})


def more_than_it_says(path: Path) -> Path:
    return zipped(path, {"v.npy": [array_head((2, 2)), *[MB] * 60]})


def less_than_it_says(path: Path) -> Path:
    return zipped(path, {"v.npy": [array_head((1 << 40, 1 << 20)), MB]})


def lying_directory(path: Path) -> Path:
    """A member whose size is stated as small while its bytes unpack to 96 MB."""
    data = array_head((2, 2)) + bytes(16)
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(data) + b"".join(packer.compress(MB) for _ in range(96))
    packed += packer.flush()
    about = struct.pack("<IIIHH", zlib.crc32(data), len(packed), len(data), 5, 0)
    local = struct.pack("<IHHHHH", 0x04034B50, 20, 0, 8, 0, 0) + about + b"v.npy"
    entry = struct.pack("<IHHHHHH", 0x02014B50, 20, 20, 0, 8, 0, 0) + about
    entry += struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"v.npy"
    at = len(local) + len(packed)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(entry), at, 0)
    path.write_bytes(local + packed + entry + end)
    return path


def many_names(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as z:
        for i in range(30_000):
            z.writestr(f"{i}.npy", b"")
    return path


def other_packing(path: Path) -> Path:
    return zipped(path, {"v.npy": [array_head((2, 2)), bytes(16)]}, zipfile.ZIP_LZMA)


def long_texts(path: Path) -> Path:
    return zipped(path, {"v.npy": [array_head((1, 1)), bytes(4)],
                         "paths.npy": [array_head((1,), "<U25165824"), *[MB] * 96]})  # fmt: skip


def peak_of(read: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            big_zeros,
            "would take 100663424 bytes of memory, and a file of its size may take 67108864",
        ),
        (big_beside, "would take 100663428 bytes"),
        (big_header, "EOF: reading array header"),
        (more_than_it_says, "has 62914688 bytes where its header promises 144"),
        (less_than_it_says, "promises 4611686018427388032"),
        (lying_directory, ""),
        (many_names, "it asks for .* bytes at once"),
        (other_packing, "packed in a way that np.savez does not use"),
        (long_texts, "would take"),
    ],
)
def test_bombs_take_no_memory(tmp_path: Path, make: Callable[[Path], Path], sentence: str) -> None:
    path = make(tmp_path / "v.npz")
    found: list[ImportedVectors] = []

    def read() -> None:
        try:
            found.append(read_vectors(path))
        except DataError as e:
            assert sentence and sentence.split(".*")[0] in str(e)

    assert peak_of(read) < 8 << 20
    # Only the one that says it is small may be read, and then it is.
    assert [len(v) for v in found] == ([] if sentence else [2])


def test_the_bomb_is_one(tmp_path: Path) -> None:
    path = big_zeros(tmp_path / "v.npz")
    assert path.stat().st_size < 1 << 20
    assert peak_of(lambda: np.load(path, allow_pickle=False)["v"]) > 90 << 20


def test_a_header_may_promise_no_more_than_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    for shape in ((1 << 40, 1 << 20), (1000, 1000), (1 << 62, 1 << 62)):
        path.write_bytes(array_head(shape) + bytes(100))
        refused(path, "is cut off: .* 100 are there. Save it again")
    path.write_bytes(array_head((-1, 3)) + bytes(100))
    refused(path, r"has no rows: its shape is \(-1, 3\)")


def test_a_table_of_many_equal_numbers(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "v.parquet"
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(1 << 20, np.float32)), 1 << 10)
    with pq.ParquetWriter(path, pa.schema({"v": lists.type})) as w:
        for _ in range(32):
            w.write_table(pa.table({"v": lists}))
    assert path.stat().st_size < 1 << 20
    assert peak_of(lambda: refused(path, "would take 134217728 bytes of memory")) < 8 << 20


def test_a_table_that_ends_its_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v.parquet").write_bytes(b"PAR1")
    (tmp_path / "json.py").write_text("never to be imported")
    monkeypatch.chdir(tmp_path)
    refused(tmp_path / "v.parquet", "v.parquet is no .parquet file that can be read: Parquet")
    monkeypatch.setattr("sys.executable", "/bin/false")
    refused(tmp_path / "v.parquet", "its reader ended with code 1. Save it again")
