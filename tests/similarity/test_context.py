"""phi against what is usual for a picture."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.similarity.context import Context, PairsInContext
from sightline.similarity.pairs import Phi

ROWS = np.random.default_rng(0).random((30, 5)).astype(np.float32)
FLAT = np.ones((30, 2), np.float32)


@pytest.fixture(scope="module")
def phi() -> Phi:
    return Phi.of((ROWS, FLAT))


def test_it_is_the_mean_and_deviation_over_the_sample_but_for_itself(phi: Phi) -> None:
    sample = np.array([0, 3, 4, 17, 29])
    usual = Context.of(phi, (ROWS, FLAT), sample)
    for p in (3, 5):
        others = sample[sample != p]
        block = phi((ROWS[[p]], FLAT[[p]]), (ROWS[others], FLAT[others]))[0].astype(np.float64)
        assert np.allclose(usual.mean[p], block.mean(axis=0), atol=1e-5)
        assert np.allclose(1 / usual.factor[p, :4], block[:, :4].std(axis=0), rtol=1e-3)
    assert (usual.factor[:, 4:] == 0).all()


def test_phi_of_the_sample_has_mean_0_and_deviation_1(phi: Phi) -> None:
    sample = np.arange(0, 30, 2)
    usual = Context.of(phi, (ROWS, FLAT), sample)
    # Pictures outside the sample, as ranked by all of the sample.
    found = usual(phi((ROWS[sample], FLAT[sample]), (ROWS[1::2], FLAT[1::2])), np.arange(1, 30, 2))
    assert np.allclose(found.mean(axis=0)[:, :4], 0, atol=1e-4)
    assert np.allclose(found.std(axis=0)[:, :4], 1, atol=1e-3)
    assert (found[..., 4:] == 0).all() and found.dtype == np.float32


def test_differences_are_of_rows(phi: Phi) -> None:
    usual = Context.of(phi, (ROWS, FLAT), np.arange(20))
    source = PairsInContext(phi.over((ROWS, FLAT)), usual)
    assert source.n_components == 8
    q, a, b, y = [0, 1, 2], [3, 4, 5], [6, 7, 5], [1, -1, 1]
    want = (source.rows(q, a) - source.rows(q, b)) * np.array(y)[:, None]
    assert np.allclose(source.differences(q, a, b, y), want, atol=1e-5)
    assert np.allclose(source.rows(q, a), usual(phi.over((ROWS, FLAT)).rows(q, a), a))


def test_one_picture_is_too_few(phi: Phi) -> None:
    with pytest.raises(DataError, match="at least 2"):
        Context.of(phi, (ROWS, FLAT), [4])
