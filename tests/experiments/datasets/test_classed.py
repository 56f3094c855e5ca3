"""Datasets with one class for each picture: what is read, checked and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sightline.errors import DataError, UsageError
from sightline_experiments.datasets.classed import CALTECH, COREL, load_classed
from tests.factories.classed import CLASSES, EACH, KIND, load_made, made_files
from tests.factories.corel5k import pack, unpack


def test_classes_are_the_folders_of_pictures(tmp_path: Path) -> None:
    c = load_made(tmp_path)
    assert len(c) == len(CLASSES) * EACH and c.classes == CLASSES
    for file, label in zip(c.files, c.labels, strict=True):
        assert file.split("/")[1] == CLASSES[label]
    assert c.read(3)[:2] == b"\xff\xd8"


def test_an_archive_and_a_folder_are_the_same(tmp_path: Path) -> None:
    unpacked = load_made(tmp_path / "a")
    (tmp_path / "b").mkdir()
    pack(made_files(), tmp_path / "b" / "made.zip")
    packed = load_classed(tmp_path / "b", KIND)
    assert packed is not None and packed.files == unpacked.files
    assert packed.checksum() == unpacked.checksum()
    changed = made_files() | {unpacked.files[0]: b"other"}
    (tmp_path / "c").mkdir()
    pack(changed, tmp_path / "c" / "made.zip")
    other = load_classed(tmp_path / "c", KIND)
    assert other is not None and other.checksum() != unpacked.checksum()


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert load_classed(tmp_path, CALTECH) is None
    assert load_classed(tmp_path, COREL) is None
    with pytest.raises(UsageError, match="There is no folder"):
        load_classed(tmp_path / "nowhere", CALTECH)


def test_a_set_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    files = made_files()
    del files["images/cloud/image_0007.jpg"]
    unpack(files, tmp_path / "made")
    with pytest.raises(DataError, match=r"79 pictures instead of 80.*19 of 'cloud' instead of 20"):
        load_classed(tmp_path, KIND)


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    unpack(made_files() | {"classes.tsv": b"brick\t20\ncloud many\n"}, tmp_path / "made")
    with pytest.raises(DataError, match=r"line 2 of classes\.tsv"):
        load_classed(tmp_path, KIND)


def test_a_list_of_pictures_counts_them(tmp_path: Path) -> None:
    kind = replace(KIND, mark="classes.txt", by_picture=True)
    files = made_files()
    lines = [f"{i} {name.split('/')[1]}" for i, name in enumerate(files) if "/" in name]
    unpack(files | {"classes.txt": "\n".join(lines).encode()}, tmp_path / "made")
    assert load_classed(tmp_path, kind) is not None
    unpack({"classes.txt": "\n".join(lines[1:]).encode()}, tmp_path / "made")
    with pytest.raises(DataError, match=r"1 classes differ from classes\.txt"):
        load_classed(tmp_path, kind)
