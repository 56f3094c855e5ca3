"""Vectors land on their own pictures whatever the key column is called, or the file is refused."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from tests.factories.photos import make_photo, make_photos
from tests.factories.vector_files import checksum, features_of, vectors_of

NAMES = (
    "image_path", "image_paths", "filepath", "filepaths", "file_path", "file_name", "filename",
    "filenames", "files", "path", "paths", "Path", "IMAGE_PATH", "imagePath", "image",
    "images", "name", "names", "url", "urls", "uri", "key", "__key__", "id", "ids", "image_id",
)  # fmt: skip
PICTURES = ("000.jpg", "001.jpg", "002.jpg", "003.jpg", "004.jpg", "sub/x.jpg", "sub/y.jpg")
ROWS = np.eye(len(PICTURES), dtype=np.float32)
OWN = {os.fsencode(p): ROWS[i].tolist() for i, p in enumerate(PICTURES)}
SHUFFLED = (3, 6, 0, 5, 1, 4, 2)
Write = Callable[[Path, str, Sequence[int]], str]


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    photos = make_photos(tmp_path / "photos", 5)
    make_photo(photos / "sub" / "x.jpg", 40)
    make_photo(photos / "sub" / "y.jpg", 41)
    collection = Collection.open(photos, store=tmp_path / "store")
    collection.index(compute=InlineCompute())
    return collection


def index(c: Collection, *vectors: str, **options: Any) -> Any:
    return c.index(vectors=vectors, compute=InlineCompute(), **options)


def stored(c: Collection, name: str) -> dict[bytes, list[float]]:
    """Return the vectors of a feature by path."""
    found = [f for f in features_of(c) if f.rpartition("-")[0] == name]
    assert len(found) == 1
    return vectors_of(c, found[0])


def refused(c: Collection, file: str, sentence: str, **options: Any) -> None:
    """Check that a file is refused with this sentence and that the store is as it was."""
    before = checksum(c)
    with pytest.raises(UsageError, match=sentence):
        index(c, file, **options)
    assert checksum(c) == before
    assert not c.index(compute=InlineCompute()).problems, "it is not remembered"


# -- the names and layouts of other programs -------------------------------------------------------


def npz(folder: Path, column: str, order: Sequence[int]) -> str:
    arrays: dict[str, Any] = {column: np.array([PICTURES[i] for i in order])}
    np.savez(folder / "v.npz", embeddings=ROWS[list(order)], **arrays)
    return str(folder / "v.npz")


def parquet(folder: Path, column: str, order: Sequence[int]) -> str:
    """Write a table as clip-retrieval does, with its vectors in a column."""
    table = {column: [PICTURES[i] for i in order], "caption": ["a photo"] * len(order)}
    rows = [ROWS[i].astype(np.float16).tolist() for i in order]
    pq.write_table(pa.table({**table, "embedding": rows}), folder / "v.parquet")
    return str(folder / "v.parquet")


def clip_retrieval(folder: Path, column: str, order: Sequence[int]) -> str:
    """Write the folders of clip-retrieval: arrays in img_emb, and their paths in metadata."""
    for name in ("img_emb", "metadata"):
        (folder / "out" / name).mkdir(parents=True, exist_ok=True)
    np.save(folder / "out/img_emb/img_emb_0.npy", ROWS[list(order)].astype(np.float16))
    table = {column: [PICTURES[i] for i in order], "caption": ["a photo"] * len(order)}
    pq.write_table(pa.table(table), folder / "out/metadata/metadata_0.parquet")
    return f"v={folder / 'out/img_emb/img_emb_0.npy'}"


def tensors(folder: Path, column: str, order: Sequence[int]) -> str:
    keys = json.dumps([PICTURES[i] for i in order])
    save_file({"x": ROWS[list(order)]}, folder / "v.safetensors", {column: keys, "format": "pt"})
    return str(folder / "v.safetensors")


@pytest.mark.parametrize("write", [npz, parquet, clip_retrieval, tensors])
@pytest.mark.parametrize("column", ["image_path", "FilePaths"])
def test_vectors_land_on_their_own_pictures(
    c: Collection, tmp_path: Path, write: Write, column: str
) -> None:
    report = index(c, write(tmp_path, column, SHUFFLED))
    assert stored(c, "v") == OWN
    assert [(v.key_column, v.matched) for v in report.vectors] == [(column, 7)]
    assert not report.problems and not c.index(compute=InlineCompute()).problems


@pytest.mark.parametrize("write", [npz, parquet, clip_retrieval, tensors])
def test_a_column_of_texts_that_is_not_known_is_an_error(
    c: Collection, tmp_path: Path, write: Write
) -> None:
    file = write(tmp_path, "whereabouts", SHUFFLED)
    refused(c, file, r"has 7 rows and .*not known as keys: 'whereabouts'.*--key-column.*--by-order")
    with pytest.raises(UsageError, match=r"no key column 'other'. Its columns of text: .*'where"):
        c.preview(vectors=[file], key_column="other")
    index(c, file, key_column="Whereabouts")
    assert stored(c, "v") == OWN
    # It is remembered with its key column, and read again when it changes.
    write(tmp_path, "whereabouts", SHUFFLED[::-1])
    assert not c.index(compute=InlineCompute()).problems
    assert stored(c, "v") == OWN


WRITTEN: dict[str, Callable[[Path, str], str]] = {
    "relative": lambda root, p: p,
    "absolute": lambda root, p: f"{root}/{p}",
    "elsewhere": lambda root, p: f"/mnt/disk/{p}",
    "windows": lambda root, p: "C:\\photos\\" + p.replace("/", "\\"),
    "url": lambda root, p: f"https://host.example/a%20b/{p}?size=3#top",
    "file-url": lambda root, p: f"file://{root}/{p}",
    "file name": lambda root, p: os.path.basename(p),
    "stem": lambda root, p: os.path.splitext(os.path.basename(p))[0],
}
DECOYS: dict[str, Callable[[list[str]], dict[str, list[str]]]] = {
    "none": lambda keys: {},
    "caption": lambda keys: {"caption": ["red barn"] * len(keys)},
    "foreign key": lambda keys: {"sample_id": [f"{i:024x}" for i in range(len(keys))]},
    "same label": lambda keys: {"name": ["cat"] * len(keys)},
    "contradiction": lambda keys: {"uid": [*keys[1:], keys[0]]},
}


def test_any_key_column_in_any_order_is_right_or_refused(c: Collection, tmp_path: Path) -> None:
    root = tmp_path / "photos"

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from((*NAMES, "whereabouts", "caption")),
        st.permutations(range(len(PICTURES))),
        st.sampled_from(sorted(WRITTEN)),
        st.sampled_from(sorted(DECOYS)),
    )
    def check(column: str, order: list[int], way: str, decoy: str) -> None:
        unknown = column in ("whereabouts", "caption")
        # A known key column that lies, beside one that is not known, cannot be found out.
        assume(not (unknown and decoy == "contradiction"))
        keys = [WRITTEN[way](root, PICTURES[i]) for i in order]
        arrays = {**DECOYS[decoy](keys), column: keys}
        texts: dict[str, Any] = {n: np.array(v) for n, v in arrays.items()}
        np.savez(tmp_path / "v.npz", **texts, vectors=ROWS[order])
        before = checksum(c)
        try:
            index(c, str(tmp_path / "v.npz"))
        except UsageError:
            named_path = "path" in column.lower() or "file" in column.lower()
            weak = way == "stem" and decoy == "caption" and not named_path
            assert unknown or decoy == "contradiction" or weak
            assert checksum(c) == before
        else:
            assert stored(c, "v") == OWN
            c.index(forget_vectors=["v"], compute=InlineCompute())

    check()


# -- several key columns ---------------------------------------------------------------------------


def test_of_several_key_columns_the_one_that_matches_is_taken(
    c: Collection, tmp_path: Path
) -> None:
    own = [PICTURES[i] for i in SHUFFLED]
    rows = ROWS[list(SHUFFLED)]
    np.savez(
        tmp_path / "v.npz", vectors=rows, id=np.array([f"n{i}" for i in SHUFFLED]),
        path=np.array([f"/gone/{i}" for i in SHUFFLED]), url=np.array(own),
    )  # fmt: skip
    assert index(c, str(tmp_path / "v.npz")).vectors[0].key_column == "url"
    assert stored(c, "v") == OWN
    # The one that matches more; of equal ones the first by name.
    part = [*own[:3], *(f"/gone/{i}" for i in range(4))]
    np.savez(tmp_path / "v.npz", vectors=rows, key=np.array(own), file_name=np.array(part))
    assert index(c, str(tmp_path / "v.npz")).vectors[0].key_column == "key"
    np.savez(tmp_path / "v.npz", vectors=rows, key=np.array(own), file_name=np.array(own))
    assert index(c, str(tmp_path / "v.npz")).vectors[0].key_column == "file_name"
    assert stored(c, "v") == OWN


def test_key_columns_that_contradict_one_another_are_refused(c: Collection, tmp_path: Path) -> None:
    rows, own = ROWS[list(SHUFFLED)], np.array([PICTURES[i] for i in SHUFFLED])
    np.savez(tmp_path / "v.npz", vectors=rows, filename=np.roll(own, 1), image_path=own)
    file = str(tmp_path / "v.npz")
    refused(
        c, file, r"contradict one another: row 0 belongs to 003.jpg by 'image_path' and to "
        r"002.jpg by 'filename'. Name the one that is meant with --key-column",
    )  # fmt: skip
    index(c, file, key_column="image_path")
    assert stored(c, "v") == OWN
    # What the tensor file itself says, and the list beside it.
    tensors(tmp_path, "paths", SHUFFLED)
    (tmp_path / "v.txt").write_text("\n".join(PICTURES))
    refused(c, f"w={tmp_path / 'v.safetensors'}", "'paths' and to 000.jpg by 'v.txt'")


def test_ids_that_fit_names_by_chance_are_not_taken_for_keys(c: Collection, tmp_path: Path) -> None:
    rows, own = ROWS[list(SHUFFLED)], np.array([PICTURES[i] for i in SHUFFLED])
    ids = np.array([f"{i:03}" for i in range(len(PICTURES))])
    np.savez(tmp_path / "v.npz", vectors=rows, id=ids, whereabouts=own)
    refused(c, str(tmp_path / "v.npz"), r"'id' of .* only by file names without.*'whereabouts'")
    index(c, str(tmp_path / "v.npz"), key_column="whereabouts")
    assert stored(c, "v") == OWN


def test_keys_that_are_no_texts_are_refused(c: Collection, tmp_path: Path) -> None:
    keys = np.array([PICTURES[i] for i in SHUFFLED], dtype=object)
    np.savez(tmp_path / "v.npz", vectors=ROWS, image_path=keys)
    refused(c, str(tmp_path / "v.npz"), "'image_path' in .* must hold paths as text. Got object")
    np.savez(tmp_path / "v.npz", vectors=ROWS, whereabouts=keys)
    refused(c, str(tmp_path / "v.npz"), "not known as keys: 'whereabouts'")


# -- keys that fit badly ---------------------------------------------------------------------------


def test_what_did_not_fit_is_counted_and_named(c: Collection, tmp_path: Path) -> None:
    make_photo(tmp_path / "photos" / "far" / "x.jpg", 50)
    keys = ["001.jpg", "https://host.example/p/x.jpg", "https://host.example/002.jpg?a=1", "no.jpg"]
    np.savez(tmp_path / "v.npz", vectors=ROWS[:4], url=np.array(keys))
    report = index(c, str(tmp_path / "v.npz"))
    (v,) = report.vectors
    assert (v.matched, v.n_unmatched, v.n_unclear, v.n_by_name, v.n_without) == (2, 2, 1, 1, 6)
    assert set(report.problems) >= {
        "v.npz: no picture here for 2 of 4 rows, the first https://host.example/p/x.jpg",
        "v.npz: 1 of these rows have a file name that fits several pictures or rows, "
        "the first https://host.example/p/x.jpg",
        "v.npz: 1 of 4 rows were matched by file name alone, "
        "the first https://host.example/002.jpg?a=1",
        "v.npz: no vector for 6 of 8 pictures, the first 000.jpg",
    }
    assert stored(c, "v") == {b"001.jpg": ROWS[0].tolist(), b"002.jpg": ROWS[2].tolist()}


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (["001.jpg", "002.jpg", "001.jpg"], "Rows 0 and 2 of .* have the same path 001.jpg"),
        (["001.jpg", "002.jpg", "./001.jpg"], r"001.jpg \(row 0\) and ./001.jpg \(row 2\) name"),
        (["001.jpg", "", "002.jpg"], "Row 1 of .* has an empty path in 'image_path'"),
        (["a.jpg", "b.jpg", "c.jpg"], "No row of .* belongs to a picture.*Got a.jpg in 'image_pat"),
    ],
)
def test_keys_that_cannot_be_right_are_refused(
    c: Collection, tmp_path: Path, keys: list[str], sentence: str
) -> None:
    np.savez(tmp_path / "v.npz", vectors=ROWS[:3], image_path=np.array(keys))
    refused(c, str(tmp_path / "v.npz"), sentence)
    table = {"image_path": keys, "v": ROWS[:3].tolist()}
    pq.write_table(pa.table(table), tmp_path / "v.parquet")
    refused(c, str(tmp_path / "v.parquet"), sentence)


def test_pictures_themselves_in_a_column_are_no_keys(c: Collection, tmp_path: Path) -> None:
    """Hugging Face and others keep the bytes of a picture in a column 'image'."""
    order = list(range(len(PICTURES)))
    random.Random(3).shuffle(order)
    data = [(tmp_path / "photos" / PICTURES[i]).read_bytes() for i in order]
    table = {"image": data, "file_name": [PICTURES[i] for i in order], "v": ROWS[order].tolist()}
    pq.write_table(pa.table(table), tmp_path / "v.parquet")
    index(c, str(tmp_path / "v.parquet"))
    assert stored(c, "v") == OWN
    table = {"image": data, "v": ROWS[order].tolist()}
    pq.write_table(pa.table(table), tmp_path / "w.parquet")
    refused(c, str(tmp_path / "w.parquet"), "in the column 'image' of .* is no path")
