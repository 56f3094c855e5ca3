"""The passive-aggressive step, compiled from the one formula in `pa_step`."""

from __future__ import annotations

from types import FunctionType

from sightline._njit_fast import njit
from sightline.solvers import pa_step

step_length = njit(cache=True, nogil=True)(pa_step.step_length)
# The same code, in which the name of the formula means the compiled one.
_CODE, _NAMES = pa_step.step_size.__code__, {**vars(pa_step), "step_length": step_length}
step_size = njit(cache=True, nogil=True)(FunctionType(_CODE, _NAMES))
