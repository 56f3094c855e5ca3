"""NUS-WIDE: what is loaded, how much memory that takes, and what is said of a copy that differs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError
from sightline_experiments.datasets import sources
from sightline_experiments.datasets.nuswide import (
    CONCEPTS,
    LABELS,
    TAGS,
    VISUAL_WORDS,
    Counts,
    load_nuswide,
)
from tests.factories.corel5k import pack, unpack
from tests.factories.nuswide import COUNTS, NAMES, N, load_made, made_files, made_tables
from tests.factories.photos import fingerprint

SKY = LABELS.format("sky")


def test_an_archive_and_a_folder_give_the_same_which_is_what_was_written(tmp_path: Path) -> None:
    files = made_files()
    unpack(files, tmp_path / "nuswide")
    (tmp_path / "packed").mkdir()
    pack(files, tmp_path / "packed" / "nuswide.zip", prefix="NUS-WIDE/")
    before = fingerprint(tmp_path)
    concepts, tags, words = made_tables()
    kept = np.flatnonzero(concepts.any(axis=1) & tags.any(axis=1))
    assert 0 < len(kept) < N
    for folder in (tmp_path, tmp_path / "packed"):
        c = load_nuswide(folder, COUNTS)
        assert c is not None and c.names == NAMES and len(c) == len(kept)
        assert np.array_equal(c.positions, kept)
        assert np.array_equal(c.concepts, concepts[kept])
        assert np.array_equal(c.tags.toarray(), tags[kept])
        assert np.array_equal(c.pictures.toarray(), words[kept])
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_blocks_may_end_anywhere(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = load_made(tmp_path)
    monkeypatch.setattr(sources, "_BLOCK", size)
    again = load_made(tmp_path)
    assert np.array_equal(whole.tags.toarray(), again.tags.toarray())
    assert np.array_equal(whole.pictures.toarray(), again.pictures.toarray())
    assert np.array_equal(whole.concepts, again.concepts)


@pytest.mark.parametrize("place", VISUAL_WORDS)
def test_visual_words_may_lie_in_known_places(place: str, tmp_path: Path) -> None:
    files = made_files()
    files[place] = files.pop(VISUAL_WORDS[0])
    found = load_nuswide(unpack(files, tmp_path / "nuswide"), COUNTS)
    assert found is not None and found.pictures.sum() > 0


def test_a_folder_without_it_is_told(tmp_path: Path) -> None:
    assert load_nuswide(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (TAGS, (b"1\t", b"2\t"), r"line 2 of NUS_WID_Tags/AllTags1k.txt holds a number above 1"),
        (TAGS, (b"0\t", b"x\t"), r"line 1 of NUS_WID_Tags/AllTags1k.txt holds something"),
        (TAGS, (b"0\t", b"\0\t"), r"line 1 of NUS_WID_Tags/AllTags1k.txt holds something"),
        (TAGS, (b"0\t", b"-1\t"), r"line 1 of NUS_WID_Tags/AllTags1k.txt holds something"),
        (TAGS, (b"0\t", b""), r"line 1 of NUS_WID_Tags/AllTags1k.txt holds 23 numbers instead of"),
        (TAGS, (b"\n", b" 0\n"), r"line 1 of NUS_WID_Tags/AllTags1k.txt holds 25 numbers"),
        (TAGS, (b"\n", b"\n\n"), r"line 2 of NUS_WID_Tags/AllTags1k.txt holds 0 numbers"),
        (SKY, (b"0\n", b""), r"Labels_sky.txt has 399 rows instead of 400"),
        (SKY, (b"0\n", b"0\n0\n"), r"line 401 of .*Labels_sky.txt is one more than the 400"),
        (SKY, (b"0\n", b"0\xe9\n"), r"line 1 of .*Labels_sky.txt holds something"),
        (VISUAL_WORDS[0], (b"1 ", b"1234567 "), r"line \d+ of .*BoW_int.dat holds a number above"),
        (VISUAL_WORDS[0], (b"1 ", b"1" * 400 + b" "), r"BoW_int.dat holds a number above 1,000,0"),
        (CONCEPTS, (b"sky\n", b"sky\nsky\n"), r"names 5 concepts, 4 of them different, instead of"),
        (CONCEPTS, (b"sky\n", b"sea\n"), r"it has no Groundtruth/AllLabels/Labels_sea.txt\."),
        (CONCEPTS, (b"sky\n", b"../../sky\n"), r"it has no Groundtruth/AllLabels/Labels_\.\./"),
        (CONCEPTS, (b"sky\n", b"\xff\xfe\n"), r"Concepts81.txt is no text"),
    ],
)
def test_damaged_files_are_named_with_their_line(
    name: str, change: tuple[bytes, bytes], said: str, tmp_path: Path
) -> None:
    files = made_files()
    assert change[0] in files[name]
    files[name] = files[name].replace(*change, 1)
    unpack(files, tmp_path / "nuswide")
    with pytest.raises(DataError, match=said):
        load_nuswide(tmp_path, COUNTS)


def test_lines_are_numbered_through_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_BLOCK", 500)
    files = made_files()
    lines = files[TAGS].splitlines(keepends=True)
    lines[316] = lines[316].replace(b"0", b"9", 1)
    files[TAGS] = b"".join(lines)
    unpack(files, tmp_path / "nuswide")
    with pytest.raises(DataError, match="line 317 of NUS_WID_Tags"):
        load_nuswide(tmp_path, COUNTS)


def test_empty_lines_at_the_end_say_nothing(tmp_path: Path) -> None:
    files = made_files()
    files[TAGS] += b"\n \n"
    files[SKY] = files[SKY].rstrip(b"\n")
    unpack(files, tmp_path / "nuswide")
    found = load_nuswide(tmp_path, COUNTS)
    assert found is not None and np.array_equal(found.tags.toarray(), _tags())


def _tags() -> np.ndarray:
    concepts, tags, _ = made_tables()
    return tags[concepts.any(axis=1) & tags.any(axis=1)]


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    files = made_files()
    unpack({k: v for k, v in files.items() if k != VISUAL_WORDS[0]}, tmp_path / "a" / "nuswide")
    with pytest.raises(DataError, match=r"looked for in .*, Low_Level_Features/BoW_int\.dat, BoW"):
        load_nuswide(tmp_path / "a", COUNTS)
    unpack({k: v for k, v in files.items() if k != TAGS}, tmp_path / "b" / "nuswide")
    with pytest.raises(DataError, match=r"has no NUS_WID_Tags/AllTags1k\.txt"):
        load_nuswide(tmp_path / "b", COUNTS)
    few = {k: v for k, v in files.items() if "Labels_z" not in k and "Labels_w" not in k}
    unpack(few, tmp_path / "c" / "nuswide")
    with pytest.raises(DataError, match=r"has no .*Labels_water.txt, and 1 more are missing"):
        load_nuswide(tmp_path / "c", COUNTS)


def test_a_set_without_any_picture_to_keep_is_refused(tmp_path: Path) -> None:
    files = made_files()
    files[TAGS] = files[TAGS].replace(b"1", b"0")
    unpack(files, tmp_path / "nuswide")
    with pytest.raises(DataError, match="no picture has both a tag and a concept"):
        load_nuswide(tmp_path, COUNTS)


def test_links_and_archives_that_lie_are_refused(tmp_path: Path) -> None:
    files = made_files()
    folder = unpack(files, tmp_path / "a" / "nuswide")
    (folder / TAGS).rename(tmp_path / "elsewhere")
    (folder / TAGS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="link"):
        load_nuswide(tmp_path / "a", COUNTS)
    (tmp_path / "b").mkdir()
    archive = pack(files, tmp_path / "b" / "nuswide.zip")
    content = bytearray(archive.read_bytes())
    at = content.index(TAGS.encode()) + len(TAGS) + 200
    content[at : at + 20] = bytes(20)
    archive.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"AllTags1k\.txt' cannot be read|AllTags1k\.txt holds"):
        load_nuswide(tmp_path / "b", COUNTS)


@pytest.mark.parametrize("packed", [True, False])
def test_a_large_table_is_never_held_as_a_whole(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, n_tags, n_words = 4000, 1000, 50
    row = b"\t".join([b"1", *[b"0"] * (n_tags - 1)]) + b"\n"
    files = {CONCEPTS: b"sky\n", SKY: b"1\n" * n, TAGS: row * n}
    files["BoW_int.dat"] = (b"0 " * (n_words - 1) + b"3\n") * n
    assert len(files[TAGS]) > 7_900_000
    if packed:
        pack(files, tmp_path / "nuswide.zip")
    else:
        unpack(files, tmp_path / "nuswide")
    monkeypatch.setattr(sources, "_BLOCK", 1 << 15)
    del files
    tracemalloc.start()
    try:
        found = load_nuswide(tmp_path, Counts(n, 1, n_tags, n_words))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None and found.tags.sum() == n and found.pictures.sum() == 3 * n
    assert most < 2_500_000, most


def test_a_line_without_end_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    files = made_files() | {TAGS: b"0" * 5_000_000}
    (tmp_path / "nuswide.zip").write_bytes(pack(files, tmp_path / "x.zip").read_bytes())
    with pytest.raises(DataError, match=r"line 1 of NUS_WID_Tags/AllTags1k\.txt has more than"):
        load_nuswide(tmp_path, COUNTS)


def test_the_published_counts_are_those_of_the_set() -> None:
    assert Counts() == Counts(269_648, 81, 1000, 500)
