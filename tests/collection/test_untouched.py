"""The promise to owners: nothing inside the collection ever changes, and nothing goes out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factories.photos import fingerprint, make_photo, make_photos

COMMANDS: list[list[str]] = [
    ["index", "--dry-run"],
    ["index", "--workers", "1", "--folder-words"],
    ["index", "--retry"],
    ["index", "--workers", "1", "--features", "color"],
    ["similar", "000.jpg", "--not", "001.jpg", "--why"],
    ["duplicates"],
    [],
    ["search", "tree snow"],
    ["search", "tree", "--json"],
    ["doctor"],
    ["doctor", "--skipped"],
    ["store", "verify"],
    ["store", "repair"],
    ["store", "rollback", "--list"],
    ["store", "rollback"],
    ["store", "purge", "000.jpg", "--yes"],
    ["index"],
]
# Every socket and every file opened for writing is reported by the interpreter's audit hook.
WATCHED = """
import json, os, sys
def watch(event, args):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"):
        sys.stderr.write(f"NETWORK {event} {args}\\n")
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        path = os.fspath(args[0]) if not isinstance(args[0], int) else ""
        path = os.fsdecode(path)
        if path.startswith(sys.argv[1]):
            sys.stderr.write(f"WRITES {path}\\n")
sys.addaudithook(watch)
from sightline.cli import main
for command in json.loads(sys.argv[2]):
    sys.stderr.write(f"COMMAND {command}\\n")
    try:
        main([*command, *sys.argv[3:]])
    except SystemExit as ended:
        if ended.code:
            raise
"""


def run(photos: Path, store: Path, *commands: list[str]) -> str:
    """Run commands one after another in a process that is watched; return what they said."""
    where = ["-C", str(photos), "--store", str(store)]
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED, str(photos), json.dumps(commands), *where],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("COMMAND ") == len(commands)
    return ran.stderr


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = make_photos(tmp_path / "photos")
    make_photo(folder / "sub" / "deep" / "x.jpg", 40)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8 broken")
    os.utime(folder / "sub", ns=(10**18, 10**18))
    return folder


def test_every_command_leaves_the_collection_as_it_was(tmp_path: Path, photos: Path) -> None:
    before = fingerprint(photos)
    more = [
        ["store", "backup", str(tmp_path / "copy")],
        ["search", "tree", "--sheet", str(tmp_path / "sheet.png")],
        *(["export", form, f"{tmp_path}/out/"] for form in ("csv", "json", "coco", "xmp")),
        ["export", "xmp", "--into-collection", "--dry-run"],
    ]
    said = run(photos, tmp_path / "store", *COMMANDS, *more)
    # What is wrong stands below the command that did it.
    assert "WRITES" not in said and "NETWORK" not in said, said
    assert fingerprint(photos) == before, said


def test_the_watch_would_notice(tmp_path: Path, photos: Path) -> None:
    code = WATCHED.partition("from sightline")[0] + "open(sys.argv[1] + '/new', 'w').close()"
    ran = subprocess.run([sys.executable, "-c", code, str(photos)], capture_output=True, text=True)
    assert "WRITES" in ran.stderr
    assert str(photos / "new") in fingerprint(photos)


@pytest.fixture
def read_only(tmp_path: Path, photos: Path) -> Iterator[Path]:
    place = tmp_path / "mounted"
    place.mkdir()
    bound = subprocess.run(["mount", "--bind", str(photos), str(place)], capture_output=True)
    if bound.returncode:
        pytest.skip("a bind mount needs privileges")
    subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_every_command_works_on_a_read_only_collection(tmp_path: Path, read_only: Path) -> None:
    with pytest.raises(OSError, match="Read-only"):
        (read_only / "x").write_text("x")
    run(read_only, tmp_path / "store", *COMMANDS)


def test_a_read_only_store_can_be_searched(tmp_path: Path, photos: Path) -> None:
    store = tmp_path / "store"
    run(photos, store, ["index", "--workers", "1"])
    place = tmp_path / "mounted-store"
    place.mkdir()
    if subprocess.run(["mount", "--bind", str(store), str(place)], capture_output=True).returncode:
        pytest.skip("a bind mount needs privileges")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        run(photos, place, ["search", "tree"])
        run(photos, place, ["store", "verify"])
        where = ["-C", str(photos), "--store", str(place)]
        ran = subprocess.run(
            [sys.executable, "-m", "sightline", "index", *where], capture_output=True, text=True
        )
        assert ran.returncode in (1, 74) and "read-only" in ran.stderr.lower(), ran.stderr
        assert "Traceback" not in ran.stderr
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
