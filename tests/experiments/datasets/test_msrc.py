"""MSRC v2: what is read, checked and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError
from sightline_experiments.datasets.msrc import NAME, load_msrc
from tests.factories.corel5k import pack, unpack
from tests.factories.msrc import COUNTS, EACH, load_made, made_files


def test_pictures_have_tags_scenes_and_a_word_for_each_pixel(tmp_path: Path) -> None:
    c = load_made(tmp_path)
    assert len(c) == 2 * EACH and c.words == ("grass", "sky", "water", "cow")
    assert c.scenes == (0,) * EACH + (1,) * EACH
    for picture in range(len(c)):
        truth = c.truth(picture)
        assert truth.shape == (32, 48)
        # A tag is what is somewhere in the picture; void pixels have none.
        assert set(np.unique(truth).tolist()) - {-1} == set(np.flatnonzero(c.tags[picture]))
        assert (truth == -1).sum() == 48
    assert c.read(0)[:2] == b"\xff\xd8"


def test_an_archive_and_a_folder_are_the_same(tmp_path: Path) -> None:
    unpacked = load_made(tmp_path / "a")
    (tmp_path / "b").mkdir()
    pack(made_files(), tmp_path / "b" / f"{NAME}.zip")
    packed = load_msrc(tmp_path / "b", COUNTS)
    assert packed is not None and packed.files == unpacked.files
    assert packed.checksum() == unpacked.checksum()


def test_things_that_are_left_out_are_no_tags_and_no_truth(tmp_path: Path) -> None:
    files = made_files()
    files["tags.tsv"] = files["tags.tsv"].replace(b"grass", b"grass horse", 1)
    unpack(files, tmp_path / NAME)
    c = load_msrc(tmp_path, COUNTS)
    assert c is not None and "horse" not in c.words and c.classes.tolist() == [-1, 0, -1, 1, 2, 3]


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert load_msrc(tmp_path) is None


def test_other_counts_are_said(tmp_path: Path) -> None:
    unpack(made_files(), tmp_path / NAME)
    with pytest.raises(DataError, match="24 pictures instead of 591"):
        load_msrc(tmp_path)
    (tmp_path / NAME / "gt" / "1_1_s.png").unlink()
    with pytest.raises(DataError, match="23 label maps instead of 24"):
        load_msrc(tmp_path, COUNTS)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tags.tsv", b"1_1_s\tone\tgrass\n", "line 1 of tags.tsv"),
        ("tags.tsv", b"1_1_s\t1\tunicorn\n", "unicorn"),
        ("classes.tsv", b"0 void\n", "line 1 of classes.tsv"),
    ],
)
def test_lists_that_cannot_be_read_are_refused(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    unpack(made_files() | {name: content}, tmp_path / NAME)
    with pytest.raises(DataError, match=said):
        load_msrc(tmp_path, COUNTS)


@pytest.mark.parametrize("content", [b"no png", made_files()["images/1_1_s.jpg"]])
def test_a_label_map_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    unpack(made_files() | {"gt/1_1_s.png": content}, tmp_path / NAME)
    c = load_msrc(tmp_path, COUNTS)
    assert c is not None
    with pytest.raises(DataError, match=r"gt/1_1_s\.png"):
        c.truth(0)
