"""Vectors without keys are assigned by order only when that is said, also in existing stores."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.index.vectors import remembered_vectors
from sightline.compute.inline import InlineCompute
from sightline.contracts import Json
from sightline.errors import DataError, UsageError
from sightline.features.imported import fingerprint, read_vectors
from sightline.records import Batch, FeatureRows
from sightline.store.catalogue import VectorsFile
from sightline.store.events import NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change
from tests.factories.photos import make_photo
from tests.factories.vector_files import (
    all_paths,
    as_text,
    checksum,
    features_of,
    make_collection,
    save,
    vectors_of,
    writer,
)


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return make_collection(tmp_path)


def index(c: Collection, *vectors: Path, **options: Any) -> tuple[str, ...]:
    given = [str(v) for v in vectors]
    return c.index(vectors=given, compute=InlineCompute(), **options).problems


def stored(c: Collection) -> dict[bytes, list[float]]:
    (name,) = features_of(c)
    return vectors_of(c, name)


def refused(c: Collection, *vectors: Path, sentence: str, **options: Any) -> None:
    before = checksum(c)
    with pytest.raises(UsageError, match=sentence):
        index(c, *vectors, **options)
    assert checksum(c) == before


def keyless(folder: Path, n: int = 8) -> list[Path]:
    """Write vectors without keys in every format that can be without."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from safetensors.numpy import save_file

    rows = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    np.save(folder / "a.npy", rows)
    np.savez(folder / "b.npz", rows)
    save_file({"x": rows}, folder / "c.safetensors")
    pq.write_table(pa.table({"id": range(n), "v": rows.tolist()}), folder / "d.parquet")
    return [folder / name for name in ("a.npy", "b.npz", "c.safetensors", "d.parquet")]


def test_without_keys_order_must_be_said(c: Collection, tmp_path: Path) -> None:
    for file in keyless(tmp_path):
        refused(
            c, file, sentence=r"has 8 rows and no key column; the collection has 8 pictures.*"
            r"sorted paths \(as bytes.*of which 000.jpg is the first, pass --by-order",
        )  # fmt: skip
        assert not index(c, file, by_order=True)
        rows = stored(c)
        assert [rows[p] for p in sorted(rows)] == [[2 * i, 2 * i + 1] for i in range(8)]
        index(c, forget_vectors=[file.stem])


def test_a_wrong_number_of_rows_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    for i in range(3):
        make_photo(photos / f"{i}.jpg", i)
    c = Collection.open(photos, store=tmp_path / "store")
    np.save(tmp_path / "v.npy", np.eye(4))
    with pytest.raises(UsageError, match=r"4 rows and the collection has 3 pictures.* 3 of the"):
        index(c, tmp_path / "v.npy", by_order=True)
    assert not c.store_folder.path.exists()
    np.save(tmp_path / "v.npy", np.eye(3))
    assert not index(c, tmp_path / "v.npy", by_order=True)
    assert stored(c) == {b"%d.jpg" % i: np.eye(3)[i].tolist() for i in range(3)}


def test_a_picture_that_proves_broken_leaves_vectors_out(tmp_path: Path) -> None:
    """Which pictures can be read is known only when they were read."""
    photos = tmp_path / "photos"
    for i in range(3):
        make_photo(photos / f"{i}.jpg", i)
    (photos / "1.jpg").write_bytes(b"broken")
    c = Collection.open(photos, store=tmp_path / "store")
    np.save(tmp_path / "v.npy", np.eye(3))
    with pytest.raises(DataError, match=r"The pictures are indexed, but vectors were not added: .*"
                                        r"3 rows and the collection has 2 pictures"):  # fmt: skip
        index(c, tmp_path / "v.npy", by_order=True)
    assert c.status().pictures == 2 and c.store.verify().sound and not features_of(c)
    assert not index(c), "it is not remembered"


def test_contradictions_are_refused(c: Collection, tmp_path: Path) -> None:
    save(tmp_path / "v.npz", all_paths(c))
    v = tmp_path / "v.npz"
    refused(c, v, by_order=True, sentence=r"key column 'paths' \(row 0: 000.jpg\), so --by-order")
    refused(c, v, by_order=True, key_column="paths", sentence="--key-column paths contradict")
    refused(c, by_order=True, sentence="--by-order says how --vectors FILE is to be read")
    np.save(tmp_path / "v.npy", np.eye(8))
    refused(c, v, tmp_path / "v.npy", sentence="Two files would become the feature 'v'")
    (tmp_path / "v.txt").write_bytes(b"\n".join(all_paths(c)))
    refused(c, tmp_path / "v.npy", by_order=True, sentence="has the key column 'v.txt'")


