"""Corel5K: what is loaded, and what is said of a copy that differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.errors import DataError
from sightline_experiments.datasets.corel5k import Corel5K, load_corel5k, queries_of, vocabulary
from tests.factories.corel5k import COUNTS, N_DEVELOPMENT, N_TEST, WORDS, made_files, pack, unpack
from tests.factories.photos import fingerprint


@pytest.fixture
def files() -> dict[str, bytes]:
    return made_files()


def loaded(folder: Path) -> Corel5K:
    found = load_corel5k(folder, COUNTS)
    assert found is not None
    return found


def test_an_archive_and_a_folder_give_the_same(files: dict[str, bytes], tmp_path: Path) -> None:
    unpack(files, tmp_path / "corel5k")
    (tmp_path / "packed").mkdir()
    pack(files, tmp_path / "packed" / "corel5k.zip")
    before = fingerprint(tmp_path)
    a, b = loaded(tmp_path), loaded(tmp_path / "packed")
    assert a.words == b.words == WORDS
    assert (a.development, a.test) == (b.development, b.test)
    assert a.checksum() == b.checksum()
    assert queries_of(a) == queries_of(b)
    assert fingerprint(tmp_path) == before


def test_rows_pictures_and_words(files: dict[str, bytes], tmp_path: Path) -> None:
    c = loaded(unpack(files, tmp_path))
    assert len(c.development) == N_DEVELOPMENT and len(c.test) == N_TEST + 1
    assert c.test[3].picture == c.test[-1].picture
    assert len(c.numbers()) == N_DEVELOPMENT + N_TEST
    assert c.numbers()[:N_DEVELOPMENT] == tuple(r.picture for r in c.development)
    first = files["labels/training_label"].decode().splitlines()[0].split()
    assert c.development[0].picture == int(first[0])
    assert c.development[0].words == tuple(int(w) - 1 for w in first[1:])
    assert c.read(c.test[0].picture)[:2] == b"\xff\xd8"


def test_a_word_that_a_row_repeats_counts_once(files: dict[str, bytes], tmp_path: Path) -> None:
    text = files["labels/training_label"].decode().splitlines()
    before = loaded(unpack(files, tmp_path / "a")).development[2].words
    text[2] += " " + text[2].split()[1] + "  "
    files["labels/training_label"] = "\n".join(text).encode()
    assert loaded(unpack(files, tmp_path / "b")).development[2].words == before


def test_the_vocabulary_is_what_two_distinct_test_pictures_have(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    rows = files["labels/test_label"].decode().splitlines()
    # The fourth row is listed again at the end: a word it alone has stays out.
    rows = [r.split()[0] + " 1" for r in rows]
    rows[3] = rows[-1] = rows[3].split()[0] + " 1 5"
    files["labels/test_label"] = "\n".join(rows).encode()
    unpack(files, tmp_path)
    with pytest.raises(DataError, match="1 test queries instead of 23"):
        load_corel5k(tmp_path, COUNTS)
    c = loaded(unpack(made_files(), tmp_path / "corel5k"))
    count = {w: sum(i in r.words for r in c.test[:N_TEST]) for i, w in enumerate(WORDS)}
    assert vocabulary(c) == tuple(sorted(w for w, n in count.items() if n >= 2))


def test_queries_are_the_sets_of_words_that_a_test_picture_has(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    c = loaded(unpack(files, tmp_path))
    known = frozenset(vocabulary(c))
    captions = {r.picture: known & {c.words[w] for w in r.words} for r in c.test}
    found = dict(queries_of(c))
    assert len(found) == COUNTS.queries
    for words, pictures in found.items():
        assert set(pictures) == {p for p, held in captions.items() if held >= set(words)}
        assert len(pictures) == len(set(pictures)) >= 1


def _one_row_less(files: dict[str, bytes]) -> None:
    rows = files["labels/training_label"].decode().splitlines()
    files["labels/training_label"] = "\n".join(rows[1:]).encode()


def _one_picture_less(files: dict[str, bytes]) -> None:
    del files["images/1000/1000.jpeg"]


def _another_query(files: dict[str, bytes]) -> None:
    files["queries/test_queries.tsv"] = b"sky\t1 2 3\n"


def _a_word_too_many(files: dict[str, bytes]) -> None:
    files["labels/words"] += b"extra\n"


def _both_lists(files: dict[str, bytes]) -> None:
    rows = files["labels/training_label"].decode().splitlines()
    rows[0] = files["labels/test_label"].decode().splitlines()[0]
    files["labels/training_label"] = "\n".join(rows).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_one_row_less, "79 development rows instead of 80"),
        (_one_picture_less, "100 pictures instead of 101; 1 labelled pictures have no file"),
        (_another_query, "23 queries differ from queries/test_queries.tsv"),
        (_a_word_too_many, "7 words instead of 6"),
        (_both_lists, "1 pictures are in both lists, such as 1080"),
    ],
)  # fmt: skip
def test_what_differs_is_said(
    change: Callable[[dict[str, bytes]], None], said: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    change(files)
    unpack(files, tmp_path)
    with pytest.raises(DataError, match=said):
        load_corel5k(tmp_path, COUNTS)


def test_queries_that_agree_are_accepted(files: dict[str, bytes], tmp_path: Path) -> None:
    c = loaded(unpack(files, tmp_path / "a"))
    lines = [f"{' '.join(reversed(w))}\t{' '.join(map(str, p))}" for w, p in queries_of(c)]
    files["queries/test_queries.tsv"] = "\n".join(lines).encode()
    assert len(queries_of(loaded(unpack(files, tmp_path / "b")))) == COUNTS.queries


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("labels/training_label", "1000 one two", "no row of numbers"),
        ("labels/test_label", "1080 7", "outside 1 to 6"),
        ("labels/test_label", "1080 0", "outside 1 to 6"),
    ],
)
def test_lines_that_make_no_sense_are_named(
    name: str, line: str, said: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    files[name] = line.encode() + b"\n" + files[name]
    unpack(files, tmp_path)
    with pytest.raises(DataError, match=f"line 1 of {name}.*{said}"):
        load_corel5k(tmp_path, COUNTS)


def test_data_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert load_corel5k(tmp_path) is None
