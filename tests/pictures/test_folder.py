"""Walking a folder: every name, no link followed unasked, nothing opened, nothing passed over."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.pictures.folder import PictureFile, SidecarFile, Unreadable, walk
from sightline.records import Skipped, shown
from tests.factories.picture_files import good

NOBODY = 65534
NAMES = [
    b"plain.jpg", b"UPPER.JPEG", b"caf\xe9-\xff\xfe.jpg", b"new\nline.png", b"\ttab.gif",
    b"-rf.webp", b"--store=x.tif", "\u202egpj.exe.jpg".encode(), "שלום.bmp".encode(),
    "e\u0301.jpg".encode(), "\u00e9.jpg".encode(), b"a" * 251 + b".png", b" .jpg", b"a b  c.jpg",
    b"'\"`$(x);&|.jpg", b"*?.jpg", b"\\x41.jpg", b"\x7f\x1b[31m.jpg", "🐱.jpg".encode(),
]  # fmt: skip


def touch(root: Path, *paths: str | bytes) -> None:
    """Make files, each holding a byte."""
    for path in paths:
        full = os.path.join(os.fsencode(root), os.fsencode(path))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(b"x")


def walked(root: Path, **options: bool | tuple[bytes, ...]) -> dict[bytes, str]:
    """Return what the walk yields: "found", or the reason why not, by path."""
    out: dict[bytes, str] = {}
    for item in walk(os.fsencode(root), **options):  # type: ignore[arg-type]
        assert item.path not in out
        out[item.path] = "found" if isinstance(item, PictureFile) else item.reason
    return out


def kinds(root: Path) -> dict[bytes, str]:
    """Return the kind of what was skipped, by path."""
    return {i.path: i.kind for i in walk(os.fsencode(root)) if isinstance(i, Skipped)}


# -- names ---------------------------------------------------------------------------------------


def test_any_name_is_found_in_a_fixed_order(tmp_path: Path) -> None:
    touch(tmp_path, *NAMES, *[b"sub\xff\n/" + n for n in NAMES])
    found = [i.path for i in walk(os.fsencode(tmp_path))]
    assert found == sorted(NAMES) + [b"sub\xff\n/" + n for n in sorted(NAMES)]


def test_any_name_is_indexed_and_found_again(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for i, name in enumerate(NAMES):
        with open(os.path.join(os.fsencode(photos), name), "wb") as f:
            f.write(good("PNG", 8, 8, seed=i))
        with open(
            os.path.join(os.fsencode(photos), os.path.splitext(name)[0] + b".txt"), "wb"
        ) as f:
            f.write(b"word%d" % i)
    c = Collection.open(photos, store=tmp_path / "store")
    report = c.index(compute=InlineCompute())
    assert (report.seen, report.indexed, report.skipped) == (len(NAMES), len(NAMES), ())
    for i, name in enumerate(NAMES):
        # Two names may differ in their ending alone; here none do.
        assert [h.path for h in c.search(f"word{i}").hits] == [name], shown(name)


def test_only_pictures_and_what_people_take_for_them_count(tmp_path: Path) -> None:
    touch(tmp_path, "a.jpg", "b.txt", "c", "jpg", "d.jpg.bak", "e.psd", "f.heic", "g.jpg.txt")
    assert walked(tmp_path) == {
        b"a.jpg": "found",
        b"e.psd": ".psd files are not supported",
        b"f.heic": "found",
    }


def test_hidden_files_and_folders(tmp_path: Path) -> None:
    touch(tmp_path, ".a.jpg", ".thumbs/b.jpg", "c/.d/e.jpg", "f.jpg")
    assert set(walked(tmp_path)) == {b"f.jpg"}
    everything = {b".a.jpg", b".thumbs/b.jpg", b"c/.d/e.jpg", b"f.jpg"}
    assert set(walked(tmp_path, hidden=True)) == everything


def test_excluded_folders_at_any_depth(tmp_path: Path) -> None:
    touch(tmp_path, "raw/a.jpg", "x/raw/b.jpg", "rawer/c.jpg", "raw.jpg")
    (tmp_path / "x/out").symlink_to(tmp_path / "raw")
    assert set(walked(tmp_path, exclude=(b"raw", b"out"))) == {b"rawer/c.jpg", b"raw.jpg"}


def test_word_files_beside_a_picture(tmp_path: Path) -> None:
    touch(tmp_path, "s/a.jpg", "s/a.txt", "s/a.xmp", "s/a.jpg.xmp", "s/b.txt", "a.txt")
    os.utime(tmp_path / "s/a.txt", ns=(5, 7))
    (tmp_path / "s/c.jpg").write_bytes(b"")
    os.mkfifo(tmp_path / "s/c.txt")
    a, c = walk(os.fsencode(tmp_path))
    assert isinstance(a, PictureFile) and isinstance(c, PictureFile)
    assert {s.path for s in a.sidecars} == {b"s/a.txt", b"s/a.xmp", b"s/a.jpg.xmp"}
    assert SidecarFile(b"s/a.txt", 1, 7) in a.sidecars
    assert c.sidecars == ()


# -- links ---------------------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """Return a collection full of links: in, out, round and nowhere."""
    root, outside = tmp_path / "photos", tmp_path / "photos-private"
    touch(root, "real/a.jpg", "b.jpg")
    touch(outside, "secret.jpg")
    targets: dict[str, str | Path] = {
        "in.jpg": "b.jpg", "z-in-folder": "real", "out.jpg": outside / "secret.jpg",
        "out-folder": outside, "etc": "/etc", "passwd.jpg": "/etc/passwd", "up": "..",
        "real/home": root, "nowhere.jpg": "missing.jpg", "1.jpg": "2.jpg", "2.jpg": "3.jpg",
        "3.jpg": "1.jpg", "note.txt": "/etc/passwd",
    }  # fmt: skip
    for name, target in targets.items():
        (root / name).symlink_to(target)
    for a, b in (("x", "y"), ("y", "z"), ("z", "x")):
        touch(root, f"loop/{a}/{a}.jpg")
        (root / f"loop/{a}/to").symlink_to(root / f"loop/{b}")
    return root


FILES = {b"b.jpg", b"real/a.jpg", b"loop/x/x.jpg", b"loop/y/y.jpg", b"loop/z/z.jpg"}


def test_links_are_named_and_not_followed(linked: Path) -> None:
    found = walked(linked)
    assert {p for p, what in found.items() if what == "found"} == FILES
    others = {p: what for p, what in found.items() if what != "found"}
    assert set(others.values()) == {"it is a link; use --follow to read it"}
    assert set(others) == {
        b"in.jpg", b"z-in-folder", b"out.jpg", b"out-folder", b"etc", b"passwd.jpg", b"up",
        b"real/home", b"nowhere.jpg", b"1.jpg", b"2.jpg", b"3.jpg", b"loop/x/to", b"loop/y/to",
        b"loop/z/to",
    }  # fmt: skip
    assert set(kinds(linked).values()) == {"special"}


def test_followed_links_stay_inside_and_end(linked: Path) -> None:
    found = walked(linked, follow=True)
    real = [os.path.realpath(os.path.join(os.fsencode(linked), p)) for p in found]
    inside = os.path.realpath(os.fsencode(linked)) + b"/"
    pictures = {r[len(inside) :] for r, what in zip(real, found.values(), strict=True)
                if what == "found"}  # fmt: skip
    assert pictures == FILES
    assert found[b"in.jpg"] == "found"
    for name in (b"out.jpg", b"out-folder", b"etc", b"passwd.jpg", b"up"):
        assert found[name] == "it is a link to a place outside the collection"
    assert found[b"nowhere.jpg"] == "it cannot be read: No such file or directory"
    for name in (b"1.jpg", b"2.jpg", b"3.jpg"):
        assert found[name] == "it cannot be read: Too many levels of symbolic links"
    assert sum(what == "found" for what in found.values()) == len(FILES) + 1  # in.jpg is b.jpg.


def test_collection_that_is_itself_reached_by_a_link(linked: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(linked)
    assert walked(tmp_path / "way", follow=True) == walked(linked, follow=True)


def test_linked_collection_is_indexed_when_asked(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    (photos / "real").mkdir(parents=True)
    (photos / "real/a.png").write_bytes(good("PNG"))
    (photos / "real/a.txt").write_text("tree")
    (photos / "b.png").symlink_to("real/a.png")
    (photos / "b.txt").symlink_to("real/a.txt")
    (photos / "a-way").symlink_to("real")
    c = Collection.open(photos, store=tmp_path / "store", follow=True)
    report = c.index(compute=InlineCompute())
    assert (report.seen, report.indexed, report.problems) == (2, 2, ())
    assert {h.path for h in c.search("tree").hits} == {b"a-way/a.png", b"b.png"}


# -- special files and folders that cannot be read ------------------------------------------------


def test_pipes_sockets_and_devices_are_named_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "socket.png"))
        found = walked(tmp_path)
    assert found == {
        b"pipe.jpg": "it is a pipe, not a file",
        b"socket.png": "it is a socket, not a file",
    }
    assert set(kinds(tmp_path).values()) == {"special"}


def test_device_is_named(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "zero.jpg", 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("making a device node needs a privilege this user lacks")
    assert walked(tmp_path) == {b"zero.jpg": "it is a device, not a file"}


def test_missing_folder_is_named_not_raised(tmp_path: Path) -> None:
    items = list(walk(os.fsencode(tmp_path / "none")))
    assert items == [Unreadable(b"", "the folder cannot be read: No such file or directory")]


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder any user can reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    monkeypatch.setenv("HOME", str(folder))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o700)
    shutil.rmtree(folder)


@contextmanager
def without_privilege() -> Iterator[None]:
    """Run as a user whom modes of files bind."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
