"""Models on disk: `model.json` describes a model, `arrays.safetensors` holds its numbers.

Neither can run code. A model is written atomically under a name made from its content; when it is
read, its checksums and the types, shapes and finiteness of its numbers are checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.errors import StoreDamaged
from sightline.store.durable import file_sha256, make_folder, sync_folder, write_file
from sightline.store.shards import open_arrays, write_arrays
from sightline.store.versions import ARRAY_FILE
from sightline.vectors import Fingerprint

_ARRAYS = "arrays.safetensors"
_MODEL_FOLDER = re.compile(r"[\w-]+-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A model as it was read.

    Attributes
    ----------
    name : str
        Its kind and a digest of its content.
    about : dict
        Its description, as JSON.
    arrays : dict of str to ndarray
        Its numbers, mapped and read-only.
    """

    name: str
    about: dict[str, Json]
    arrays: dict[str, NDArray[Any]]


def save_model(
    folder: Path, kind: str, about: dict[str, Json], arrays: dict[str, NDArray[Any]]
) -> str:
    """Write a model below `folder` and return its name; two equal models get the same name."""
    make_folder(folder)
    written = write_arrays(folder, "arrays", arrays)
    text = json.dumps({"kind": kind, "about": about, "arrays": written.sha256}, sort_keys=True)
    name = str(Fingerprint(kind, hashlib.sha256(text.encode()).hexdigest()[:16]))
    make_folder(folder / name)
    (folder / written.name).replace(folder / name / _ARRAYS)
    sync_folder(folder / name)
    write_file(folder / name, "model.json", [text.encode()])
    return name


def load_model(folder: Path, name: str) -> SavedModel:
    """Read a model; raise `StoreDamaged` if any byte of it is not what was written."""
    path = folder / name
    problems = model_problems(folder, name)
    if problems:
        raise StoreDamaged(f"{problems[0]}. Run: sightline store repair")
    about = json.loads((path / "model.json").read_bytes())["about"]
    arrays = open_arrays(path / _ARRAYS)
    for key, a in arrays.items():
        if a.dtype.kind == "f" and not np.isfinite(a).all():
            raise StoreDamaged(
                f"The model {path} holds numbers that are not finite, in {key!r}. "
                "Run: sightline store repair"
            )
    return SavedModel(name, about, arrays)


def arrays_file(folder: Path, name: str) -> Path:
    """Return the file of a model's numbers, for callers that map it themselves."""
    return folder / name / _ARRAYS


def open_model(folder: Path, name: str) -> SavedModel:
    """Map a model without reading its numbers: its description is checked, they are not."""
    path = folder / name
    try:
        text = (path / "model.json").read_bytes()
    except OSError as e:
        raise StoreDamaged(
            f"The model {path} cannot be read: {e.strerror}. Run: sightline store repair"
        ) from e
    if not _matches_name(text, name):
        raise StoreDamaged(
            f"{path}/model.json is not what was written. Run: sightline store repair"
        )
    return SavedModel(name, json.loads(text)["about"], open_arrays(path / _ARRAYS))


def _matches_name(text: bytes, name: str) -> bool:
    """Return whether a description belongs to the model of a name."""
    digest, kind = hashlib.sha256(text).hexdigest()[:16], json.loads(text)["kind"]
    return bool(Fingerprint.parse(name) == Fingerprint(kind, digest))


def model_problems(folder: Path, name: str) -> list[str]:
    """Return what is wrong with a model: a missing file, a changed byte, another model's name."""
    path = folder / name
    try:
        text = (path / "model.json").read_bytes()
        if not _matches_name(text, name):
            return [f"{path}/model.json is not what was written"]
        if file_sha256(path / _ARRAYS) != json.loads(text)["arrays"]:
            return [f"{path}/{_ARRAYS} is not what was written"]
    except (OSError, ValueError, KeyError, TypeError) as e:
        return [f"The model {path} cannot be read: {e}"]
    return []


def remove_models_except(folder: Path, keep: set[str]) -> None:
    """Remove all models but those of some names."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        is_model = _MODEL_FOLDER.fullmatch(path.name) and not path.is_symlink()
        if is_model and path.is_dir() and path.name not in keep:
            shutil.rmtree(path)
        elif path.is_file() and ARRAY_FILE.fullmatch(path.name):
            path.unlink()
