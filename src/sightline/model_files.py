"""Fitted estimators in files: arrays as safetensors, all else as JSON in the file's header.

Neither can run code, so a file from elsewhere is safe to read. A file is written under a temporary
name and renamed: a reader sees the old model or the new one, never a part.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT, VERSION = "sightline-estimator", 1


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """The content of a model file.

    Attributes
    ----------
    kind : str
        Name of the estimator's class.
    parameters : dict
        The estimator's parameters by name.
    attributes : dict
        Fitted attributes that are not arrays, by name.
    arrays : dict of ndarray
        The arrays that `to_arrays` returned.
    """

    kind: str
    parameters: dict[str, Any]
    attributes: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def write_model(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model; an existing file is replaced once the new one is on the disk."""
    import numpy as np
    from safetensors.numpy import save_file

    header = {
        "format": FORMAT,
        "version": VERSION,
        "class": model.kind,
        "parameters": {k: _plain(k, v, model.kind) for k, v in model.parameters.items()},
        "attributes": {k: _plain(k, v, model.kind) for k, v in model.attributes.items()},
    }
    target = Path(path)
    handle, aside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    try:
        # safetensors writes the bytes as they are in memory, whatever the order of the array.
        arrays = {name: np.asarray(a, order="C") for name, a in model.arrays.items()}
        save_file(arrays, aside, {"sightline": json.dumps(header, sort_keys=True)})
        with open(aside, "rb") as written:
            os.fsync(written.fileno())
        os.replace(aside, target)
    except BaseException:
        os.unlink(aside)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_model(path: str | os.PathLike[str], kind: str) -> ModelFile:
    """Read a model of one class; a file of another class, or of none, is an error."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _header(file.metadata(), path)
            if header["class"] != kind:
                raise DataError(
                    f"{os.fspath(path)} holds a fitted {header['class']}, not a {kind}. "
                    f"Read it with {header['class']}.load."
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise DataError(f"{os.fspath(path)} is not a model file: {error}.") from error
    parameters = {k: _tuples(v) for k, v in header["parameters"].items()}
    return ModelFile(kind, parameters, header["attributes"], arrays)


def _header(metadata: Mapping[str, str] | None, path: str | os.PathLike[str]) -> dict[str, Any]:
    text = (metadata or {}).get("sightline")
    try:
        header = json.loads(text or "null")
    except ValueError:
        header = None
    parts = {"class": str, "parameters": dict, "attributes": dict, "version": int}
    if not (
        isinstance(header, dict)
        and header.get("format") == FORMAT
        and all(isinstance(header.get(name), kind) for name, kind in parts.items())
    ):
        raise DataError(f"{os.fspath(path)} is not a model file: it names no estimator.")
    if header["version"] > VERSION:
        raise DataError(
            f"{os.fspath(path)} was written by a newer Sightline (format {header['version']}, "
            f"known is {VERSION}). Update Sightline to read it."
        )
    return header


def _plain(name: str, value: Any, owner: str) -> Any:
    """Return a value that JSON can represent."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        must_be = "a number, text, or several of them, to be saved"
        raise ParameterError.of(name, owner, must_be, value) from error
    return value


def _tuples(value: Any) -> Any:
    # JSON has no tuples, and parameters of several values are tuples.
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
