"""phi of pairs of pictures: its values, scale, edges, blocks, and what is kept of it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline._typing import Floats
from sightline.errors import DataError, ParameterError
from sightline.similarity.distances import MEASURES
from sightline.similarity.pairs import Phi
from tests.naive import similarity as naive

ALL = tuple(MEASURES)


def views_of(n: int, seed: int = 0) -> tuple[Floats, ...]:
    """Counts, signed numbers, and counts that are mostly 0."""
    random = np.random.default_rng(seed)
    counts = random.random((n, 5), dtype=np.float32)
    signed = random.normal(size=(n, 4)).astype(np.float32)
    rare = np.where(random.random((n, 6)) < 0.7, 0, random.random((n, 6))).astype(np.float32)
    return counts, signed, rare


def test_phi_equals_the_naive_one() -> None:
    views = views_of(7)
    phi = Phi.of(views, ALL)
    found = phi(views, views)
    for v, view in enumerate(views):
        rows = view.tolist()
        for k, kind in enumerate(ALL):
            used = [naive.counts(rows, x) for x in rows] if MEASURES[kind].counts else rows
            pairs = [(x, y) for i, x in enumerate(used) for y in used[i + 1 :]]
            scale = float(np.mean([naive.fallen(kind, x, y) for x, y in pairs]))
            raw = [naive.similarity(kind, x, y, scale) for x, y in pairs]
            for i in range(7):
                for j in range(7):
                    value = naive.similarity(kind, used[i], used[j], scale)
                    expected = (value - np.mean(raw)) / np.std(raw)
                    assert found[i, j, v * len(ALL) + k] == pytest.approx(expected, abs=2e-4)


def test_components_are_standardised_over_training_pairs() -> None:
    views = views_of(40)
    phi = Phi.of(views, ALL)
    left, right = np.triu_indices(40, 1)
    rows = phi.of_pairs(views, views, left, right)
    assert rows.dtype == np.float32 and rows.shape == (780, phi.n_components)
    assert rows.mean(axis=0) == pytest.approx(np.zeros(18), abs=1e-4)
    assert rows.std(axis=0) == pytest.approx(np.ones(18), abs=1e-4)


def test_nine_views_and_four_measures_make_36() -> None:
    views = views_of(12) + views_of(12, 1) + views_of(12, 2)
    phi = Phi.of(views)
    assert phi.n_components == 36 and len(set(phi.names(tuple("abcdefghi")))) == 36
    with pytest.raises(DataError, match="9 views to name"):
        phi.names(("a",))


def test_phi_is_finite_symmetric_and_largest_of_a_picture_with_itself() -> None:
    views = views_of(25)
    views[2][3] = 0.0
    others = views_of(25, 9)
    phi = Phi.of(views, ALL)
    assert np.isfinite(phi(others, views)).all()
    found = phi(views, views)
    assert found == pytest.approx(found.transpose(1, 0, 2), abs=1e-5)
    own = found[np.arange(25), np.arange(25)]
    assert (found <= own[:, None] + 1e-4).all()


def test_constant_components_are_zero() -> None:
    same = np.ones((6, 3), dtype=np.float32)
    other = views_of(6)[0]
    phi = Phi.of((same, other), ALL)
    found = phi((same * 2, other), (same, other))
    assert (found[..., : len(ALL)] == 0).all()
    assert (found[..., len(ALL) :] != 0).any()
    assert (phi.scales[0] == 0).all()


def test_rounding_is_no_spread() -> None:
    row = np.random.default_rng(5).random(7)
    rows = (np.arange(1, 9)[:, None] * row / 3).astype(np.float32)
    phi = Phi.of((rows,), ("cosine", "exp-l1"))
    assert phi.factor[0] == 0 and phi.factor[1] > 0
    assert (phi((rows,), (rows,))[..., 0] == 0).all()


def test_blocks_and_listed_pairs_give_the_same_within_the_budget() -> None:
    views, others = views_of(60), views_of(90, 1)
    phi = Phi.of(views, ALL)
    whole = phi(views, others)
    assert whole == pytest.approx(phi(views, others, budget=1), abs=1e-4)
    left, right = np.arange(60), np.arange(60, 0, -1)
    assert phi.of_pairs(views, others, left, right) == pytest.approx(whole[left, right], abs=1e-3)
    w = np.linspace(-1, 1, phi.n_components)
    scores = phi.scores(views, others, lambda block: block @ w, budget=20_000)
    assert scores == pytest.approx(whole @ w, abs=1e-3)


def test_scoring_many_pictures_takes_bounded_memory() -> None:
    random = np.random.default_rng(0)
    queries, pictures = (random.random((n, 64), dtype=np.float32) for n in (16, 20_000))
    phi = Phi.of((queries,), pairs=50)
    phi.scores((queries,), (pictures[:10],), lambda block: block.sum(axis=-1))
    tracemalloc.start()
    phi.scores((queries,), (pictures,), lambda block: block.sum(axis=-1), budget=1 << 20)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # What is returned takes 1.3 MB, and looking for numbers that are not finite as much.
    assert most < 5 << 20


def test_sparse_views_are_as_good_as_dense_ones() -> None:
    views = views_of(20)
    sparse = (*views[:2], csr_matrix(views[2]))
    one, two = Phi.of(views, ALL), Phi.of(sparse, ALL)
    assert np.array_equal(one(views, views), two(sparse, sparse))


def test_pairs_are_drawn_by_the_seed() -> None:
    views = views_of(80)
    one, same, other = (Phi.of(views, pairs=100, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(one.scales, same.scales)
    assert not np.array_equal(one.scales, other.scales)
    listed = Phi.of(views, pairs=[[0, 1], [2, 3], [4, 6]])
    d = [np.abs(views[0][i] - views[0][j]).sum() for i, j in ((0, 1), (2, 3), (4, 6))]
    assert listed.scales[0, 1] == pytest.approx(np.mean(d), rel=1e-5)


def test_what_is_kept_gives_the_same() -> None:
    views = views_of(15)
    phi = Phi.of(views, ALL)
    kept = phi.to_arrays()
    again = Phi.from_arrays(kept)
    assert np.array_equal(phi(views, views), again(views, views))
    assert again.kinds == phi.kinds and again.lengths == phi.lengths


def test_differences_of_triplets_flip_with_their_sign() -> None:
    views = views_of(15)
    source = Phi.of(views).over(views)
    q, a, b = [0, 0, 3], [1, 1, 4], [2, 5, 4]
    found = source.differences(q, a, b, [1, 1, 1])
    assert np.array_equal(found, source.differences(q, b, a, [-1, -1, -1]))
    assert found == pytest.approx(source.rows(q, a) - source.rows(q, b), abs=1e-6)
    assert (found[2] == 0).all()


def test_wrong_input_is_named() -> None:
    views = views_of(4)
    phi = Phi.of(views)
    with pytest.raises(DataError, match="lengths"):
        phi(views[:2], views)
    with pytest.raises(DataError, match="one row for each picture"):
        Phi.of((views[0], views[1][:2]))
    with pytest.raises(DataError, match="at least 2"):
        Phi.of(tuple(v[:1] for v in views))
    with pytest.raises(DataError, match="picture 4"):
        phi.of_pairs(views, views, [0], [4])
    with pytest.raises(DataError, match="tuple"):
        Phi.of(views[0])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="finite"):
        Phi.of((np.full((3, 2), np.nan, np.float32),))
    with pytest.raises(DataError, match="scale them"):
        Phi.of((np.array([[1e30], [-1e30]], np.float32), views[0][:2]))
    with pytest.raises(ParameterError, match="pairs"):
        Phi.of(views, pairs=0)
    with pytest.raises(DataError, match="two columns"):
        Phi.of(views, pairs=[[1, 2, 3]])
