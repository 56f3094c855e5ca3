"""A cache of arrays: files in the user's cache folder, or in a temporary one.

A file's name ends in the checksum of its content, so that a damaged one is detected and recomputed.
Arrays are safetensors; nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sightline._typing import Arrays
from sightline.features.deep.session import cache_folder


class ArrayCache:
    """Arrays by name in one folder.

    Examples
    --------
    >>> import numpy as np
    >>> with temporary() as cache:
    ...     _ = cache.put("three", {"a": np.arange(3)})
    ...     cache.get("three")["a"].tolist(), cache.get("four")
    ([0, 1, 2], None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> Arrays | None:
        """Return the arrays of a name; None if there are none, or they are damaged."""
        path = self.path(name)
        if path is None:
            return None
        from safetensors.numpy import load

        arrays: Arrays = load(path.read_bytes())
        return arrays

    def path(self, name: str) -> Path | None:
        """Return the intact file of a name, if any; damaged ones are removed."""
        for path in sorted(self.folder.glob(f"{name}-{'?' * 16}.safetensors")):
            if path.name == f"{name}-{_digest(path.read_bytes())}.safetensors":
                return path
            with contextlib.suppress(OSError):
                path.unlink()
        return None

    def put(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> Path:
        """Store arrays under a name; the file appears complete or not at all."""
        import numpy as np
        from safetensors.numpy import save

        content: bytes = save({k: np.ascontiguousarray(a) for k, a in arrays.items()})
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / f"{name}-{_digest(content)}.safetensors"
        fd, aside = tempfile.mkstemp(dir=self.folder, prefix=f"{name}.", suffix=".part")
        try:
            with os.fdopen(fd, "wb") as f:
                f.write(content)
            os.replace(aside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
        return path


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def kept(dataset: str, checksum: str) -> ArrayCache:
    """Return the cache of a dataset with this checksum, in the user's cache folder."""
    return ArrayCache(cache_folder() / "reproduce" / f"{dataset}-{checksum[:16]}")


@contextlib.contextmanager
def temporary() -> Iterator[ArrayCache]:
    """Yield a cache in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        yield ArrayCache(Path(folder))