def test_pictures_in_a_folder_that_cannot_be_read_are_kept(open_folder: Path, mode: int) -> None:
    warm = open_folder / "warm"  # Whatever is imported late is imported with the right to.
    warm.mkdir()
    (warm / "a.png").write_bytes(good("PNG"))
    Collection.open(warm, store=open_folder / "warm-store").index(compute=InlineCompute())
    with without_privilege():
        photos = open_folder / "photos"
        touch(photos, "shut/bad.png")
        for i, name in enumerate(("a.png", "shut/b.png", "shut/deep/c.png")):
            (photos / name).parent.mkdir(parents=True, exist_ok=True)
            (photos / name).write_bytes(good("PNG", seed=i))
        c = Collection.open(photos, store=open_folder / "store")
        first = c.index(compute=InlineCompute())
        ids = c.pictures.resolve(["a.png", "shut/b.png", "shut/deep/c.png"])
        os.chmod(photos / "shut", mode)
        second = c.index(compute=InlineCompute())
        os.chmod(photos / "shut", 0o700)
        third = c.index(compute=InlineCompute())
        after = c.pictures.resolve(["a.png", "shut/b.png", "shut/deep/c.png"])
    for report in (first, second, third):
        assert report.seen == report.indexed + len(report.skipped)
        assert report.gone == 0
    assert (first.indexed, third.indexed, after) == (3, 3, ids)
    assert "cannot be read" in "".join((*second.problems, *(s.reason for s in second.skipped)))
    if mode == 0o400:  # Its names can be listed, so the one picture in it is known not to open.
        assert (second.indexed, [s.kind for s in second.skipped]) == (2, ["unreadable"] * 2)
    else:
        assert second.indexed == 3
