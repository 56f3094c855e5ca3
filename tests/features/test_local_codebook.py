"""Codebooks and colours: exact assignment, the same seed the same bytes, no centre wasted."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.features.local.codebook import (
    ReducedCodebook,
    assign,
    codebook,
    distinct,
    quantization_error,
)
from sightline.features.local.color import choose_colors, color_table, sample_pixels, table_indices
from tests.naive import local as naive

Floats = NDArray[np.float32]


def clustered(n: int, length: int = 12, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(40, length))
    width = rng.uniform(0.05, 0.5, (40, 1))
    chosen = rng.integers(0, 40, n)
    points = middles[chosen] + width[chosen] * rng.normal(size=(n, length))
    return np.asarray(points, np.float32)


def tables(rows: int) -> st.SearchStrategy[Floats]:
    # Few values, so that points are often equally near to several centres.
    values = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 100.0])
    return arrays(np.float32, st.tuples(st.integers(1, rows), st.just(5)), elements=values)


@given(tables(12), tables(9))
def test_assignment_is_exact_and_takes_the_first_of_equals(points: Floats, centers: Floats) -> None:
    assert assign(points, centers).tolist() == naive.nearest(points, centers)


def test_assignment_is_exact_where_scores_are_rounded() -> None:
    # Far from the origin a product of 32 bits cannot tell these centres apart.
    rng = np.random.default_rng(2)
    centers = (1_000 + rng.normal(size=(300, 20)) * 1e-2).astype(np.float32)
    points = (1_000 + rng.normal(size=(50, 20)) * 1e-2).astype(np.float32)
    assert assign(points, centers).tolist() == naive.nearest(points, centers)


@pytest.mark.parametrize("n_centers", [30, 300])
def test_the_same_seed_gives_the_same_bytes(n_centers: int) -> None:
    points = clustered(4_000)
    first = codebook(points, n_centers, seed=3)
    assert first.shape == (n_centers, 12) and first.dtype == np.float32
    assert first.tobytes() == codebook(points.copy(), n_centers, seed=3).tobytes()
    assert first.tobytes() != codebook(points, n_centers, seed=4).tobytes()


def test_the_number_of_threads_changes_nothing() -> None:
    code = (
        "import sys, numpy as np; from sightline.features.local.codebook import codebook; "
        "points = np.random.default_rng(0).normal(size=(3000, 60)).astype(np.float32); "
        "sys.stdout.buffer.write(codebook(points, 400, passes=3).tobytes())"
    )

    def run(threads: str) -> bytes:
        env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=env, capture_output=True, check=True).stdout

    assert len(run("1")) == 400 * 60 * 4 and run("1") == run("2")


def test_two_levels_leave_as_little_error_as_plain_k_means() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    points, new = clustered(6_000), clustered(2_000, seed=0)
    plain = cluster.KMeans(400, init="random", n_init=1, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that five passes are few
        theirs = plain.fit(points).cluster_centers_.astype(np.float32)
    ours = codebook(points, 400)
    assert quantization_error(new, ours) < 1.01 * quantization_error(new, theirs)


def test_more_passes_lower_the_error_and_random_points_are_worse() -> None:
    points = clustered(4_000)
    errors = [quantization_error(points, codebook(points, 300, passes=p)) for p in (1, 3, 8)]
    assert errors[0] > errors[1] > errors[2]
    assert quantization_error(points, points[:300]) > 1.2 * errors[0]


@pytest.mark.parametrize("n_centers", [20, 400])
def test_no_center_is_left_without_points(n_centers: int) -> None:
    points = clustered(3_000)
    used = np.unique(assign(points, codebook(points, n_centers)))
    assert len(used) > 0.97 * n_centers


def test_an_empty_center_starts_again_at_the_worst_point() -> None:
    from sightline.features.local.codebook import _moved

    points = np.array([[0, 0], [1, 0], [9, 0]], np.float32)
    centers = np.array([[0, 0], [50, 50]], np.float32)
    moved = _moved(points, np.zeros(3, np.int32), centers)
    np.testing.assert_allclose(moved, np.array([[10 / 3, 0], [9, 0]]), rtol=1e-6)


@pytest.mark.parametrize("n_different", [1, 7, 300])
def test_fewer_different_points_than_centers(n_different: int) -> None:
    points = np.repeat(clustered(n_different), 3, axis=0)
    with pytest.warns(ReducedCodebook, match=f"only {n_different} points differ"):
        found = codebook(points, n_different + 5)
    assert {p.tobytes() for p in found} == {p.tobytes() for p in points}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(codebook(points, n_different)) == n_different


def test_many_equal_points_do_not_waste_centers() -> None:
    points = np.concatenate([np.zeros((5_000, 12), np.float32), clustered(600)])
    found = codebook(points, 300)
    assert len(distinct(found)) == 300 and np.isfinite(found).all()


@given(tables(30))
def test_distinct_points_are_found(points: Floats) -> None:
    rows = [tuple(p) for p in (points + 0.0).tolist()]
    assert distinct(points).tolist() == sorted(rows.index(r) for r in set(rows))


def test_wrong_points_and_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="finite"):
        codebook(np.full((3, 2), np.nan, np.float32), 1)
    with pytest.raises(DataError, match="one in a row"):
        codebook(np.zeros((0, 2), np.float32), 1)
    with pytest.raises(ParameterError, match="at least 1"):
        codebook(clustered(3), 0)
    with pytest.raises(ParameterError, match="1 to 256"):
        choose_colors(np.zeros((3, 3), np.float32), 257)
    with pytest.raises(DataError, match="at least one picture"):
        sample_pixels([])


def test_every_place_of_the_table_is_one_kind_of_pixel() -> None:
    levels = np.arange(0, 256, 4, dtype=np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels), axis=-1)
    assert np.array_equal(np.sort(table_indices(cube).ravel()), np.arange(64**3))
    assert np.array_equal(table_indices(cube), table_indices(cube + np.uint8(3)))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_pixel_gets_the_color_nearest_to_its_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    colors = rng.uniform(0, 255, (9, 3)).astype(np.float32)
    pixels = rng.integers(0, 256, (200, 3), dtype=np.uint8)
    got = color_table(colors)[table_indices(pixels)].tolist()
    assert got == [naive.nearest_color((int(r), int(g), int(b)), colors) for r, g, b in pixels]


def test_colors_are_those_of_the_pictures() -> None:
    rng = np.random.default_rng(0)
    wanted = np.array([[250, 10, 10], [10, 250, 10], [10, 10, 250]])
    pictures = [
        np.clip(wanted[rng.integers(0, 3, (20, 30))] + rng.integers(-9, 10, (20, 30, 3)), 0, 255)
        for _ in range(5)
    ]
    pixels = sample_pixels([p.astype(np.uint8) for p in pictures], 1_000)
    assert pixels.shape == (1_000, 3)
    found = choose_colors(pixels, 3)
    np.testing.assert_allclose(found[np.argsort(found @ [0, 1, 2])], wanted, atol=4)
    assert choose_colors(np.zeros((5, 3), np.float32), 50).tolist() == [[0, 0, 0]]
