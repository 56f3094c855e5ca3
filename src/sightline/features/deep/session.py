"""The network ready to run: converted once, kept in the user's cache folder, loaded by onnxruntime.

The file's name says which weights and which graph it was made from, and the checksum of its own
content, so that one file is all there is to write, and a damaged one is noticed and made again.
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

from sightline.errors import MissingExtra, ParameterError, SightlineError
from sightline.features.deep import network, weights

_PACKAGES = ("onnxruntime", "onnx", weights.PACKAGE)
_STEM = f"efficientnet-lite0-{weights.SHA256[:16]}-graph{network.GRAPH_VERSION}"
_QUIET = 3  # Errors alone; onnxruntime's warnings are for those who write graphs.


def is_available() -> bool:
    """Say whether the extra `deep` is installed; imports nothing."""
    return all(util.find_spec(package) is not None for package in _PACKAGES)


def require() -> None:
    """Raise `MissingExtra` unless the extra `deep` is installed."""
    if not is_available():
        raise MissingExtra.of("The feature 'deep'", "deep")


def run(pixels: NDArray[np.uint8], *outputs: str) -> list[NDArray[np.float32]]:
    """Return the named outputs (see `network`) for pictures of one size.

    Parameters
    ----------
    pixels : array of uint8, (pictures, height, width, 3)
    outputs : str
        Names from `network.OUTPUTS`.
    """
    for name in outputs:
        if name not in network.OUTPUTS:
            known = f"one of {', '.join(network.OUTPUTS)}"
            raise ParameterError.of("outputs", "the deep network", known, name)
    found: list[NDArray[np.float32]] = session().run(list(outputs), {"pixels": pixels})
    return found


@cache
def session() -> Any:
    """Return the onnxruntime session of this process."""
    require()
    folder = cache_folder()
    try:
        return _open(load_model(folder))
    except ImportError as e:
        raise MissingExtra.of("The feature 'deep'", "deep") from e
    except (MemoryError, SightlineError):
        raise
    except Exception:
        # The file is what its maker wrote, yet onnxruntime cannot use it: make it afresh.
        with contextlib.suppress(OSError):
            for path in _kept(folder):
                path.unlink()
        return _open(load_model(folder))


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder for what can be made again."""
    env = os.environ if environment is None else environment
    base = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME", "~"), ".cache")
    return Path(base).expanduser() / "sightline"


def load_model(folder: Path) -> bytes:
    """Return the converted network, from the folder if a sound copy lies there."""
    with contextlib.suppress(OSError):
        for path in _kept(folder):
            model = path.read_bytes()
            if path.name == _name(model):
                return model
            path.unlink()
    return _build(folder)


def _kept(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_STEM}-*.onnx"))


def _build(folder: Path) -> bytes:
    """Convert the weights, and keep the result if the folder can be written."""
    model = network.build_model(weights.read_weights())
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / _name(model), model)
    return model


def _name(model: bytes) -> str:
    return f"{_STEM}-{hashlib.sha256(model).hexdigest()[:16]}.onnx"


def _write(path: Path, content: bytes) -> None:
    """Write aside and rename: whoever looks meanwhile finds all of it or nothing."""
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
