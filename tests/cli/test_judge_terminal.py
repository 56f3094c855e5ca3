"""Judging as a person does it: the real command on a terminal, answered as it asks."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sightline.collection import Collection
from tests.factories.judging_collections import judged_collection
from tests.waiting import LIMIT

PROMPT = "fits? [y/n/s, ? for help] "


class Person:
    """Somebody at a terminal."""

    def __init__(self, c: Collection, *arguments: str) -> None:
        self._own, theirs = os.openpty()
        self.run = subprocess.Popen(
            [
                sys.executable, "-m", "sightline", "judge", "-C", os.fsdecode(c.root),
                "--store", str(c.store_folder.path), "--no-thumbnails", *arguments,
            ],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            # Work begun in the background has interrupts ignored, and so have its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        os.close(theirs)

    def sees(self) -> str:
        """Return all that is written up to the next question, or to the end."""
        text = b""
        while not text.endswith(PROMPT.encode()):
            ready, _, _ = select.select([self._own], [], [], LIMIT)
            assert ready, f"nothing more came after {text!r}"
            try:
                part = os.read(self._own, 65_536)
            except OSError:  # What a terminal says once nobody has it open.
                break
            if not part:
                break
            text += part
        return text.decode().replace("\r\n", "\n")

    def says(self, line: str) -> str:
        """Type a line and return what comes of it, without its echo."""
        os.write(self._own, f"{line}\n".encode())
        return self.sees().removeprefix(f"{line}\n")

    def leaves(self, key: bytes) -> tuple[str, int]:
        """Press a key that ends it; return the last words and the exit status."""
        os.write(self._own, key)
        text, status = self.sees(), self.run.wait(LIMIT)
        os.close(self._own)
        return text, status


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return judged_collection(tmp_path)


def test_a_dialogue_on_a_terminal(c: Collection) -> None:
    person = Person(c, "--query", "word2", "-t", "3")
    first = person.sees().split("\n")
    assert [line.split("\t")[0] for line in first[:3]] == ["1", "2", "3"]
    name = Path(first[0].split("\t")[2]).name
    assert first[3] == f"1 {name} {PROMPT}"
    assert "save WORD: make a word of the session" in person.says("?")
    assert "'maybe' is no answer" in person.says("maybe")
    assert person.says("y").startswith("2 ")
    assert person.says("u").split("\n") == [f"undid the judgement of {name}", first[3]]
    assert "the untrained order" in person.says("why 1")
    assert "There are hits 1 to 3. Got 7." in person.says("7 n")
    # Rounds are told apart by an empty line, and the others that were asked for come.
    others = person.says("")
    assert others.startswith("\n1\t") and name not in others
    learnt = person.says("1,2 y").replace("\n", "") + person.says("n")
    assert "round 1: 2 fit, 1 do not. Of pairs of both" in learnt
    last, status = person.leaves(b"\x04")
    assert status == 0 and last.startswith("\nsession ")
    (state,) = c.sessions.all()
    assert (state.positive, state.negative, state.undone) == (2, 1, 1)
    assert last.strip().endswith(f"sightline judge --resume {state.id}")


def test_what_was_said_before_an_interrupt_is_kept(c: Collection) -> None:
    person = Person(c, "--like", "1", "-t", "4")
    person.sees()
    person.says("1-2 y")
    person.run.send_signal(signal.SIGINT)
    last, status = person.leaves(b"")
    assert status == 130 and "\nsession " in last and "Traceback" not in last
    (state,) = c.sessions.all()
    assert (state.positive, state.negative) == (2, 0)
