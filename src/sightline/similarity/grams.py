"""Gram matrices: tables of a kernel over pictures, within a budget, kept on disk, made positive.

A table of n pictures has n^2 numbers: 80 MB for 4,500 pictures, 40 GB for 100,000. So the memory is
checked against a budget before it is allocated, and a table that took minutes can be saved.

A kernel here is anything that is called with pictures and others and returns their similarities:
`kernels.MeanKernel` of views, `match.MatchKernel` of bags, `likelihood.LikelihoodKernel` of
Gaussians. For those that are no inner products, `spectrum` measures by how much, and `nearest_psd`
corrects a table.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sightline.errors import StoreIOError, UsageError
from sightline.similarity._spectra import (
    Spectrum,
    check_symmetric,
    inverse_root,
    nearest_psd,
    spectrum,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BUDGET",
    "LANDMARKS",
    "MOST_PICTURES",
    "GramCache",
    "Spectrum",
    "check_budget",
    "check_symmetric",
    "gram_bytes",
    "gram_of",
    "inverse_root",
    "nearest_psd",
    "spectrum",
]
BUDGET = 2 << 30
# Above the first number of pictures, the kernel is approximated by as many landmarks as the second.
MOST_PICTURES, LANDMARKS = 6_000, 4_000
_SIDE = 1024
_CHUNK = 1 << 20
_DIGEST = 32
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class PictureKernel(Protocol):
    """A kernel of pictures, in whatever form it takes them."""

    def __call__(self, pictures: Any, others: Any = None, /) -> NDArray[np.float32]: ...


def gram_bytes(n: int, m: int | None = None, itemsize: int = 4) -> int:
    """Return how many bytes a table of n pictures by m others takes; by themselves without m.

    >>> gram_bytes(100_000)
    40000000000
    """
    return int(n) * int(n if m is None else m) * itemsize


def shown_bytes(n: int) -> str:
    """Return a number of bytes as text.

    >>> shown_bytes(40_000_000_000), shown_bytes(900)
    ('37.3 GiB', '900 bytes')
    """
    size, unit = float(n), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{n} bytes"


def check_budget(needed: int, budget: int, what: str, instead: str) -> None:
    """Raise UsageError if a kernel needs more memory than the budget.

    >>> check_budget(gram_bytes(100_000), 2 << 30, "100000 pictures", "Use landmarks.")
    Traceback (most recent call last):
    sightline.errors.UsageError: The kernel of 100000 pictures needs 40000000000 bytes (37.3 GiB), \
more than the budget of 2.0 GiB. Use landmarks.
    """
    if needed > budget:
        raise UsageError(
            f"The kernel of {what} needs {needed} bytes ({shown_bytes(needed)}), "
            f"more than the budget of {shown_bytes(budget)}. {instead}"
        )


def gram_of(
    kernel: PictureKernel,
    pictures: Any,
    others: Any = None,
    *,
    budget: int = BUDGET,
) -> NDArray[np.float32]:
    """Return the table of a kernel, (pictures, others), computed in square blocks.

    Parameters
    ----------
    kernel : PictureKernel
        Called with blocks of pictures.
    pictures, others : tuple of array-like
        Rows, a tuple of views, `Bags` or `GaussianBags`; without others, of the pictures
        themselves, exactly symmetric.
    budget : int, default=2147483648
        Bytes that the table may take.

    Examples
    --------
    >>> from sightline.similarity.kernels import MeanKernel
    >>> gram_of(MeanKernel(("linear",), (1.0,), (1.0,)), (np.eye(2, dtype=np.float32),))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    n = count(pictures)
    m = n if others is None else count(others)
    instead = "Use fewer pictures, such as landmarks, or a linear ranker, or raise the budget."
    check_budget(gram_bytes(n, m), budget, f"{n} by {m} pictures", instead)
    table = np.empty((n, m), dtype=np.float32)
    for rows in _blocks(n):
        for columns in _blocks(m):
            if others is not None:
                table[rows, columns] = kernel(some(pictures, rows), some(others, columns))
            elif columns.start == rows.start:
                table[rows, rows] = kernel(some(pictures, rows))
            elif columns.start > rows.start:
                table[rows, columns] = kernel(some(pictures, rows), some(pictures, columns))
                table[columns, rows] = table[rows, columns].T
    return table


def count(pictures: Any) -> int:
    """Return how many pictures there are in rows, views, bags or Gaussians."""
    first = pictures[0] if isinstance(pictures, tuple) else pictures
    return int(first.shape[0]) if hasattr(first, "shape") else len(first)


