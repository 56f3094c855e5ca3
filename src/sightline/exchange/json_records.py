"""Reads JSON records of other programs one at a time: JSON Lines, or one array of any length.

A record that cannot be parsed is reported with its line number and skipped. In an array nobody can
tell where the next record begins, so reading stops there. Only one record of limited size is in
memory at a time.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from sightline.errors import DataError
from sightline.records import shown

MAX_FILE = 8 << 30
MAX_RECORD = 1 << 20
_PORTION = 1 << 16
_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\r\n"
# Bytes that are not UTF-8 are decoded to these; escapes of JSON are not decoded yet.
_NO_TEXT = re.compile("[\udc80-\udcff]")
_TOO_LONG = "a record of more than {:,} characters"


class Record(NamedTuple):
    """A JSON object and the line it begins on."""

    line: int
    body: dict[str, object]


Problem = Callable[[int, str], None]
Advance = Callable[[int], None]


def read_records(path: str, problem: Problem, advance: Advance) -> Iterator[Record]:
    """Yield the objects of a file.

    Parameters
    ----------
    path : str
        The file.
    problem : callable
        Called with the line of a record that cannot be read, and the reason.
    advance : callable
        Called with the number of bytes read.

    Raises
    ------
    DataError
        There is no such file, or it is not a text file of limited size.
    """
    _check(path)
    try:
        with open(path, "rb") as file:
            head = file.read(_PORTION)
            file.seek(0)
            _check_text(path, head)
            text = head.removeprefix(_BOM).lstrip()
            read = _of_array if text.startswith(b"[") else _of_lines
            yield from read(file, problem, advance)
    except OSError as error:
        raise DataError(f"{_name(path)} cannot be read: {error.strerror}.") from error


def _check(path: str) -> None:
    try:
        about = os.stat(path)
    except (OSError, ValueError) as error:
        raise DataError(
            f"There is no file {_name(path)} that can be read ({_reason(error)})."
        ) from error
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"{_name(path)} is not a file. Name the file that the log is in.")
    if about.st_size > MAX_FILE:
        raise DataError(
            f"{_name(path)} has {about.st_size:,} bytes; at most {MAX_FILE:,} are read. "
            "Split it into several files."
        )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _check_text(path: str, head: bytes) -> None:
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise DataError(
            f"{_name(path)} is compressed. Decompress it first, for example with gunzip."
        )
    if b"\0" in head:
        raise DataError(
            f"{_name(path)} is not text: it contains zero bytes. Expected JSON in UTF-8, one "
            "record a line or one array."
        )


def _name(path: str) -> str:
    return shown(os.fsencode(path))


# -- one record a line -------------------------------------------------------------------------


def _of_lines(file: BinaryIO, problem: Problem, advance: Advance) -> Iterator[Record]:
    number = 0
    while line := file.readline(MAX_RECORD + 1):
        number += 1
        advance(len(line))
        if len(line) > MAX_RECORD:
            problem(number, f"the line has more than {MAX_RECORD:,} bytes")
            _skip_line(file, line, advance)
            continue
        text = line.removeprefix(_BOM) if number == 1 else line
        if text.strip():
            yield from _record(text, number, problem)


def _skip_line(file: BinaryIO, line: bytes, advance: Advance) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(_PORTION)
        advance(len(line))


def _record(text: bytes, number: int, problem: Problem) -> Iterator[Record]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem(number, f"not JSON ({_short(error)})")
        return
    if isinstance(body, dict):
        yield Record(number, body)
    else:
        problem(number, f"an object is needed. Got {body!r:.60}")


def _short(error: Exception) -> str:
    return str(error)[:120] or type(error).__name__


# -- one array ---------------------------------------------------------------------------------


def _of_array(file: BinaryIO, problem: Problem, advance: Advance) -> Iterator[Record]:
    text = _Text(file, advance)
    text.expect("[")
    decode = json.JSONDecoder().raw_decode
    while True:
        first = text.peek()
        if first in ("]", ""):
            if not first:
                problem(text.line, "the array is never closed; the file may be cut off")
            return
        value = text.decoded(decode)
        if isinstance(value, str):
            problem(text.line, f"not JSON ({value}); the rest of the array is not read")
            return
        line, body, length, invalid = value
        if length > MAX_RECORD:
            problem(line, _TOO_LONG.format(MAX_RECORD))
        elif invalid:
            problem(line, f"not UTF-8 (byte 0x{invalid:02x})")
        elif isinstance(body, dict):
            yield Record(line, body)
        else:
            problem(line, f"an object is needed. Got {body!r:.60}")
        if text.peek() == ",":
            text.expect(",")


class _Text:
    """Decodes a file piece by piece, holds what is not consumed yet, and counts lines."""

    def __init__(self, file: BinaryIO, advance: Advance) -> None:
        self._file, self._advance = file, advance
        self._held, self._at, self._ended = "", 0, False
        self._rest = b""
        self.line = 1

    def peek(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        while True:
            while self._at < len(self._held):
                c = self._held[self._at]
                if c not in _SPACE and c != "\ufeff":
                    return c
                self._take(1)
            if not self._more():
                return ""

    def expect(self, c: str) -> None:
        """Consume a character if it is the next one."""
        if self.peek() == c:
            self._take(1)

    def decoded(
        self, decode: Callable[[str, int], tuple[object, int]]
    ) -> tuple[int, object, int, int] | str:
        """Return line, value and length of the next value, or why it cannot be parsed.

        The last number is its first byte that is not UTF-8, 0 if there is none.
        """
        while True:
            try:
                body, end = decode(self._held, self._at)
            except (ValueError, RecursionError) as error:
                # The value may continue beyond what has been read.
                held = len(self._held) - self._at
                if held > MAX_RECORD:
                    return _TOO_LONG.format(MAX_RECORD)
                if isinstance(error, RecursionError) or not self._more(max(held, _PORTION)):
                    return _short(error)
                continue
            line, length = self.line, end - self._at
            bad_byte = _NO_TEXT.search(self._held, self._at, end)
            invalid = ord(bad_byte[0]) - 0xDC00 if bad_byte else 0
            self._take(length)
            return line, body, length, invalid

    def _take(self, n: int) -> None:
        self.line += self._held.count("\n", self._at, self._at + n)
        self._at += n

    def _more(self, n: int = _PORTION) -> bool:
        """Read more of the file; return whether there was more."""
        portion = self._file.read(n)
        self._advance(len(portion))
        if not portion and not self._rest:
            return False
        raw = self._rest + portion
        # A character may be cut in two at the end of a portion.
        cut = _whole(raw) if portion else len(raw)
        self._rest = raw[cut:]
        self._held = self._held[self._at :] + raw[:cut].decode("utf-8", "surrogateescape")
        self._at = 0
        return True


def _whole(raw: bytes) -> int:
    """Return the length of UTF-8 bytes without a character that is cut off at their end.

    >>> _whole("aé".encode()), _whole("aé".encode()[:-1])
    (3, 1)
    """
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte < 0x80:
            return len(raw)
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(raw) if back >= length else len(raw) - back
    return len(raw)
