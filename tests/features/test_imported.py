"""Files of vectors: every format, and every fault named."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file

from sightline.errors import DataError, MissingExtra, ParameterError
from sightline.features import _vector_files
from sightline.features.imported import fingerprint, read_vectors, stamp_of

PATHS = ("a.jpg", "sub/b.jpg", "c\udcff.jpg")
AS_BYTES = (b"a.jpg", b"sub/b.jpg", b"c\xff.jpg")
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
Writer = Callable[[Path], Path]


def npy(folder: Path) -> Path:
    np.save(folder / "v.npy", ROWS)
    (folder / "v.txt").write_bytes(b"\xef\xbb\xbfa.jpg\r\nsub/b.jpg\nc\xff.jpg\n")
    return folder / "v.npy"


def npz(folder: Path) -> Path:
    np.savez_compressed(folder / "v.npz", embeddings=ROWS, ids=np.array(PATHS), more=np.eye(3))
    return folder / "v.npz"


def npz_bytes(folder: Path) -> Path:
    np.savez(folder / "v.npz", whatever=ROWS, files=np.array(AS_BYTES), ids=np.arange(3))
    return folder / "v.npz"


def tensors(folder: Path) -> Path:
    save_file({"x": ROWS, "scale": np.ones(1)}, folder / "v.safetensors")
    (folder / "v.paths.txt").write_bytes(b"\n".join(AS_BYTES))
    (folder / "v.txt").write_text("some other file")
    return folder / "v.safetensors"


def tensors_listed(folder: Path) -> Path:
    metadata = {"paths": json.dumps(PATHS)}
    save_file({"vectors": ROWS, "x": ROWS}, folder / "v.safetensors", metadata)
    return folder / "v.safetensors"


def parquet(kind: str) -> Writer:
    def write(folder: Path) -> Path:
        import pyarrow as pa
        import pyarrow.parquet as pq

        paths = pa.array(AS_BYTES, pa.binary())
        values = [r.tolist() for r in ROWS]
        columns: dict[str, Any] = {"id": pa.array([7, 8, 9]), "Filename": paths}
        if kind == "columns":
            columns |= {f"e.{i}": pa.array(ROWS[:, i].astype(float)) for i in range(4)}
        elif kind == "fixed":
            columns["v"] = pa.array(values, pa.list_(pa.float16(), 4))
        elif kind == "large":
            columns["v"] = pa.array(values, pa.large_list(pa.float64()))
        else:
            columns["Filename"] = pa.array([*PATHS[:2], "d.jpg"]).dictionary_encode()
            columns |= {"embedding": pa.array(values, pa.list_(pa.float32())), "w": [[1], [2], [3]]}
        with open(folder / "v.parquet", "wb") as f:
            pq.write_table(pa.table(columns), f, row_group_size=2)
        return folder / "v.parquet"

    return write


@pytest.mark.parametrize(
    "write",
    [npy, npz, npz_bytes, tensors, tensors_listed, *map(parquet, ("columns", "fixed", "large"))],
)
def test_every_format_gives_the_same_rows_and_paths(tmp_path: Path, write: Writer) -> None:
    v = read_vectors(write(tmp_path))
    assert (v.name, v.length, v.paths, len(v)) == ("v", 4, AS_BYTES, 3)
    assert v.take([2, 0]).dtype == np.float32
    assert (v.take([2, 0, 1]) == ROWS[[2, 0, 1]]).all()
    assert v.fingerprint == fingerprint("v", v.sha256, 4)
    assert v.fingerprint.rpartition("-")[0] == "v" and len(v.fingerprint) == 14


def test_paths_of_a_dictionary_column(tmp_path: Path) -> None:
    assert read_vectors(parquet("dictionary")(tmp_path)).paths == (*AS_BYTES[:2], b"d.jpg")


@pytest.mark.parametrize("kind", ["f2", "f8", ">f4", "i1", "u2", "i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_kinds_of_numbers(tmp_path: Path, kind: str, order: Any) -> None:
    rows = np.arange(6).reshape(2, 3).astype(kind, order=order)
    np.save(tmp_path / "v.npy", rows)
    np.savez(tmp_path / "v.npz", rows)
    for name in ("v.npy", "v.npz"):
        v = read_vectors(tmp_path / name)
        assert v.paths is None
        assert v.take([0, 1]).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_brain_floats(tmp_path: Path) -> None:
    short = (ROWS.view(np.uint32) >> 16).astype("<u2")
    head = {"v": {"dtype": "BF16", "shape": [3, 4], "data_offsets": [0, 24]}}
    text = json.dumps(head).encode()
    data = struct.pack("<Q", len(text)) + text + short.tobytes()
    (tmp_path / "v.safetensors").write_bytes(data)
    assert (read_vectors(tmp_path / "v.safetensors").take([0, 1, 2]) == ROWS).all()


def test_names(tmp_path: Path) -> None:
    np.save(tmp_path / "ViT-B_32 (été).npy", ROWS)
    np.save(tmp_path / "é.npy", ROWS)
    assert read_vectors(tmp_path / "ViT-B_32 (été).npy").name == "ViT-B_32-t"
    assert read_vectors(tmp_path / "é.npy").name == "vectors"
    assert read_vectors(tmp_path / "é.npy", "clip").name == "clip"
    with pytest.raises(ParameterError, match=r"letters, digits, '_' and '-'. Got 'a b'"):
        read_vectors(tmp_path / "é.npy", "a b")


def test_the_fingerprint_follows_content_and_name(tmp_path: Path) -> None:
    first = read_vectors(npy(tmp_path))
    os.utime(tmp_path / "v.npy", ns=(1, 1))
    touched = read_vectors(tmp_path / "v.npy")
    assert touched.fingerprint == first.fingerprint and touched.stamp != first.stamp
    assert read_vectors(tmp_path / "v.npy", "w").fingerprint != first.fingerprint
    (tmp_path / "v.txt").write_text("a.jpg\nb.jpg\nc.jpg")
    other = read_vectors(tmp_path / "v.npy")
    assert other.fingerprint != touched.fingerprint and other.stamp != touched.stamp
    np.save(tmp_path / "v.npy", ROWS + 1)
    assert read_vectors(tmp_path / "v.npy").fingerprint != other.fingerprint


def test_odd_file_names(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n"))
    folder.mkdir()
    for write in (npy, npz, tensors, parquet("fixed")):
        assert read_vectors(write(folder)).paths == AS_BYTES
    np.save(folder / "v.npy", np.ones(3))
    with pytest.raises(DataError, match=r"\\xff\\n/v.npy"):
        read_vectors(folder / "v.npy")


# -- faults ----------------------------------------------------------------------------------------


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_vectors(path).check_keys()


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.ones(5), r"two dimensions.*Got 1 \(shape \(5,\)\) in .*Reshape"),
        (np.ones((2, 3, 4)), r"two dimensions.*Got 3 \(shape \(2, 3, 4\)\)"),
        (np.float32(1), r"Got 0 \(shape \(\)\)"),
        (np.ones((0, 3)), r"has no rows: its shape is \(0, 3\)"),
        (np.ones((3, 0)), r"has no columns: its shape is \(3, 0\)"),
        (np.array([["a", "b"]]), r"must be numbers. Got <U1 in .*float32"),
        (np.array([[True]]), r"must be numbers. Got bool"),
        (np.array([[1j]]), r"must be numbers. Got complex128"),
        (np.array([[1, np.nan], [np.inf, 1]]), r"Row 0 of .*must be finite.*Got nan in column 1"),
        (np.array([[1, 1], [-np.inf, 1]]), r"Row 1 of .*Got -inf in column 0"),
        (np.array([[1, 1], [1, 1e300]]), r"Row 1 of .*Got 1e\+300 in column 1. Mend it"),
    ],
)
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_wrong_arrays(tmp_path: Path, array: NDArray[Any], sentence: str, ending: str) -> None:
    path = tmp_path / f"v.{ending}"
    np.save(path, array) if ending == "npy" else np.savez(path, vectors=array)
    refused(path, sentence)


def test_wrong_paths(tmp_path: Path) -> None:
    path = npy(tmp_path)
    (tmp_path / "v.txt").write_text("a.jpg\nb.jpg\n")
    refused(path, "has 3 rows and 2 paths in 'v.txt'. Give one path for each row")
    (tmp_path / "v.txt").write_text("a.jpg\nb.jpg\na.jpg\n")
    refused(path, "Rows 0 and 2 of .* have the same path a.jpg in 'v.txt'. Keep one")
    (tmp_path / "v.txt").write_text("a.jpg\n\nc.jpg\n")
    refused(path, "Row 1 of .* has an empty path")
    np.savez(tmp_path / "v.npz", vectors=ROWS, paths=np.arange(3))
    refused(tmp_path / "v.npz", "'paths' in .* must hold paths as text. Got int64")
    np.savez(tmp_path / "v.npz", vectors=ROWS, paths=np.array([["a"], ["b"], ["c"]]))
    refused(tmp_path / "v.npz", r"one dimension. Got shape \(3, 1\)")
    save_file({"x": ROWS}, tmp_path / "w.safetensors", {"paths": '{"a": 1}'})
    refused(tmp_path / "w.safetensors", "must be a JSON list of strings. Got")
    bad = ROWS.copy()
    bad[2, 3] = np.nan
    np.savez(tmp_path / "v.npz", vectors=bad, paths=np.array(PATHS))
    refused(tmp_path / "v.npz", r"Row 2 \(c\\xff.jpg\) of .*Got nan in column 3")


def test_wrong_choices(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", a=ROWS, b=ROWS)
    refused(
        tmp_path / "v.npz", r"More than one of the arrays.*'a' float32 \(3, 4\), 'b'.*'vectors'"
    )
    np.savez(tmp_path / "v.npz", a=np.ones(3), b=np.ones((1, 1, 1)))
    refused(tmp_path / "v.npz", "None of the arrays in .* can be the vectors. It has: 'a'")
    np.savez(tmp_path / "v.npz")
    refused(tmp_path / "v.npz", "It has: none")
    save_file({"a": np.ones((2, 2), bool)}, tmp_path / "v.safetensors")
    refused(tmp_path / "v.safetensors", "must be numbers")


def test_wrong_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "v.parquet"
    for columns, sentence in (
        (
            {"path": ["a", "b"], "v": [[1.0], [1.0, 2.0]]},
            "Row 1 of .* vector of 2 numbers where.*1",
        ),
        ({"path": ["a", "b"], "v": [[1.0], None]}, "Row 1 of .* has no vector. Leave"),
        ({"path": ["a", "b"], "v": [[1.0], [None]]}, r"Row 1 \(b\) of .*Got nan"),
        ({"path": ["a", None], "v": [[1.0], [2.0]]}, "Row 1 of .* has an empty path in 'path'"),
        ({"path": ["a", "a"], "v": [[1.0], [2.0]]}, "have the same path a"),
        (
            {"image": [{"path": "a"}], "v": [[1.0]]},
            "'image' of .* must hold paths as text. Got str",
        ),
        ({"path": ["a"], "words": ["tree"]}, "None of the arrays"),
        ({"path": ["a"], "v": [[1.0]], "w": [[1.0]]}, "More than one of the arrays"),
        ({"path": pa.array([], pa.string()), "v": pa.array([], pa.list_(pa.float32()))}, "no rows"),
        ({"path": ["a"], "v": pa.array([[]], pa.list_(pa.float32()))}, "no columns"),
    ):
        pq.write_table(pa.table(columns), path)
        refused(path, sentence)
    many = {"v": [[1.0, 2.0]] * 1500 + [[1.0]] * 1500}
    pq.write_table(pa.table(many), path)
    refused(path, "Row 1500 of .* vector of 1 numbers where others have 2")


def test_unreadable_files(tmp_path: Path) -> None:
    refused(tmp_path / "v.npy", "cannot be read: No such file or directory. Check the name")
    refused(
        tmp_path / "v.pt", r"ending '.pt', and vectors are read from .npy, .npz, .parquet, .saf"
    )
    refused(tmp_path / "v", "ending ''")
    (tmp_path / "d.npz").mkdir()
    refused(tmp_path / "d.npz", "is not a file")
    os.mkfifo(tmp_path / "f.npy")
    refused(tmp_path / "f.npy", "is not a file")
    for ending in ("npy", "npz", "safetensors", "parquet"):
        for data in (b"", b"nonsense", b"\x93NUMPY\x01\x00", b"PK\x05\x06" + bytes(18), bytes(99)):
            (tmp_path / f"v.{ending}").write_bytes(data)
            refused(tmp_path / f"v.{ending}", f"v.{ending}")


def test_parquet_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet("fixed")(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sightline\[parquet\]'"):
        read_vectors(path)


@pytest.mark.parametrize("write", [npy, npz, tensors, parquet("fixed")])
def test_cut_off_and_altered_files(tmp_path: Path, write: Writer) -> None:
    path = write(tmp_path)
    whole = path.read_bytes()

    # A table is read by a process of its own, which takes a second.
    @settings(max_examples=8 if path.suffix == ".parquet" else 100)
    @given(st.integers(0, len(whole) - 1), st.integers(0, 255), st.booleans())
    def check(at: int, value: int, cut: bool) -> None:
        data = whole[:at] if cut else whole[:at] + bytes([value]) + whole[at + 1 :]
        path.write_bytes(data)
        try:
            v = read_vectors(path)
        except (DataError, UserWarning):
            return
        assert np.isfinite(v.take(list(range(len(v))))).all()

    check()


def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = npy(tmp_path)

    def slow(p: Path, key_column: str) -> _vector_files.Table:
        table = _vector_files.read_npy(p, key_column)
        os.utime(p, ns=(5, 5))
        return table

    monkeypatch.setitem(_vector_files.READERS, ".npy", slow)
    refused(path, "was changed while it was read")
    monkeypatch.undo()
    v = read_vectors(path)
    with open(path, "r+b") as f:
        f.seek(-4, 2)
        f.write(struct.pack("<f", np.nan))
    with pytest.raises(DataError, match="was changed while it was read"):
        v.take([0, 1, 2])
    assert stamp_of(path) != v.stamp
