"""The task of a decode worker: what it reads, what it refuses to open, what it sends."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.contracts import Done, Json
from sightline.pictures.decode import Unfit
from sightline.pictures.folder import PictureFile, SidecarFile, walk
from sightline.pictures.reading import (
    ReadLimits,
    answer,
    read_picture,
    read_words,
    request,
    words_of,
)
from sightline.pictures.thumbnails import media_type
from sightline.records import Tags
from tests.factories.picture_files import encoded, exif, good, pattern

BEYOND = "outside the collection"


def read(root: Path, path: str | bytes, *, pixels: bool = True, **limits: Any) -> Done:
    """Read a picture as a worker would, the job sent as JSON and back."""
    found = PictureFile(os.fsencode(path), 0, 0)
    job = request(os.fsencode(root), found, ReadLimits(**limits), pixels=pixels)
    args: dict[str, Json] = json.loads(json.dumps(job.args))
    done = read_picture(args, memoryview(b""), True)
    return Done(json.loads(json.dumps(done.value)), done.blob)


def refused(root: Path, path: str | bytes, **limits: Any) -> Unfit:
    """Return why a file is refused."""
    with pytest.raises(Unfit) as caught:
        read(root, path, **limits)
    return caught.value


@pytest.mark.parametrize("name", [b"a.png", b"caf\xe9\xff.png", b"a\nb.png", b"-rf.png"])
def test_what_is_read_comes_back(tmp_path: Path, name: bytes) -> None:
    rgb = pattern(60, 40)
    data = encoded(rgb, "PNG", exif=exif(1))
    target = os.path.join(os.fsencode(tmp_path), name)
    with open(target, "wb") as f:
        f.write(data)
    got = answer(read(tmp_path, name))
    assert got.sha == hashlib.sha256(data).hexdigest() and got.size == len(data)
    assert (got.width, got.height, got.format) == (60, 40, "PNG")
    assert got.mtime == os.stat(target).st_mtime_ns
    assert got.rgb is not None and np.array_equal(got.rgb, rgb)
    assert media_type(got.thumbnail) == "image/webp"
    assert answer(read(tmp_path, name, pixels=False)).rgb is None


def test_words_beside_a_picture_come_along(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(good("PNG"))
    (tmp_path / "a.txt").write_text("tree, snow")
    sidecars = (SidecarFile(b"a.txt", 0, 0), SidecarFile(b"a.png\xff.txt", 0, 0))
    found = PictureFile(b"a.png", 0, 0, sidecars)
    job = request(os.fsencode(tmp_path), found, ReadLimits(), pixels=False)
    for task in (read_picture, read_words):
        done = task(job.args, memoryview(b""), True)
        assert words_of(done) == (Tags("txt", (), "tree, snow"),)
        assert done.value["problems"] == [
            "a.png\\xff.txt: it cannot be opened: No such file or directory"
        ]


def test_words_are_cut_to_a_bounded_size(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(good("PNG"))
    (tmp_path / "a.txt").write_text("tree " * 50_000)
    (tmp_path / "b.txt").write_text("x" * ((1 << 20) + 1))
    sidecars = (SidecarFile(b"a.txt", 0, 0), SidecarFile(b"b.txt", 0, 0))
    job = request(
        os.fsencode(tmp_path), PictureFile(b"a.png", 0, 0, sidecars), ReadLimits(), pixels=True
    )
    done = read_words(job.args, memoryview(b""), True)
    assert len(words_of(done)[0].text) == 20_000
    assert "the limit is 1 MB" in str(done.value["problems"])


def test_large_file_names_its_flag(tmp_path: Path) -> None:
    (tmp_path / "a.bmp").write_bytes(good("BMP"))
    why = refused(tmp_path, "a.bmp", max_file_bytes=1000)
    assert why.kind == "too-large" and "--max-file-mb" in str(why)
    assert answer(read(tmp_path, "a.bmp", max_file_bytes=len(good("BMP")))).width == 64


def test_missing_file_and_empty_file_are_named(tmp_path: Path) -> None:
    assert refused(tmp_path, "no.png").kind == "unreadable"
    (tmp_path / "a.png").write_bytes(b"")
    assert refused(tmp_path, "a.png").kind == "empty"


# -- a file that became something else between the walk and the reading ----------------------------


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Return a collection with one picture, and a place outside with another."""
    inside, outside = tmp_path / "photos", tmp_path / "outside"
    for folder in (inside / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "a.png").write_bytes(good("PNG"))
    assert [w.path for w in walk(os.fsencode(inside))] == [b"sub/a.png"]
    return inside, outside


