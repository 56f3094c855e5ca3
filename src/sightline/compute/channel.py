"""The connection to a worker: small messages in a pipe, large ones in shared memory.

Values are sent as JSON and raw bytes, never as pickles: a worker that a hostile picture has taken
over can send us wrong values, but no code. A pipe's buffer holds many small messages, so neither
side ever waits for the other to read.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import struct
from typing import cast

from sightline.contracts import Json
from sightline.errors import ComputeError

DEPTH = 16
SLOT_BYTES = 2 << 20
REGION_BYTES = 2 * DEPTH * SLOT_BYTES
_INLINE = 2048
_TIMEOUT_SECONDS = 5.0
_HEAD = struct.Struct("<IIi")  # total length, length of the JSON part, slot or -1


# With options, `json.dumps` and `loads` would make a new one for each call.
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder()


class Closed(Exception):
    """The other side has closed the connection."""


class Channel:
    """One end of the connection.

    At most `DEPTH` jobs are under way, and job n uses slot n mod DEPTH in both directions, so a
    slot is free again when its answer has been read.

    Parameters
    ----------
    reader, writer : int
        File descriptors of the pipes.
    region : mmap
        The shared memory: the first half is for messages to the worker, the second for answers.
    is_parent : bool
        Whether this is the end of the process that started the worker.
    """

    def __init__(self, reader: int, writer: int, region: mmap.mmap, *, is_parent: bool) -> None:
        self._reader, self._writer, self._region = reader, writer, region
        self._out, self._in = (0, DEPTH) if is_parent else (DEPTH, 0)
        self._is_parent, self._buffer = is_parent, b""
        self._sent = 0

    def send(self, value: dict[str, Json], blob: bytes | memoryview = b"") -> None:
        """Send one message; raise `Closed` if the other side has ended."""
        text = _ENCODER.encode(value).encode("ascii")
        size = len(text) + len(blob)
        if size > SLOT_BYTES:
            raise ComputeError(f"A message of {size} bytes is over the limit of {SLOT_BYTES}.")
        slot = self._sent % DEPTH
        self._sent += 1
        if size <= _INLINE:
            self._write(_HEAD.pack(size, len(text), -1) + text + bytes(blob))
            return
        at = (self._out + slot) * SLOT_BYTES
        self._region[at : at + len(text)] = text
        self._region[at + len(text) : at + size] = bytes(blob)
        self._write(_HEAD.pack(size, len(text), slot))

    def receive(self) -> tuple[dict[str, Json], bytes]:
        """Wait for one message; raise `Closed` if the other side has ended."""
        size, n, slot = _HEAD.unpack(self._read(_HEAD.size))
        if n > size or size > (SLOT_BYTES if slot >= 0 else _INLINE) or slot >= DEPTH:
            raise ComputeError("A worker sent an invalid message.")
        if slot < 0:
            data = self._read(size, started=True)
        else:
            at = (self._in + slot) * SLOT_BYTES
            data = self._region[at : at + size]
        value = _DECODER.decode(data[:n].decode("ascii"))
        if not isinstance(value, dict):
            raise ComputeError("A worker sent an invalid message.")
        return cast(dict[str, Json], value), data[n:]

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except BrokenPipeError as e:
            raise Closed from e

    def _read(self, n: int, started: bool = False) -> bytes:
        if not self._is_parent:
            return self._read_buffered(n)
        parts: list[bytes] = []
        while n:
            # The rest of a message comes at once, unless the other side is hostile.
            if (started or parts) and not self._has_more():
                raise ComputeError("A worker sent an incomplete message.")
            part = os.read(self._reader, n)
            if not part:
                raise Closed
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def _has_more(self) -> bool:
        # Not `select`, which fails for descriptors above 1,023: a server may have that many.
        waiting = select.poll()
        waiting.register(self._reader, select.POLLIN)
        return bool(waiting.poll(_TIMEOUT_SECONDS * 1000))

    def _read_buffered(self, n: int) -> bytes:
        """Read as much as there is at once; only for the side that never waits with `poll`."""
        while len(self._buffer) < n:
            part = os.read(self._reader, 1 << 16)
            if not part:
                raise Closed
            self._buffer += part
        data, self._buffer = self._buffer[:n], self._buffer[n:]
        return data

    def fileno(self) -> int:
        """Return the file descriptor to wait on."""
        return self._reader
