"""Tokens that are kept in files: of the owner's alone, whole, and nothing else in their place."""

from __future__ import annotations

import os
import signal
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sightline.errors import SightlineError, StoreIOError, UsageError
from sightline.web.serving.tokens import kept_token

GOOD = "x" * 43


def make() -> str:
    return GOOD


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """End a test that waits for somebody to write into a pipe."""
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_one_is_made_once_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    assert kept_token(file, make) == GOOD
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert kept_token(file, lambda: "another") == GOOD


def _link(at: Path) -> None:
    (at.parent / "real").write_text(GOOD)
    (at.parent / "real").chmod(0o600)
    at.symlink_to(at.parent / "real")


def _bind(at: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(at))


def _file(text: bytes, mode: int = 0o600) -> Callable[[Path], None]:
    def write(at: Path) -> None:
        at.write_bytes(text)
        at.chmod(mode)

    return write


ODD: list[tuple[Callable[[Path], object], str]] = [
    (Path.mkdir, "is no file"),
    (_link, "is a link"),
    (lambda at: at.symlink_to(at.parent / "nothing"), "is a link"),
    (lambda at: at.symlink_to(at), "is a link"),
    (lambda at: os.mkfifo(at, 0o600), "is no file"),
    (_bind, "cannot be read|is no file"),
    (_file(GOOD.encode(), 0o640), "Others can read"),
    (_file(GOOD.encode(), 0o604), "Others can read"),
    (_file(b""), "Got 0 bytes"),
    (_file(b" \n\n"), "Got 0 bytes"),
    (_file(b"short"), "Got 5 bytes"),
    (_file(b"x" * 21), "Got 21 bytes"),
    (_file(b"x" * 1_001), "Got more than 1000"),
    (_file(b"x" * 40_000_000), "Got more than 1000"),
    (_file(b"two words" * 9), "plain characters"),
    (_file(b"two\nlines" * 9), "plain characters"),
    (_file("\u00e9".encode() * 30), "plain characters"),
    (_file(bytes(30)), "plain characters"),
]


@pytest.mark.parametrize(("lay", "said"), ODD)
def test_what_is_no_token_of_ones_own_is_said_in_a_line(
    tmp_path: Path, lay: Callable[[Path], object], said: str
) -> None:
    file = tmp_path / "token"
    lay(file)
    with pytest.raises(SightlineError, match=said) as e:
        kept_token(file, make)
    assert str(file) in str(e.value) and "\n" not in str(e.value)
    # Nothing of what it holds is told.
    assert "short" not in str(e.value) and "two" not in str(e.value)


@pytest.mark.parametrize("name", ["no/such/token", "x" * 300, "a\0b", "\udcff\n"])
def test_places_where_none_can_be_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain").write_text("")
    below = tmp_path / "plain" / name
    with pytest.raises(StoreIOError, match="cannot be made") as e:
        kept_token(below, make)
    assert "\n" not in str(e.value) and str(e.value).isprintable()


def test_a_file_of_another_user_is_neither_read_nor_believed() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        file = Path(folder, "token")
        _file(GOOD.encode())(file)
        os.seteuid(65534)
        try:
            with pytest.raises(StoreIOError, match="cannot be read: Permission denied"):
                kept_token(file, make)
        finally:
            os.seteuid(0)
        os.chown(file, 65534, 65534)
        with pytest.raises(UsageError, match="another user"):
            kept_token(file, make)


def test_a_disk_that_is_full_leaves_no_half_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreIOError, match="No space left"):
        kept_token(tmp_path / "token", make)
    assert not (tmp_path / "token").exists()