def test_file_replaced_by_a_link_is_not_followed(places: tuple[Path, Path]) -> None:
    inside, outside = places
    (inside / "sub/a.png").unlink()
    (inside / "sub/a.png").symlink_to(outside / "a.png")
    why = refused(inside, "sub/a.png")
    assert why.kind == "special" and "a link has taken its place" in str(why)
    assert BEYOND in str(refused(inside, "sub/a.png", follow=True))


def test_folder_replaced_by_a_link_is_not_followed(places: tuple[Path, Path]) -> None:
    inside, outside = places
    (inside / "sub").rename(inside / "old")
    (inside / "sub").symlink_to(outside)
    assert refused(inside, "sub/a.png").kind == "special"
    assert BEYOND in str(refused(inside, "sub/a.png", follow=True))
    (inside / "sub").unlink()
    (inside / "sub").symlink_to("old")
    assert refused(inside, "sub/a.png").kind == "special"
    assert answer(read(inside, "sub/a.png", follow=True)).width == 64


def test_folder_whose_name_begins_like_the_collection_is_outside(tmp_path: Path) -> None:
    for name in ("photos", "photos-private"):
        (tmp_path / name).mkdir()
    (tmp_path / "photos-private/a.png").write_bytes(good("PNG"))
    (tmp_path / "photos/a.png").symlink_to(tmp_path / "photos-private/a.png")
    assert BEYOND in str(refused(tmp_path / "photos", "a.png", follow=True))


@pytest.mark.parametrize("follow", [False, True])
def test_file_replaced_by_a_pipe_or_socket_does_not_hang(tmp_path: Path, follow: bool) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert refused(tmp_path, "pipe.png", follow=follow).kind == "special"
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "s.png"))
        assert refused(tmp_path, "s.png", follow=follow).kind == "unreadable"
    (tmp_path / "folder.png").mkdir()
    assert refused(tmp_path, "folder.png", follow=follow).kind == "special"


def test_device_is_not_read(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "zero.png", 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("making a device node needs a privilege this user lacks")
    assert refused(tmp_path, "zero.png").kind in ("special", "unreadable")


def test_descriptors_are_given_back(places: tuple[Path, Path]) -> None:
    inside, _ = places
    os.mkfifo(inside / "sub/pipe.png")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        read(inside, "sub/a.png")
        refused(inside, "sub/pipe.png")
        refused(inside, "sub/none/a.png")
    assert len(os.listdir("/proc/self/fd")) == before


def test_known_content_gets_no_thumbnail_anew(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(good("PNG"))
    (file,) = walk(os.fsencode(tmp_path))
    assert isinstance(file, PictureFile)
    sha = hashlib.sha256(good("PNG")).hexdigest()
    sizes = []
    for known in (sha, "", "0" * 64, None):
        job = request(os.fsencode(tmp_path), file, ReadLimits(), pixels=True, known=known)
        got = answer(read_picture(job.args, memoryview(b""), True))
        assert got.sha == sha and got.rgb is not None
        sizes.append(len(got.thumbnail) > 0)
    assert sizes == [False, False, True, True]


# -- a worker that was taken over ----------------------------------------------------------------

LIES: dict[str, Json] = {
    "sha": None, "thumbnail": -1, "shape": [1, 1, 1], "size": "big", "width": 1 << 70,
    "taken": [1], "words": "none", "problems": {"a": 1},
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(set(LIES) - {"sha"}))
def test_answer_that_makes_no_sense_is_refused(tmp_path: Path, field: str) -> None:
    (tmp_path / "a.png").write_bytes(good("PNG"))
    true = read(tmp_path, "a.png")
    answer(true)
    with pytest.raises(ValueError):
        answer(Done({**true.value, field: LIES[field]}, true.blob))
    with pytest.raises(KeyError):
        answer(Done({k: v for k, v in true.value.items() if k != field}, true.blob))


@pytest.mark.parametrize(
    ("shape", "n"),
    [
        ([0, 64, 3], 0),
        ([48, 192, 1], 9216),
        ([48, 192], 9216),
        ([48, 64, 4], 9216),
        ([7, 7, 3], 9216),
    ],
)
def test_picture_of_a_wrong_shape_is_refused(tmp_path: Path, shape: list[Json], n: int) -> None:
    (tmp_path / "a.png").write_bytes(good("PNG"))
    true = read(tmp_path, "a.png")
    small = len(true.blob) - 48 * 64 * 3
    with pytest.raises(ValueError):
        answer(Done({**true.value, "shape": shape}, true.blob[: small + n]))


def test_text_that_cannot_be_stored_is_made_storable() -> None:
    done = Done({"words": [["txt", ["\udc80tree"], "\ud800"]], "problems": []})
    assert words_of(done) == (Tags("txt", ("?tree",), "?"),)
