"""Networks run by onnxruntime: converted once, and cached in the user's cache folder.

The file's name has the checksums of the weights, of the graph and of its own content, so that there
is only one file to write, and a damaged one is detected and made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import MissingExtra, ParameterError
from sightline.features.deep import graph, weights
from sightline.features.deep.network import LITE0, Network

_QUIET = 3  # Errors alone; onnxruntime's warnings concern the graph.


def is_available(network: Network = LITE0) -> bool:
    """Return whether what a network needs is installed; imports nothing."""
    needed = ("onnxruntime", "onnx", network.module)
    return all(util.find_spec(package) is not None for package in needed)


def require(network: Network) -> None:
    """Raise `MissingExtra` unless what a network needs is installed."""
    if not is_available(network):
        raise _missing(network)


def run(network: Network, pixels: NDArray[np.uint8], *outputs: str) -> list[NDArray[np.float32]]:
    """Return the named outputs (see `graph`) for pictures of one size.

    Parameters
    ----------
    network : Network
        Network
    pixels : ndarray of uint8
        Array of uint8, (pictures, height, width, 3)
    outputs : str
        Names from `network.outputs`.
    """
    for name in outputs:
        if name not in network.outputs:
            must_be = f"one of {', '.join(network.outputs)}"
            raise ParameterError.of("outputs", "the deep network", must_be, name)
    results: list[NDArray[np.float32]] = session(network).run(list(outputs), {"pixels": pixels})
    return results


@cache
def session(network: Network) -> Any:
    """Return the onnxruntime session of this process for a network."""
    require(network)
    folder = cache_folder()
    try:
        return _open(load_model(network, folder))
    except ImportError as e:
        raise _missing(network) from e
    except _refusals():
        # The file is intact, yet onnxruntime cannot use it: make it again.
        with contextlib.suppress(OSError):
            for path in _cached(network, folder):
                path.unlink()
        return _open(load_model(network, folder))


def _refusals() -> tuple[type[Exception], ...]:
    """Return the errors of onnxruntime for a file it cannot use; they share no base."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return (
        state.Fail, state.InvalidGraph, state.InvalidProtobuf, state.InvalidArgument,
        state.NoModel, state.NotImplemented, state.RuntimeException,
    )  # fmt: skip


def _missing(network: Network) -> MissingExtra:
    return MissingExtra.of(f"The network {network.name}", "deep")


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder for what can be made again."""
    env = os.environ if environment is None else environment
    base = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME", "~"), ".cache")
    return Path(base).expanduser() / "sightline"


def load_model(network: Network, folder: Path) -> bytes:
    """Return the converted network, from the folder if it has an intact copy."""
    with contextlib.suppress(OSError):
        for path in _cached(network, folder):
            model = path.read_bytes()
            if path.name == _name(network, model):
                return model
            path.unlink()
    return _build(network, folder)


def _cached(network: Network, folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_stem(network)}-*.onnx"))


def _build(network: Network, folder: Path) -> bytes:
    """Convert the weights, and save the result if the folder can be written."""
    model = graph.build_model(network, weights.read_weights(network))
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / _name(network, model), model)
    return model


def _stem(network: Network) -> str:
    return f"{network.name}-{network.sha256[:16]}-graph{graph.GRAPH_VERSION}"


def _name(network: Network, model: bytes) -> str:
    return f"{_stem(network)}-{hashlib.sha256(model).hexdigest()[:16]}.onnx"


def _write(path: Path, content: bytes) -> None:
    """Write to a temporary file and rename it: readers find all of it or nothing."""
    fd, aside = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".part")
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(content)
            f.flush()
            os.fsync(f.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def _open(model: bytes) -> Any:
    import onnxruntime as ort

    ort.disable_telemetry_events()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    # Without onnxruntime's own pool a large picture's memory goes back; it was not slower.
    options.enable_cpu_mem_arena = False
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
