"""The wire between us and a worker: small frames in a pipe, large ones in shared memory.

Values travel as JSON and raw bytes, never as pickles: a worker that a hostile picture has taken
over can send us wrong values, but nothing that runs. Small frames fit into a pipe's buffer many
times over, so neither side ever waits for the other to read.
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
_REST_SECONDS = 5.0
_HEAD = struct.Struct("<IIi")  # whole length, length of the JSON part, slot or -1


# `json.dumps` and `loads` make a new one of each for every call that is not the plainest.
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder()


class Closed(Exception):
    """The other side is gone."""


class Channel:
    """One end of the wire; we send in the first half of the region, the worker in the other.

    At most `DEPTH` jobs are under way, and job n uses slot n mod DEPTH in both directions, so a
    slot is free again when its answer has been read.
    """

    def __init__(self, reader: int, writer: int, region: mmap.mmap, *, ours: bool) -> None:
        self._reader, self._writer, self._region = reader, writer, region
        self._out, self._in = (0, DEPTH) if ours else (DEPTH, 0)
        self._ours, self._buffer = ours, b""
        self._sent = 0

    def send(self, value: dict[str, Json], blob: bytes | memoryview = b"") -> None:
        """Send one frame; raises `Closed` when nobody is there to read it."""
        text = _ENCODER.encode(value).encode("ascii")
        whole = len(text) + len(blob)
        if whole > SLOT_BYTES:
            raise ComputeError(f"A message of {whole} bytes is over the limit of {SLOT_BYTES}.")
        slot = self._sent % DEPTH
        self._sent += 1
        if whole <= _INLINE:
            self._write(_HEAD.pack(whole, len(text), -1) + text + bytes(blob))
            return
        at = (self._out + slot) * SLOT_BYTES
        self._region[at : at + len(text)] = text
        self._region[at + len(text) : at + whole] = bytes(blob)
        self._write(_HEAD.pack(whole, len(text), slot))

    def receive(self) -> tuple[dict[str, Json], bytes]:
        """Wait for one frame."""
        whole, n, slot = _HEAD.unpack(self._read(_HEAD.size))
        if n > whole or whole > (SLOT_BYTES if slot >= 0 else _INLINE) or slot >= DEPTH:
            raise ComputeError("A worker sent a frame that makes no sense.")
        if slot < 0:
            data = self._read(whole, begun=True)
        else:
            at = (self._in + slot) * SLOT_BYTES
            data = self._region[at : at + whole]
        value = _DECODER.decode(data[:n].decode("ascii"))
        if not isinstance(value, dict):
            raise ComputeError("A worker sent a frame that makes no sense.")
        return cast(dict[str, Json], value), data[n:]

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except BrokenPipeError as e:
            raise Closed from e

    def _read(self, n: int, begun: bool = False) -> bytes:
        if not self._ours:
            return self._read_buffered(n)
        parts: list[bytes] = []
        while n:
            # Nobody has to wait long for the rest of a frame, unless the other side plays tricks.
            if (begun or parts) and not self._more_comes():
                raise ComputeError("A worker sent half a frame.")
            part = os.read(self._reader, n)
            if not part:
                raise Closed
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def _more_comes(self) -> bool:
        # Not by `select`, which knows no descriptor above 1,023: a server may have that many.
        waiting = select.poll()
        waiting.register(self._reader, select.POLLIN)
        return bool(waiting.poll(_REST_SECONDS * 1000))

    def _read_buffered(self, n: int) -> bytes:
        """Read as much as there is at once; only for the side that never waits by `poll`."""
        while len(self._buffer) < n:
            part = os.read(self._reader, 1 << 16)
            if not part:
                raise Closed
            self._buffer += part
        out, self._buffer = self._buffer[:n], self._buffer[n:]
        return out

    def fileno(self) -> int:
        """Return the file descriptor to wait on."""
        return self._reader
