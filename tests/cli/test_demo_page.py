"""The demo ends by offering the page: asked of whoever sits at a terminal, and of nobody else."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.factories.photos import make_photos
from tests.waiting import LIMIT

ASK = """
import click, sys
from pathlib import Path
from sightline.cli.demo import _offer_page

@click.command()
def demo():
    return _offer_page(Path(sys.argv[1]), Path(sys.argv[2]))

sys.exit(demo.main(args=[], standalone_mode=False))
"""


def offered(folder: Path, answer: bytes, until: bytes, **environment: str) -> tuple[str, int]:
    """Have it offered at a terminal and answer; return all that was written, and the status.

    Once `until` is seen after the answer, Ctrl-C is pressed.
    """
    terminal, theirs = os.openpty()

    def begin() -> None:
        # Its own terminal, whose Ctrl-C counts, whatever this process was begun with.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    places = [str(folder / "photos"), str(folder / "store")]
    given = {k: v for k, v in os.environ.items() if k != "CI"} | environment
    run = subprocess.Popen(
        [sys.executable, "-c", ASK, *places], stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=begin, env=given,
    )  # fmt: skip
    os.close(theirs)
    text = b""
    try:
        text = _talked(terminal, answer, until)
    finally:
        os.close(terminal)
        if run.poll() is None and not text:
            run.kill()
    return text.decode(), run.wait(LIMIT)


def _talked(terminal: int, answer: bytes, until: bytes) -> bytes:
    """Answer at a terminal, and return all that was written there until nobody has it open."""
    text, answered, tries = b"", False, 0
    more = select.poll()
    more.register(terminal, select.POLLIN)
    while True:
        if not more.poll(5_000):
            # A key that came while the program was not listening yet is pressed again.
            tries += 1
            assert tries < LIMIT / 5, f"nothing more came after {text!r}"
            if answered and answer == b"\x03":
                os.write(terminal, answer)
            continue
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # What a terminal says once nobody has it open.
            break
        if not part:
            break
        text += part
        if b"[y/N]" in text and not answered:
            answered = True
            os.write(terminal, answer)
        if until and until in text:
            until = b""
            os.write(terminal, b"\x03")
    return text


def test_who_says_yes_gets_an_address_for_the_browser(tmp_path: Path) -> None:
    from sightline.collection import Collection
    from sightline.compute.inline import InlineCompute

    photos = make_photos(tmp_path / "photos")
    c = Collection.open(photos, store=tmp_path / "store")
    c.index(features=["color"], compute=InlineCompute())
    said, status = offered(tmp_path, b"y\n", b"For programs")
    assert "Open the page now? [y/N]" in said and "/login?code=" in said
    assert status == 0


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"\x04", b"\x03"])
def test_who_says_anything_else_is_left_alone(tmp_path: Path, answer: bytes) -> None:
    said, status = offered(tmp_path, answer, b"")
    assert "Open the page now?" in said and "login" not in said and status == 0


def test_machines_are_not_asked(tmp_path: Path) -> None:
    said, status = offered(tmp_path, b"y\n", b"", CI="true")
    assert (said, status) == ("", 0)