def some(pictures: Any, rows: Any) -> Any:
    """Return some of the pictures, by a slice or by their positions."""
    if isinstance(pictures, tuple):
        return tuple(view[rows] for view in pictures)
    if hasattr(pictures, "some") and not isinstance(rows, slice):
        return pictures.some(rows)
    return pictures[rows]


class GramCache:
    """Tables of kernels in a folder, so that what took minutes is computed once.

    A file is named by the SHA-256 of the kernel's parameters and of all bytes of the pictures, and
    ends in the SHA-256 of its content. It is written to a temporary file, flushed and renamed. One
    that is damaged, cut or of another shape is computed again.

    Parameters
    ----------
    folder : str or os.PathLike
        Created if it does not exist.
    budget : int, default=2147483648
        Bytes that a table may take.

    Examples
    --------
    >>> import tempfile
    >>> from sightline.similarity.kernels import MeanKernel
    >>> kernel, views = MeanKernel(("linear",), (1.0,), (1.0,)), (np.eye(2, dtype=np.float32),)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tables = GramCache(folder)
    ...     first, again = tables.gram(kernel, views), tables.gram(kernel, views)
    ...     tables.n_computed, first.tolist() == again.tolist()
    (1, True)
    """

    def __init__(self, folder: str | os.PathLike[str], budget: int = BUDGET) -> None:
        self.folder, self.budget = Path(folder), budget
        self.n_computed = 0

    def gram(self, kernel: PictureKernel, pictures: Any, others: Any = None) -> NDArray[np.float32]:
        """Return the table, read-only and mapped from its file; computed if there is none."""
        shape = count(pictures), count(pictures if others is None else others)
        path = self.folder / f"{self.key(kernel, pictures, others)}.npy"
        saved = _opened(path, shape)
        if saved is None:
            table = gram_of(kernel, pictures, others, budget=self.budget)
            self.n_computed += 1
            self._write(path, table)
            saved = _opened(path, shape)
            if saved is None:
                table.flags.writeable = False
                return table
        return saved

    def key(self, kernel: PictureKernel, pictures: Any, others: Any = None) -> str:
        """Return the name under which a table is kept."""
        digest = hashlib.sha256(kernel_text(kernel).encode())
        for part in (pictures, others):
            digest.update(b"|")
            for array in _arrays(part):
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        return digest.hexdigest()

    def _write(self, path: Path, table: NDArray[np.float32]) -> None:
        aside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with open(aside, "xb") as f:
                    np.lib.format.write_array(f, table, allow_pickle=False)
                with open(aside, "r+b") as f:
                    digest = hashlib.file_digest(f, "sha256").digest()
                    f.seek(0, os.SEEK_END)
                    f.write(digest)
                    f.flush()
                    os.fsync(f.fileno())
                os.replace(aside, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
                raise
            _sync_folder(self.folder)
        except OSError as e:
            raise StoreIOError(
                f"Cannot keep a kernel's table in {self.folder}: {e.strerror or e}. "
                "Name another folder, or free some space."
            ) from e


def kernel_text(kernel: PictureKernel) -> str:
    """Return the identity of a kernel: its name and all its parameters."""
    if not dataclasses.is_dataclass(kernel):
        raise UsageError(
            "Only kernels that are dataclasses can be identified and saved on disk. "
            f"Got {type(kernel).__name__}."
        )
    return f"{type(kernel).__module__}.{kernel!r}"


def _arrays(pictures: Any) -> Iterator[NDArray[Any]]:
    """Yield all arrays that pictures are made of, in a fixed order."""
    if pictures is None:
        return
    if isinstance(pictures, tuple):
        for view in pictures:
            yield from _arrays(view)
    elif hasattr(pictures, "tocsr"):
        table = pictures.tocsr()
        yield np.array(table.shape)
        yield from (table.indptr, table.indices, table.data)
    elif dataclasses.is_dataclass(pictures):
        for field in dataclasses.fields(pictures):
            yield np.asarray(getattr(pictures, field.name))
    else:
        yield np.asarray(pictures)


def _opened(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """Return the table in a file, or None where there is no valid one."""
    try:
        if not _is_whole(path):
            return None
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return None
    if table.shape != shape or table.dtype != np.float32 or not table.flags.c_contiguous:
        return None
    return np.asarray(table)


def _is_whole(path: Path) -> bool:
    left = path.stat().st_size - _DIGEST
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while left > 0:
            part = f.read(min(left, _CHUNK))
            if not part:
                return False
            digest.update(part)
            left -= len(part)
        return f.read() == digest.digest()


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _SIDE):
        yield slice(start, min(start + _SIDE, n))
