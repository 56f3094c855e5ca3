"""Codebooks in shards: the centres of one shard but for rounding, wherever they are computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from sightline._typing import Floats
from sightline.contracts import Part, PartDone, PartTask, SerialMapper
from sightline.errors import ParameterError
from sightline.features.local.codebook import codebook, quantization_error
from sightline.features.local.visterms import Visterms
from tests.factories.photos import patches


def points(n: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    middles = rng.standard_normal((30, 8)) * 3
    near = middles[rng.integers(0, 30, n)] + rng.standard_normal((n, 8))
    return near.astype(np.float32)


class Backwards(SerialMapper):
    """Computes parts from the last to the first."""

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        return reversed(list(super().map(task, reversed(list(parts)))))


@pytest.mark.parametrize("n_centers", [40, 400])
def test_centres_are_those_of_one_shard_but_for_rounding(n_centers: int) -> None:
    given = points(6_000)
    one = codebook(given, n_centers, passes=3)
    for shards in (2, 5):
        found = codebook(given, n_centers, passes=3, shards=shards)
        assert found.shape == one.shape and found.dtype == one.dtype
        # One point that changes sides by rounding would move a centre by far more.
        assert np.allclose(np.sort(found, axis=0), np.sort(one, axis=0), atol=1e-4)
        assert abs(quantization_error(given, found) / quantization_error(given, one) - 1) < 1e-5


def test_where_shards_are_computed_changes_no_bit() -> None:
    given = points(3_000)
    first = codebook(given, 300, passes=2, shards=4)
    assert (
        codebook(given, 300, passes=2, shards=4, compute=Backwards()).tobytes() == first.tobytes()
    )


def test_a_centre_that_wins_nothing_starts_at_the_point_that_is_worst_off() -> None:
    from sightline.features.local.codebook_shards import Shards

    given = np.array([[0], [1], [9], [30]], np.float32)
    dealt = Shards(given, np.zeros(4, np.int32), 1, 2, None)
    centers = np.array([[0], [8], [500], [600]], np.float32)
    near, doors = np.zeros((1, 1), np.int64), np.array([0, 4])
    moved = dealt.moved(centers, doors, near)
    assert moved[:2, 0].tolist() == [0.5, 19.5]
    # The farthest off is 30, then 9 and 1 alike, of which the first comes first.
    assert moved[2:, 0].tolist() == [30.0, 1.0]


def test_a_feature_is_fitted_in_shards() -> None:
    pictures = [patches(i) for i in range(6)]
    one, two = Visterms.fit(pictures), Visterms.fit(pictures, shards=2)
    assert one.keys() == two.keys()
    assert all(np.allclose(one[k], two[k], atol=1e-3) for k in one)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ParameterError, match="'shards' parameter of codebook"):
        codebook(points(10), 2, shards=0)
