"""The passive-aggressive step, compiled from the one formula in `pa_step`."""

from __future__ import annotations

from numba import njit

from sightline.solvers import pa_step

step_size = njit(cache=True, nogil=True)(pa_step.step_size)