def test_texts_that_are_no_keys_may_stand_beside_rows_in_order(
    c: Collection, tmp_path: Path
) -> None:
    rows = np.arange(16, dtype=np.float32).reshape(8, 2)
    np.savez(tmp_path / "v.npz", vectors=rows, caption=np.array(["a"] * 8))
    refused(c, tmp_path / "v.npz", sentence="not known as keys: 'caption'")
    assert not index(c, tmp_path / "v.npz", by_order=True)
    assert sorted(stored(c).values()) == rows.tolist()


# -- files that are remembered ---------------------------------------------------------------------


def test_order_is_remembered(c: Collection, tmp_path: Path) -> None:
    file = tmp_path / "v.npy"
    save(file, all_paths(c))
    index(c, file, by_order=True)
    wanted = save(file, all_paths(c), seed=1)
    assert not index(c) and stored(c) == wanted
    # Keys that come later do not move vectors by themselves.
    (tmp_path / "v.txt").write_bytes(b"\n".join(all_paths(c)[::-1]))
    for sentence in ("by its key column 'v.txt' 8 of 8 pictures", "now has the key column 'v.txt'"):
        (problem,) = index(c)
        assert sentence in problem and "The vectors it gave before stay" in problem
        assert f"To assign them by key: sightline index --vectors v={file}." in problem
        assert stored(c) == wanted
        rows = save(file, all_paths(c), seed=2)
    assert not index(c, file)
    assert stored(c) == dict(zip(all_paths(c)[::-1], rows.values(), strict=True))


def test_a_file_with_keys_that_loses_them_is_not_read_by_order(
    c: Collection, tmp_path: Path
) -> None:
    file = tmp_path / "v.npz"
    wanted = save(file, all_paths(c))
    index(c, file)
    np.savez(file, vectors=np.ones((8, 2)))
    (problem,) = index(c)
    assert "has 8 rows and no key column" in problem and "The vectors it gave before" in problem
    assert stored(c) == wanted


def as_before(c: Collection, file: Path, rows: np.ndarray[Any, Any] | None) -> None:
    """Leave a store as a version without `--by-order` left it: rows in order, whatever the keys.

    Without rows the file was refused, and remembered all the same.
    """
    body: dict[str, Json]
    if rows is None:
        body = {"name": "v", "path": str(file), "fingerprint": "", "order": "", "present": True}
    else:
        order = hashlib.sha256(b"\0".join(all_paths(c))).hexdigest()
        sha = hashlib.sha256(file.read_bytes()).hexdigest()
        name = fingerprint("v", sha, rows.shape[1])
        body = {"name": "v", "path": str(file), "fingerprint": name, "order": order,
                "present": True}  # fmt: skip
    with writer(c) as w:
        w.note(Change(events=w.append([NewEvent("vectors-file", body=body)])))
        if rows is None:
            return
        snapshot = Snapshot(w.store_folder.shards, w.version)
        ids = snapshot.ids()
        known = {k.picture: k.path for k in w.catalogue.known()}
        at = [all_paths(c).index(known[i]) for i in ids.tolist()]
        batch = Batch(
            ids=ids, terms=tuple(() for _ in at), features=(FeatureRows(name, rows[at]),),
            thumbnails=tuple(snapshot.thumbnail(i) for i in ids.tolist()),
        )  # fmt: skip
        w.publish(Change(batches=[batch]), finished=True)


def test_a_store_of_before_keeps_rows_in_order(c: Collection, tmp_path: Path) -> None:
    """A file without keys, or with keys that say the same, or that say nothing."""
    rows = np.arange(16, dtype=np.float32).reshape(8, 2)
    paths = all_paths(c)
    arrays: dict[str, Any]
    for arrays in (
        {}, {"image_path": as_text(paths)}, {"id": np.array([f"#{i}" for i in range(8)])},
        {"url": np.array(["http://x.example/y"] * 8)},
    ):  # fmt: skip
        np.savez(tmp_path / "v.npz", vectors=rows, **arrays)
        as_before(c, tmp_path / "v.npz", rows)
        before = stored(c)
        assert not index(c) and not index(c)
        assert stored(c) == before == {p: rows[i].tolist() for i, p in enumerate(paths)}
        index(c, forget_vectors=["v"])


