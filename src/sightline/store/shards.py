"""Immutable array files in the safetensors format, read by memory map.

The format is a JSON header and raw little-endian arrays, so nothing in it can run. The reference
library copies each array when reading, so this module parses the header itself and maps the file.
Opening checks the header and the length, not the content (`store verify` does).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import StoreDamaged
from sightline.store.durable import Written, write_file

_TO_NAME = {
    "float32": "F32",
    "float64": "F64",
    "int64": "I64",
    "int32": "I32",
    "uint16": "U16",
    "uint8": "U8",
}
_TO_TYPE = {v: np.dtype(k) for k, v in _TO_NAME.items()}
_HEADER_LIMIT = 16 << 20
_ALIGN = 64

Arrays = Mapping[str, NDArray[Any]]


class Rows:
    """A large array that is written block by block, so that a merge never has it all in memory."""

    def __init__(self, blocks: Iterable[NDArray[Any]], shape: tuple[int, ...], dtype: Any) -> None:
        self.blocks, self.shape, self.dtype = blocks, shape, np.dtype(dtype)


def write_arrays(folder: Path, kind: str, arrays: Mapping[str, NDArray[Any] | Rows]) -> Written:
    """Write arrays to a new file named after its content; return name, checksum and size."""
    return write_file(folder, lambda sha: f"{kind}-{sha[:20]}.safetensors", _serialise(arrays))


def _serialise(arrays: Mapping[str, NDArray[Any] | Rows]) -> Iterator[bytes | memoryview]:
    header: dict[str, Any] = {}
    at = 0
    # The format wants wide types first, so that every array is aligned to its own item size.
    order = sorted(arrays, key=lambda n: (-np.dtype(arrays[n].dtype).itemsize, n))
    for name in order:
        a = arrays[name]
        size = math.prod(a.shape) * np.dtype(a.dtype).itemsize
        header[name] = {
            "dtype": _TO_NAME[np.dtype(a.dtype).name],
            "shape": list(a.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGN)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        a = arrays[name]
        for block in a.blocks if isinstance(a, Rows) else (a,):
            if block.size:
                yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def open_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map a file's arrays into memory, read-only.

    Raises
    ------
    StoreDamaged
        If the file is missing, too short or too long, or its header is invalid.
    """
    try:
        # Plain arrays slice faster than `memmap` ones, and keep the map alive.
        raw: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    except (OSError, ValueError) as e:
        raise _damaged(path, f"cannot be opened ({e})") from e
    if raw.size < 8:
        raise _damaged(path, "is too short to have a header")
    n = int.from_bytes(raw[:8].tobytes(), "little")
    if n > min(_HEADER_LIMIT, raw.size - 8):
        raise _damaged(path, f"has a header length of {n} bytes, more than the file holds")
    try:
        header = json.loads(raw[8 : 8 + n].tobytes())
        return {k: _array(raw[8 + n :], v) for k, v in _checked(header, raw.size - 8 - n)}
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise _damaged(path, f"has an unreadable header ({e})") from e


def _checked(header: dict[str, Any], size: int) -> list[tuple[str, dict[str, Any]]]:
    end = 0
    items = sorted(header.items(), key=lambda kv: kv[1]["data_offsets"])
    for _, v in items:
        start, stop = v["data_offsets"]
        expected = math.prod(v["shape"]) * _TO_TYPE[v["dtype"]].itemsize
        if start != end or stop - start != expected or min(v["shape"], default=0) < 0:
            raise ValueError("array offsets do not fit their shapes")
        end = stop
    if end != size:
        raise ValueError(f"{size} bytes of data where the header promises {end}")
    return items


def _array(data: NDArray[np.uint8], v: dict[str, Any]) -> NDArray[Any]:
    start, stop = v["data_offsets"]
    return data[start:stop].view(_TO_TYPE[v["dtype"]]).reshape(v["shape"])


def _damaged(path: Path, what: str) -> StoreDamaged:
    return StoreDamaged(f"The store's file {path} {what}. Run: sightline store repair")
