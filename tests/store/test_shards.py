"""Array files: judged by the safetensors library, mapped without copies, refused when hostile."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from sightline.errors import StoreDamaged
from sightline.store.shards import Rows, open_arrays, write_arrays

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "a": np.arange(12, dtype=np.float32).reshape(3, 4),
    "b": np.arange(5, dtype=np.int64),
    "c": np.array([7], np.uint8),
    "empty": np.zeros((0, 3), np.float32),
}


def test_the_reference_library_reads_what_we_write(tmp_path: Path) -> None:
    written = write_arrays(tmp_path, "x", ARRAYS)
    theirs = load_file(tmp_path / written.name)
    assert theirs.keys() == ARRAYS.keys()
    for name, a in ARRAYS.items():
        assert np.array_equal(theirs[name], a) and theirs[name].dtype == a.dtype


def test_we_read_what_the_reference_library_writes(tmp_path: Path) -> None:
    save_file(ARRAYS, tmp_path / "theirs.safetensors")
    ours = open_arrays(tmp_path / "theirs.safetensors")
    for name, a in ARRAYS.items():
        assert np.array_equal(ours[name], a)


def test_arrays_are_mapped_and_cannot_be_written(tmp_path: Path) -> None:
    written = write_arrays(tmp_path, "x", ARRAYS)
    a = open_arrays(tmp_path / written.name)["a"]
    base = a
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        a[0, 0] = 1


def test_rows_given_in_blocks_equal_rows_given_whole(tmp_path: Path) -> None:
    whole = np.arange(40, dtype=np.float32).reshape(10, 4)
    one = write_arrays(tmp_path, "x", {"rows": whole})
    blocks = Rows(iter([whole[:3], whole[3:4], whole[4:]]), (10, 4), np.float32)
    two = write_arrays(tmp_path, "x", {"rows": blocks})
    assert one == two


def _file(tmp_path: Path, header: object, data: bytes) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "bad.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (b"\x80\x04.", b""),
        ({"a": {**GOOD, "dtype": "O"}}, b"x" * 8),
        ({"a": {**GOOD, "shape": [3]}}, b"x" * 8),
        ({"a": {**GOOD, "shape": [-2]}}, b"x" * 8),
        ({"a": GOOD}, b"x" * 9),
        ({"a": GOOD}, b"x" * 7),
        ({"a": GOOD, "b": {**GOOD, "data_offsets": [4, 12]}}, b"x" * 12),
        ({"a": {**GOOD, "shape": [2**62], "data_offsets": [0, 2**64]}}, b"x" * 8),
        ([1, 2], b""),
        ({"a": 3}, b""),
    ],
)
def test_files_that_lie_are_refused(tmp_path: Path, header: object, data: bytes) -> None:
    with pytest.raises(StoreDamaged, match="store repair"):
        open_arrays(_file(tmp_path, header, data))


def test_an_endless_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes((2**62).to_bytes(8, "little") + b"{}")
    with pytest.raises(StoreDamaged, match="header length"):
        open_arrays(path)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.safetensors"
    path.write_bytes(data)
    with contextlib.suppress(StoreDamaged):
        open_arrays(path)
