"""`sightline index --vectors` and `--words`: a refused file is an error and leaves no trace."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from tests.cli.test_commands import Shell
from tests.factories.photos import make_photos
from tests.factories.vector_files import checksum, features_of, vectors_of

SHUFFLED = (5, 2, 7, 0, 3, 6, 1, 4)


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    shell = Shell(capfd, make_photos(tmp_path / "photos", 8), tmp_path / "store")
    shell.index()
    return shell


def names(shell: Shell) -> list[str]:
    return sorted(p.name for p in shell.photos.iterdir() if p.suffix == ".jpg")


def refused(shell: Shell, *arguments: str) -> str:
    """Check that a command fails, changes nothing and is forgotten; return what it says."""
    c = Collection.open(shell.photos, store=shell.store)
    before = checksum(c)
    ran = shell("index", *arguments)
    assert ran.code == 2 and len(ran.err.strip().splitlines()) == 1
    assert checksum(c) == before
    later = shell("index")
    assert later.code == 0 and not later.err
    return ran.err


def test_vectors_by_key_and_by_order(shell: Shell, tmp_path: Path) -> None:
    rows, keys = np.eye(8, dtype=np.float32), np.array(names(shell))
    order = list(SHUFFLED)
    np.savez(tmp_path / "v.npz", embeddings=rows[order], filepaths=keys[order])
    ran = shell("index", "--vectors", str(tmp_path / "v.npz"))
    assert ran.code == 0
    assert "v.npz: 8 of 8 pictures have a vector, assigned by 'filepaths'" in ran.out
    np.save(tmp_path / "w.npy", rows)
    said = refused(shell, "--vectors", str(tmp_path / "w.npy"))
    assert "8 rows" in said and "8 pictures" in said and "pass --by-order" in said
    ran = shell("index", "--vectors", str(tmp_path / "w.npy"), "--by-order", "--json")
    (about,) = json.loads(ran.out)["vectors"]
    assert (about["key_column"], about["matched"], about["without"]) == (None, 8, 0)
    np.savez(tmp_path / "x.npz", embeddings=rows[order], shot=keys[order])
    said = refused(shell, "--vectors", str(tmp_path / "x.npz"))
    assert "'shot'" in said and "--key-column" in said
    ran = shell("index", "--vectors", str(tmp_path / "x.npz"), "--key-column", "shot")
    assert ran.code == 0 and "assigned by 'shot'" in ran.out
    # Each picture has its own vector, and the same one of all three files.
    c = Collection.open(shell.photos, store=shell.store)
    features = sorted(features_of(c))
    assert [f.rpartition("-")[0] for f in features] == ["v", "w", "x"]
    for feature in features:
        found = vectors_of(c, feature)
        assert [found[name.encode()] for name in keys] == rows.tolist()


def test_a_refused_file_takes_the_rest_of_the_command_with_it(shell: Shell, tmp_path: Path) -> None:
    table = tmp_path / "words.csv"
    table.write_text("path,words\n000.jpg,tree\n")
    np.savez(tmp_path / "v.npz", vectors=np.eye(2), paths=np.array(["x.jpg", "y.jpg"]))
    said = refused(
        shell, "--words", str(table), "--folder-words", "--vectors", str(tmp_path / "v.npz")
    )
    assert "No row of" in said and "Got x.jpg in 'paths'" in said
    assert not Collection.open(shell.photos, store=shell.store).words.tables()


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("w.jsonl", '{"place": "000.jpg", "text": "a"}\n' * 30, "no record has a field of path"),
        ("w.csv", "path,words\n,tree\n000.jpg,\n", "no picture is named (such as line 2)"),
        ("w.csv", "title,words\nx,y\n", "starts with 'title,words'"),
        ("w.jsonl", "nonsense\n", "not JSON"),
    ],
)
def test_a_table_that_gives_no_words_is_refused(
    shell: Shell, tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    (tmp_path / name).write_text(text)
    assert sentence in refused(shell, "--words", str(tmp_path / name))


def test_a_refused_first_command_makes_no_store(shell: Shell, tmp_path: Path) -> None:
    shell.store = tmp_path / "other"
    np.save(tmp_path / "v.npy", np.eye(8))
    assert shell("index", "--vectors", str(tmp_path / "v.npy")).code == 2
    assert not shell.store.exists()
