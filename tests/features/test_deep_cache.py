"""The converted network in the cache folder: made once, checked always, made again if damaged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sightline.features.deep import graph, session, weights
from sightline.features.deep.network import LITE0, LITE2, Network


@pytest.fixture(scope="module")
def model() -> bytes:
    return graph.build_model(LITE0, weights.read_weights(LITE0))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, model: bytes) -> list[int]:
    """Return a list that grows with each conversion."""
    count: list[int] = []

    def build(network: Network, weights: object) -> bytes:
        count.append(1)
        return model

    monkeypatch.setattr(graph, "build_model", build)
    return count


@pytest.fixture
def fresh_session() -> Iterator[None]:
    session.session.cache_clear()
    yield
    session.session.cache_clear()


def test_equal_weights_give_equal_bytes(model: bytes) -> None:
    assert graph.build_model(LITE0, weights.read_weights(LITE0)) == model


def test_it_is_converted_once(tmp_path: Path, built: list[int], model: bytes) -> None:
    folder = tmp_path / "a" / "b"
    assert session.load_model(LITE0, folder) == session.load_model(LITE0, folder) == model
    assert len(built) == 1
    (file,) = folder.iterdir()
    assert LITE0.sha256[:16] in file.name and f"graph{graph.GRAPH_VERSION}" in file.name


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_a_damaged_file_is_made_again(
    tmp_path: Path, built: list[int], model: bytes, damage: str
) -> None:
    session.load_model(LITE0, tmp_path)
    (file,) = tmp_path.iterdir()
    flipped = bytearray(model)
    flipped[len(model) // 2] ^= 1
    file.write_bytes({"cut": model[:-1], "flipped": bytes(flipped), "emptied": b""}[damage])
    assert session.load_model(LITE0, tmp_path) == model
    assert len(built) == 2 and list(tmp_path.iterdir()) == [file] and file.read_bytes() == model
    assert session.load_model(LITE0, tmp_path) == model and len(built) == 2


@pytest.mark.usefixtures("fresh_session")
def test_a_file_onnxruntime_cannot_use_is_made_again(
    tmp_path: Path, built: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rubbish, folder = b"no graph at all", tmp_path / "sightline"
    folder.mkdir()
    (folder / session._name(LITE0, rubbish)).write_bytes(rubbish)
    (vector,) = session.run(LITE0, np.zeros((1, 32, 32, 3), np.uint8), "vector")
    assert vector.shape == (1, 1280) and len(built) == 1
    assert len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_done_without(
    tmp_path: Path, built: list[int], model: bytes
) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert session.load_model(LITE0, folder) == model
    assert len(built) == 2 and len(list(tmp_path.iterdir())) == 1


def test_a_failed_write_leaves_nothing(
    tmp_path: Path, built: list[int], model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert session.load_model(LITE0, tmp_path) == model
    assert list(tmp_path.iterdir()) == []


def test_each_network_has_a_file_of_its_own(tmp_path: Path, built: list[int], model: bytes) -> None:
    session.load_model(LITE0, tmp_path)
    (small,) = tmp_path.iterdir()
    session.load_model(LITE2, tmp_path)
    (large,) = set(tmp_path.iterdir()) - {small}
    assert len(built) == 2 and LITE2.sha256[:16] in large.name
    large.write_bytes(b"damaged")
    small_before = small.stat()
    session.load_model(LITE2, tmp_path)
    assert len(built) == 3 and small.stat() == small_before and large.read_bytes() == model


def test_the_folder_is_the_users_cache(tmp_path: Path) -> None:
    assert session.cache_folder({"HOME": "/home/a"}) == Path("/home/a/.cache/sightline")
    named = session.cache_folder({"HOME": "/home/a", "XDG_CACHE_HOME": str(tmp_path)})
    assert named == tmp_path / "sightline"


def test_two_processes_at_once_leave_one_sound_file(tmp_path: Path, model: bytes) -> None:
    code = (
        "import hashlib, sys\n"
        "from pathlib import Path\n"
        "from sightline.features.deep import session\n"
        "from sightline.features.deep.network import LITE0\n"
        "sys.stdin.readline()\n"
        "print(hashlib.sha256(session.load_model(LITE0, Path(sys.argv[1]))).hexdigest())"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pair = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {process.communicate()[0].strip() for process in pair}
    assert len(said) == 1 and all(process.returncode == 0 for process in pair)
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == model == session.load_model(LITE0, tmp_path)
