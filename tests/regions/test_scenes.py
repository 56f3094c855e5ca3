"""Groups of pictures, and rows by which alike pictures are told."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.measures.clusters import normalized_mutual_information
from sightline.regions import kernel_rows, scenes
from sightline.regions.kernel_rows import KernelRows
from sightline.regions.scenes import clusters, rareness, tree_clusters


def heaps(n: int = 12, groups: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points around corners far apart, and the corner of each."""
    random = np.random.default_rng(seed)
    true = random.permutation(np.repeat(np.arange(groups), n))
    return 20.0 * np.eye(groups)[true] + random.normal(size=(len(true), groups)), true


@pytest.mark.parametrize("found_by", [clusters, tree_clusters])
def test_heaps_are_found_the_same_each_time(found_by: object) -> None:
    rows, true = heaps()
    assert callable(found_by)
    found = found_by(rows, 5)
    assert normalized_mutual_information(found, true) == pytest.approx(1.0)
    assert found.dtype == np.int64 and (found_by(rows, 5) == found).all()


def test_groups_of_a_tree_are_numbered_as_met() -> None:
    rows, _ = heaps()
    found = tree_clusters(rows, 5)
    assert [int(np.flatnonzero(found == k)[0]) for k in range(5)] == sorted(
        int(np.flatnonzero(found == k)[0]) for k in range(5)
    )


def test_of_many_rows_a_sample_is_grouped_and_the_others_join(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, true = heaps(20)
    monkeypatch.setattr(scenes, "MOST_IN_TREE", 40)
    found = tree_clusters(rows, 5)
    assert len(found) == 100
    assert normalized_mutual_information(found, true) == pytest.approx(1.0)


@pytest.mark.parametrize("found_by", [clusters, tree_clusters])
def test_fewer_rows_than_groups_leave_groups_empty(found_by: object) -> None:
    assert callable(found_by)
    found = found_by(np.array([[0.0], [0.0], [7.0]]), 5)
    assert found[0] != found[2] and found.max() < 5
    assert found_by(np.ones((1, 3)), 4).tolist() == [0]
    assert found_by(np.ones((4, 2)), 1).tolist() == [0] * 4


def test_rare_tags_tell_more_and_tags_nobody_has_are_no_trouble() -> None:
    Y = np.zeros((20, 4), bool)
    Y[:, 0], Y[:10, 1], Y[:2, 2] = True, True, True
    telling = rareness(Y, 20)
    assert np.isfinite(telling).all() and (np.diff(telling) > 0).all()
    share = Y.mean(axis=0)[:3]
    # Of two scenes each has about half of the pictures, so rarer tags all tell alike.
    assert rareness(Y, 2)[1:].tolist() == [rareness(Y, 2)[1]] * 3
    assert rareness(Y, 1).tolist() == [1.0] * 4
    # What all marks weigh together stays about what it was.
    assert np.square(telling[:3]) @ share / share.sum() == pytest.approx(1.0, abs=0.3)


def test_products_of_kernel_rows_are_the_kernel() -> None:
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.ones(6), 15)
    rows = KernelRows.fit(shares)(shares)
    pairs = shares[:, None], shares[None]
    chi2 = (np.square(pairs[0] - pairs[1]) / (pairs[0] + pairs[1])).sum(axis=2)
    near = np.exp(-chi2 / chi2[np.triu_indices(15, 1)].mean())
    centered = near - near.mean(axis=0) - near.mean(axis=1)[:, None] + near.mean()
    assert rows @ rows.T == pytest.approx(centered, abs=1e-4)


def test_kernel_rows_are_kept_and_many_pictures_are_compared_with_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(1)
    shares, new = random.dirichlet(np.ones(6), 40), random.dirichlet(np.ones(6), 3)
    learnt = KernelRows.fit(shares)
    again = KernelRows(learnt.to_arrays())
    assert (again(new) == learnt(new)).all()
    monkeypatch.setattr(kernel_rows, "MOST_LANDMARKS", 10)
    few = KernelRows.fit(shares)
    assert len(few.to_arrays()["landmarks"]) == 10 and len(few(new)) == 3
    assert np.isfinite(KernelRows.fit(np.ones((3, 2)))(np.ones((1, 2)))).all()
