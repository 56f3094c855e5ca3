"""Types of arrays, once for all packages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
RGB = NDArray[np.uint8]
"""Pixels of a picture: height, width and three channels."""
Int32s = NDArray[np.int32]
Ints = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Columns = NDArray[np.uint16] | NDArray[np.uint32]
"""Column numbers of sparse rows."""
Arrays = dict[str, NDArray[Any]]
"""Arrays by name, as `to_arrays` gives and `from_arrays` takes them."""
