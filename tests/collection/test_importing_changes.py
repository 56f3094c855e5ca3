"""Vectors when pictures come, change, move and go, and when their file does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.index.vectors import remembered_vectors
from sightline.compute.inline import InlineCompute
from tests.factories.photos import make_photo
from tests.factories.vector_files import (
    add,
    all_paths,
    features_of,
    index,
    make_collection,
    refresh,
    save,
    vectors_of,
    version,
)


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return make_collection(tmp_path)


@pytest.fixture
def photos(c: Collection, tmp_path: Path) -> Path:
    return tmp_path / "photos"


def change_pictures(photos: Path) -> None:
    """Add one, edit one, move one, rename one, remove one, and let two change places."""
    make_photo(photos / "007.jpg", 77)
    make_photo(photos / "001.jpg", 88)
    (photos / "far").mkdir()
    os.rename(photos / "002.jpg", photos / "far" / "002.jpg")
    os.rename(photos / "003.jpg", photos / "renamed.jpg")
    os.remove(photos / "004.jpg")
    os.rename(photos / "005.jpg", photos / "x")
    os.rename(photos / "sub" / "000.jpg", photos / "005.jpg")
    os.rename(photos / "x", photos / "sub" / "000.jpg")


def after_changes(before: dict[bytes, list[float]]) -> dict[bytes, list[float]]:
    """Return whose vectors are whose once pictures were changed: they follow the pictures."""
    out = {p: r for p, r in before.items() if p != b"004.jpg"}
    out[b"far/002.jpg"], out[b"renamed.jpg"] = out.pop(b"002.jpg"), out.pop(b"003.jpg")
    out[b"005.jpg"], out[b"sub/000.jpg"] = out[b"sub/000.jpg"], out[b"005.jpg"]
    return out


def test_vectors_follow_their_pictures(c: Collection, photos: Path, tmp_path: Path) -> None:
    wanted = save(tmp_path / "v.npz", [*all_paths(c), b"007.jpg"])
    name = add(c, tmp_path / "v.npz").fingerprint
    change_pictures(photos)
    index(c)
    assert vectors_of(c, name) == after_changes(wanted)
    index(c)
    before = version(c)
    index(c)
    assert version(c) == before and c.store.verify().sound


def test_a_file_saved_anew_is_taken_at_its_word(
    c: Collection, photos: Path, tmp_path: Path
) -> None:
    save(tmp_path / "v.npz", all_paths(c))
    add(c, tmp_path / "v.npz")
    change_pictures(photos)
    c.index(compute=InlineCompute())
    wanted = save(tmp_path / "v.npz", all_paths(c), seed=1)
    refresh(c)
    (name,) = features_of(c)
    assert vectors_of(c, name) == wanted


def test_rows_in_order_belong_to_the_pictures_there_were(
    c: Collection, photos: Path, tmp_path: Path
) -> None:
    file = tmp_path / "v.npy"
    wanted = save(file, all_paths(c))
    name = add(c, file).fingerprint
    change_pictures(photos)
    index(c)
    expected = after_changes(wanted)
    assert vectors_of(c, name) == expected
    assert add(c, file).without == (b"007.jpg",), "said again, it means the same"
    assert vectors_of(c, name) == expected
    # A file saved anew is for the pictures there are now.
    wanted = save(file, all_paths(c), seed=1)
    assert refresh(c) == []
    (name,) = features_of(c)
    assert vectors_of(c, name) == wanted
    # Rows of a picture that is no longer there are no reason to complain.
    os.remove(photos / "000.jpg")
    os.utime(file, ns=(1, 1))
    c.index(compute=InlineCompute())
    assert refresh(c) == []


def test_an_order_that_cannot_be_known_is_not_guessed(
    c: Collection, photos: Path, tmp_path: Path
) -> None:
    file = tmp_path / "v.npy"
    save(file, all_paths(c))
    name = add(c, file).fingerprint
    make_photo(photos / "000.jpg", 99)
    c.store.purge([b"005.jpg"])
    os.remove(photos / "005.jpg")
    c.index(compute=InlineCompute())
    (problem,) = refresh(c)
    assert "in the order of the pictures, which are others now" in problem
    assert len(vectors_of(c, name)) == 6, "the edited picture goes without, others keep theirs"


def test_a_given_file_is_read_once_and_remembered(c: Collection, tmp_path: Path) -> None:
    wanted = save(tmp_path / "v.npz", all_paths(c))
    report = c.index(vectors=[str(tmp_path / "v.npz")], compute=InlineCompute())
    assert [(v.matched, v.key_column) for v in report.vectors] == [(8, "paths")]
    with c.store_folder.reader() as reader:
        files = remembered_vectors(reader.catalogue)
    assert [f.path for f in files] == [str(tmp_path / "v.npz")]
    (name,) = features_of(c)
    assert vectors_of(c, name) == wanted
    os.remove(tmp_path / "v.npz")
    assert len(c.index(compute=InlineCompute()).problems) == 1


def test_a_file_that_is_gone_leaves_its_rows(c: Collection, photos: Path, tmp_path: Path) -> None:
    file = tmp_path / "v.npz"
    wanted = save(file, [*all_paths(c), b"new.jpg"])
    name = add(c, file).fingerprint
    os.rename(file, tmp_path / "away.npz")
    for _ in range(2):
        (problem,) = refresh(c)
        assert "v.npz cannot be read: No such file" in problem
        assert f"index --forget-vectors {file}" in problem
    make_photo(photos / "new.jpg", 5)
    index(c)
    assert vectors_of(c, name).keys() == wanted.keys() - {b"new.jpg"}
    file.write_bytes(b"broken")
    assert "is no .npz file that can be read" in refresh(c)[0]
    os.remove(file)
    os.rename(tmp_path / "away.npz", file)
    assert refresh(c) == []
    assert vectors_of(c, name) == wanted


def test_repair_and_rollback_keep_vectors(c: Collection, tmp_path: Path) -> None:
    wanted = save(tmp_path / "v.npy", all_paths(c))
    name = add(c, tmp_path / "v.npy").fingerprint
    c.index(compute=InlineCompute())
    c.store_folder.catalogue.write_bytes(b"damaged")
    c.store.repair(lambda s: None)
    refresh(c)
    assert vectors_of(c, name) == wanted
    c.index(compute=InlineCompute())
    c.store.rollback()
    index(c)
    assert vectors_of(c, name) == wanted and c.store.verify().sound
