"""numba's `njit`, for which a full disk is no reason to fail.

Kernels are compiled once and kept on the disk for the next process. Where they cannot be kept, for
want of space or of a place, they are compiled again by every process, which takes seconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[F], F]:
    """Return what compiles a function, as `numba.njit` does with the same options."""

    def compiled(function: F) -> F:
        try:
            found: Any = numba.njit(**options)(function)
        except RuntimeError as e:
            if "no locator available" not in str(e):
                raise
            found = numba.njit(**{**options, "cache": False})(function)
        # Where the compiler is switched off there is only the function itself.
        cache = getattr(found, "_cache", None)
        if isinstance(cache, FunctionCache):
            _keep_if_possible(cache)
        kernel: F = found
        return kernel

    return compiled


def _keep_if_possible(cache: Any) -> None:
    save = cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            save(signature, data)

    cache.save_overload = save_overload
