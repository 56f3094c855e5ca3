"""Compiled: prefetch rows of memory, so that a loop need not wait for them.

Triplets are drawn before they are learned from, and so it is known which pictures come next. Rows
of many pictures do not fit a processor's caches, and a step would wait for two of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Columns

LINE = 64
"""Bytes that processors fetch at once."""
_NAME = "llvm.prefetch.p0i8"


def _instruction(_typing: Any, array: Any, _place: Any) -> Any:
    """Begin to load the line of memory in which a place of a C-ordered vector lies."""

    def compile_fetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = builder.module.globals.get(_NAME) or ir.Function(builder.module, kind, _NAME)
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        # For reading, to be kept in all caches, data and not instructions.
        builder.call(function, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), compile_fetch


def _nothing(_array: Any, _place: Any) -> None:
    """Stand in for the instruction where the compiler is off."""


_settings: Any = config
fetch: Any = _nothing if _settings.DISABLE_JIT else intrinsic(_instruction)


@njit(cache=True, nogil=True, inline="always")
def fetch_row(
    columns: Columns, values: NDArray[np.float32], begin: np.uint64, end: np.uint64
) -> None:
    """Begin to load a sparse row."""
    for i in range(begin, end, np.uint64(LINE // 4)):
        fetch(values, i)
        fetch(columns, i)
