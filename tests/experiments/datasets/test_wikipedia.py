"""Wikipedia's pairs: what is loaded, and what is said of a copy that differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError
from sightline_experiments.datasets.wikipedia import (
    CLASSES,
    FEATURES,
    TEST,
    TRAIN,
    Counts,
    load_wikipedia,
)
from tests.factories.corel5k import pack, unpack
from tests.factories.photos import fingerprint
from tests.factories.wikipedia import COUNTS, N_TEST, N_TRAIN, NAMES, made_files, packed


def test_an_archive_and_a_folder_give_the_same(tmp_path: Path) -> None:
    files = made_files()
    unpack(files, tmp_path / "wikipedia")
    (tmp_path / "packed").mkdir()
    pack(files, tmp_path / "packed" / "wikipedia.zip")
    before = fingerprint(tmp_path)
    a, b = (load_wikipedia(p, COUNTS) for p in (tmp_path, tmp_path / "packed"))
    assert a is not None and b is not None
    assert a.classes == b.classes == NAMES
    for mine, theirs in ((a.train, b.train), (a.test, b.test)):
        assert np.array_equal(mine.pictures, theirs.pictures)
        assert np.array_equal(mine.texts, theirs.texts)
        assert np.array_equal(mine.classes, theirs.classes)
    assert (len(a.train), len(a.test), len(a.all())) == (N_TRAIN, N_TEST, N_TRAIN + N_TEST)
    assert a.train.at(np.array([3])).classes.tolist() == [0]
    assert fingerprint(tmp_path) == before


def test_a_folder_without_it_is_told(tmp_path: Path) -> None:
    assert load_wikipedia(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (FEATURES, b"no such file", "no MATLAB file"),
        (FEATURES, packed({"I_tr": np.ones((2, 2))}), "no table of numbers I_te"),
        (FEATURES, packed({"I_tr": np.array(["x"], dtype=object)}), "no table of numbers I_tr"),
        (FEATURES, packed({"I_tr": np.zeros((5000, 1000))}), "table I_tr, too large"),
        (TRAIN, b"a\tb\n", "line 1 of trainset"),
        (TEST, b"a\tb\tc\n", "line 1 of testset"),
        (CLASSES, b"art\n", "1 classes instead of 3"),
    ],
)
def test_files_that_are_something_else_are_named(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    unpack({**made_files(), name: content}, tmp_path / "wikipedia")
    with pytest.raises(DataError, match=said):
        load_wikipedia(tmp_path, COUNTS)


def test_counts_and_shares_are_checked(tmp_path: Path) -> None:
    files = made_files()
    unpack(files, tmp_path / "wikipedia")
    with pytest.raises(DataError, match=r"90 training pairs instead of 2,173; 30 test pairs"):
        load_wikipedia(tmp_path)
    c = load_wikipedia(tmp_path, COUNTS)
    assert c is not None
    wrong = {"I_tr": 2 * c.train.pictures, "I_te": c.test.pictures, "T_tr": c.train.texts[1:],
             "T_te": -c.test.texts}  # fmt: skip
    unpack({FEATURES: packed(wrong)}, tmp_path / "wikipedia")
    with pytest.raises(DataError) as told:
        load_wikipedia(tmp_path, COUNTS)
    for said in ("training pictures do not add up", "89 training texts", "test texts hold numbers"):
        assert said in str(told.value)


def test_the_published_counts_are_those_of_the_set() -> None:
    assert Counts() == Counts(2173, 693, 10, 128, 10)
