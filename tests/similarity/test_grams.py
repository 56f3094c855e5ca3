"""Gram matrices: their blocks, their budget, their files on disk, their eigenvalues."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, StoreIOError, UsageError
from sightline.similarity import grams
from sightline.similarity.grams import (
    GramCache,
    check_symmetric,
    gram_bytes,
    gram_of,
    inverse_root,
    nearest_psd,
    spectrum,
)
from sightline.similarity.kernels import MeanKernel
from sightline.similarity.likelihood import GaussianBags, LikelihoodKernel
from sightline.similarity.match import MatchKernel
from tests.similarity.test_bags import bags_of

RBF = MeanKernel(("rbf",), (0.7,), (1.0,))


def rows_of(n: int, d: int = 3, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((n, d), dtype=np.float32)


def symmetric(seed: int, n: int) -> NDArray[np.float64]:
    table = np.random.default_rng(seed).normal(size=(n, n))
    return (table + table.T) / 2


def kinds(n: int) -> list[tuple[Any, Any]]:
    """Each kernel with pictures that it takes."""
    bags = bags_of([1 + i % 4 for i in range(n)])
    sparse = sp.csr_matrix(np.where(rows_of(n) > 0.5, rows_of(n), 0))
    return [
        (RBF, (rows_of(n),)),
        (MeanKernel(("linear", "rbf"), (1.0, 2.0), (0.5, 0.5)), (sparse, rows_of(n, 2))),
        (MatchKernel(bandwidth=0.5), bags),
        (LikelihoodKernel(), GaussianBags.of(bags)),
    ]


@pytest.mark.parametrize("which", range(4))
def test_blocks_make_up_the_whole(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grams, "_SIDE", 4)
    kernel, pictures = kinds(11)[which]
    found = gram_of(kernel, pictures)
    assert np.array_equal(found, found.T)
    assert found == pytest.approx(kernel(pictures), abs=1e-6)
    others = grams.some(pictures, slice(2, 5))
    assert gram_of(kernel, pictures, others) == pytest.approx(found[:, 2:5], abs=1e-6)
    chosen = grams.some(pictures, np.array([9, 3]))
    assert gram_of(kernel, chosen, pictures) == pytest.approx(found[[9, 3]], abs=1e-6)
    assert grams.count(pictures) == 11 and grams.count(chosen) == 2


def test_what_is_too_large_is_refused_before_any_memory_is_taken() -> None:
    class Never:
        def __call__(self, pictures: Any, others: Any = None) -> NDArray[np.float32]:
            raise AssertionError("nothing may be computed")

    many = np.broadcast_to(np.float32(1), (100_000, 5))
    assert gram_bytes(100_000) == 40_000_000_000
    with pytest.raises(UsageError) as error:
        gram_of(Never(), (many,))
    assert "100000 by 100000 pictures needs 40000000000 bytes (37.3 GiB)" in str(error.value)
    assert "budget of 2.0 GiB" in str(error.value) and "landmarks" in str(error.value)
    table = rows_of(10)
    with pytest.raises(UsageError, match=r"10 by 10 pictures needs 400 bytes \(400 bytes\)"):
        gram_of(RBF, (table,), budget=399)
    assert gram_of(RBF, (table,), budget=400).shape == (10, 10)


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.parametrize("which", range(4))
def test_a_table_is_computed_once(which: int, tmp_path: Path) -> None:
    kernel, pictures = kinds(6)[which]
    tables = GramCache(tmp_path / "new" / "folder")
    first = tables.gram(kernel, pictures)
    again = GramCache(tmp_path / "new" / "folder")
    assert again.gram(kernel, pictures).tobytes() == first.tobytes()
    assert (tables.n_computed, again.n_computed) == (1, 0)
    assert first == pytest.approx(kernel(pictures), abs=1e-6)
    assert not first.flags.writeable and first.dtype == np.float32
    (file,) = kept(tmp_path / "new" / "folder")
    assert np.array_equal(np.load(file), first), "any program can read it"


def test_whatever_changes_the_table_changes_its_name() -> None:
    tables = GramCache("nowhere")
    a, b = rows_of(5), rows_of(5, seed=1)
    nearly = a.copy()
    nearly[4, 2] = np.nextafter(nearly[4, 2], np.float32(2))
    bags = bags_of([2, 1])
    moved = type(bags)(bags.values, np.array([0, 1, 3]))
    sparse = sp.csr_matrix(a)
    asked: list[tuple[Any, ...]] = [
        (RBF, (a,)),
        (MeanKernel(("rbf",), (np.nextafter(0.7, 1.0),), (1.0,)), (a,)),
        (MeanKernel(("exponential",), (0.7,), (1.0,)), (a,)),
        (RBF, (nearly,)),
        (RBF, (a,), (a,)),
        (RBF, (a,), (b,)),
        (RBF, (b,), (a,)),
        (RBF, (a, b)),
        (RBF, (a.reshape(3, 5),)),
        (RBF, (sparse,)),
        (RBF, (sp.csr_matrix(a[:, ::-1]),)),
        (MatchKernel(), bags),
        (MatchKernel(), moved),
        (MatchKernel("linear"), bags),
        (LikelihoodKernel(), GaussianBags.of(bags)),
    ]
    assert len({tables.key(*call) for call in asked}) == len(asked)
    assert tables.key(RBF, (a.copy(),)) == tables.key(RBF, (a,))
    assert tables.key(RBF, (np.asfortranarray(a),)) == tables.key(RBF, (a,))


def cut(content: bytes) -> bytes:
    return content[:-70]


def flipped(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 1]) + content[201:]


def other_shape(content: bytes) -> bytes:
    return content.replace(b"(6, 6)", b"(4, 9)")


def in_python(content: bytes) -> bytes:
    return content.replace(b"'<f4'", b"'|O' ")


@pytest.mark.parametrize(
    "damage", [cut, flipped, other_shape, in_python, lambda c: b"", lambda c: b"x" * len(c)]
)
def test_a_damaged_file_is_computed_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    tables, pictures = GramCache(tmp_path), (rows_of(6),)
    wanted = tables.gram(RBF, pictures).copy()
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    assert damage(whole) != whole
    file.write_bytes(damage(whole))
    assert np.array_equal(tables.gram(RBF, pictures), wanted)
    assert tables.n_computed == 2 and file.read_bytes() == whole


def test_a_whole_file_of_another_shape_is_computed_again(tmp_path: Path) -> None:
    tables, pictures = GramCache(tmp_path), (rows_of(6),)
    wanted = tables.gram(RBF, pictures).copy()
    (file,) = kept(tmp_path)
    wrong: Any
    for wrong in (wanted[:4], wanted.astype(np.float64), np.asfortranarray(wanted + 1)):
        tables._write(file, wrong)
        assert np.array_equal(tables.gram(RBF, pictures), wanted)
    pickled = in_python(file.read_bytes()[:-32])
    file.write_bytes(pickled + hashlib.sha256(pickled).digest())
    assert np.array_equal(tables.gram(RBF, pictures), wanted)
    assert tables.n_computed == 5


def test_a_full_disk_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreIOError, match=r"Cannot keep a kernel's table .* No space left"):
        GramCache(tmp_path).gram(RBF, (rows_of(6),))
    assert not kept(tmp_path)


def test_a_file_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flushed(fd: int) -> None:
        said.append("fsync")
        fsync(fd)

    def renamed(old: Any, new: Any) -> None:
        said.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    GramCache(tmp_path).gram(RBF, (rows_of(3),))
    assert said == ["fsync", "rename", "fsync"]


def test_a_cache_has_a_budget_and_needs_kernels_it_can_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs 400 bytes"):
        GramCache(tmp_path, budget=100).gram(RBF, (rows_of(10),))
    with pytest.raises(UsageError, match="Only kernels that are dataclasses"):
        GramCache(tmp_path).gram(lambda a, b=None: a[0], (rows_of(3),))

    @dataclass(frozen=True)
    class Own:
        power: int = 2

        def __call__(self, pictures: Any, others: Any = None) -> NDArray[np.float32]:
            b = pictures if others is None else others
            return np.asarray((pictures[0] @ b[0].T) ** self.power, dtype=np.float32)

    tables = GramCache(tmp_path)
    assert np.array_equal(tables.gram(Own(), (rows_of(3),)), Own()((rows_of(3),)))
    empty = tables.gram(RBF, (rows_of(0),))
    assert empty.shape == (0, 0)


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_the_nearest_psd_is_psd_and_the_nearest(seed: int, n: int) -> None:
    table = symmetric(seed, n)
    found = nearest_psd(table)
    values, vectors = np.linalg.eigh(table)
    assert found == pytest.approx(vectors * np.maximum(values, 0) @ vectors.T, abs=1e-5)
    assert found.dtype == np.float32 and np.array_equal(found, found.T)
    assert np.linalg.eigvalsh(found.astype(np.float64)).min() > -1e-5
    own = np.linalg.norm(found - table)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        half = rng.normal(size=(n, n))
        other = found + 0.1 * half @ half.T
        assert own <= np.linalg.norm(other - table) + 1e-5


def test_a_psd_table_stays_as_it_is() -> None:
    table = RBF((rows_of(20),))
    assert nearest_psd(table) == pytest.approx(table, abs=1e-6)
    assert np.array_equal(nearest_psd(np.eye(3)), np.eye(3))
    assert nearest_psd(np.zeros((0, 0))).shape == (0, 0)


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_spectra(seed: int, n: int) -> None:
    table = symmetric(seed, n)
    values = np.linalg.eigvalsh(table)
    found = spectrum(table)
    assert (found.largest, found.smallest) == pytest.approx((values[-1], values[0]))
    assert found.n_negative == (values < -1e-5).sum()
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert found.negative_share == pytest.approx(share, abs=1e-5)
    assert found.worst == pytest.approx(max(0.0, -values[0]) / np.abs(values).max(), abs=1e-5)


def test_spectra_of_inner_products_have_no_negative_share() -> None:
    found = spectrum(gram_of(MeanKernel(("linear",), (1.0,), (1.0,)), (rows_of(200, 3),)))
    assert (found.n_negative, found.negative_share, found.worst) == (0, 0.0, 0.0)
    assert spectrum(np.zeros((2, 2))).negative_share == 0.0


def test_landmarks_at_all_pictures_give_the_kernel_back() -> None:
    table = RBF((rows_of(12),))
    coordinates = table @ inverse_root(table)
    assert coordinates @ coordinates.T == pytest.approx(table, abs=1e-4)
    twins = np.ones((3, 3))
    assert inverse_root(twins).shape == (3, 1)
    assert inverse_root([[1.0, 2.0], [2.0, 1.0]]).shape == (2, 1), (
        "negative directions are left out"
    )
    assert inverse_root(np.zeros((2, 2))).shape == (2, 0)


def test_tables_that_are_none_are_refused() -> None:
    for call in (spectrum, nearest_psd, inverse_root):
        with pytest.raises(DataError, match=r"must be square. Got shape \(2, 3\)"):
            call(np.ones((2, 3)))
        with pytest.raises(DataError, match=r"must be symmetric. Two numbers differ by 1"):
            call([[0, 1], [2, 0]])
        with pytest.raises(DataError, match="must be finite"):
            call([[0, np.nan], [np.nan, 0]])
    for call in (spectrum, inverse_root):
        with pytest.raises(DataError, match="at least one picture"):
            call(np.zeros((0, 0)))
    check_symmetric(np.array([[1.0, 1.0], [1.0 + 1e-6, 1.0]]))
    far = np.eye(600)
    far[599, 3] = 0.5
    with pytest.raises(DataError, match=r"differ by 0.5"):
        check_symmetric(far)