def test_a_store_of_before_with_vectors_on_wrong_pictures_says_so(
    c: Collection, tmp_path: Path
) -> None:
    file, rows = tmp_path / "v.npz", np.arange(16, dtype=np.float32).reshape(8, 2)
    paths = all_paths(c)
    shuffled = [paths[i] for i in (1, 0, 2, 3, 4, 5, 7, 6)]
    np.savez(file, vectors=rows, image_path=as_text(shuffled))
    as_before(c, file, rows)
    before = stored(c)
    for _ in range(2):
        (problem,) = index(c)
        assert "'image_path' 4 of 8 pictures have the vector of another one" in problem
        assert "the first 000.jpg" in problem and stored(c) == before
        assert f"To assign them by key: sightline index --vectors v={file}." in problem
    old = features_of(c)
    assert not index(c, file)
    assert stored(c) == {p: rows[i].tolist() for i, p in enumerate(shuffled)}
    assert not features_of(c) & old, "a model of the wrong rows does not fit the right ones"
    assert not index(c) and c.store.verify().sound


def test_a_store_of_before_with_a_file_that_never_fitted(c: Collection, tmp_path: Path) -> None:
    file = tmp_path / "v.npy"
    np.save(file, np.eye(8))
    as_before(c, file, None)
    (problem,) = index(c)
    assert "8 rows and no key column" in problem and "pass --by-order" in problem
    assert "It gave no vectors; to forget the file: sightline index --forget-vectors" in problem
    assert not features_of(c)
    index(c, forget_vectors=[str(file)])
    assert not index(c)


def test_a_store_of_before_opens_and_fingerprints_are_those_of_before(tmp_path: Path) -> None:
    """Rows by columns that were known before are kept under the names they have in stores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = np.eye(2, dtype=np.float32)
    names = np.array(["a.jpg", "b.jpg"])
    np.savez(tmp_path / "v.npz", vectors=rows, names=names)
    columns = {"Filename": names, "url": names, "v": rows.tolist()}
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    np.save(tmp_path / "v.npy", rows)
    for file in ("v.npz", "v.parquet", "v.npy"):
        v = read_vectors(tmp_path / file)
        assert v.fingerprint == fingerprint("v", v.sha256, 2)
    table = read_vectors(tmp_path / "v.parquet")
    by_url = table.by(table.candidates[1])
    assert by_url.fingerprint == fingerprint("v", table.sha256, 2, "url") != table.fingerprint
    # Naming a column does not give it the place of the one that was read before.
    np.savez(tmp_path / "w.npz", vectors=rows, names=names, ids=names)
    for file, column in (("v.parquet", "url"), ("w.npz", "ids"), ("w.npz", "names")):
        v = read_vectors(tmp_path / file, "v", column)
        same = fingerprint("v", v.sha256, 2, "" if column == "names" else column)
        assert v.fingerprint == same


def test_what_is_remembered_of_a_file_is_as_before(c: Collection, tmp_path: Path) -> None:
    save(tmp_path / "v.npz", all_paths(c))
    np.savez(tmp_path / "w.npz", vectors=np.eye(8), odd=as_text(all_paths(c)))
    index(c, tmp_path / "v.npz")
    index(c, tmp_path / "w.npz", key_column="odd")
    with writer(c) as w:
        v, odd = remembered_vectors(w.catalogue)
        bodies = [e.body for e in w.log.read() if e.kind == "vectors-file"]
    keys = {"name", "path", "fingerprint", "order", "present"}
    assert [set(b) for b in bodies] == [keys, keys | {"key_column"}]
    assert v == VectorsFile("v", str(tmp_path / "v.npz"), v.fingerprint)
    assert odd.key_column == "odd"
    os.remove(c.store_folder.catalogue)
    c.store.repair(lambda s: None)
    with c.store_folder.reader() as reader:
        assert remembered_vectors(reader.catalogue) == [v, odd]
