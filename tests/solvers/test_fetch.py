"""Fetching ahead: that it is compiled to the processor's instruction, and changes no result."""

from __future__ import annotations

import numpy as np
from numba import njit

from sightline.solvers._fetch_fast import fetch_row


def test_rows_are_asked_for_and_left_as_they_are() -> None:
    @njit
    def ask(columns, values, begin, end):  # type: ignore[no-untyped-def]
        fetch_row(columns, values, begin, end)

    columns, values = np.arange(100, dtype=np.uint16), np.arange(100, dtype=np.float32)
    ask(columns, values, np.uint64(3), np.uint64(100))
    ask(columns, values, np.uint64(100), np.uint64(100))
    assert all("@llvm.prefetch" in code for code in ask.inspect_llvm().values())
    assert (columns == np.arange(100)).all() and (values == np.arange(100)).all()
