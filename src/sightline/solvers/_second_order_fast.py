"""The second-order step, compiled from the one formula in `second_order`."""

from __future__ import annotations

from sightline._njit_fast import njit
from sightline.solvers import second_order

step_sizes = njit(cache=True, nogil=True)(second_order.step_sizes)
