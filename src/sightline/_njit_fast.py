"""numba's `njit`, which does not fail if its cache cannot be written.

Kernels are compiled once and cached on the disk for the next process. If they cannot be, for lack
of space or of a writable folder, every process compiles them again, which takes seconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[F], F]:
    """Return a decorator that compiles a function, as `numba.njit` with the same options."""

    def decorator(function: F) -> F:
        try:
            dispatcher: Any = numba.njit(**options)(function)
        except RuntimeError as e:
            if "no locator available" not in str(e):
                raise
            dispatcher = numba.njit(**{**options, "cache": False})(function)
        # With the compiler disabled this is the function itself, which has no cache.
        cache = getattr(dispatcher, "_cache", None)
        if isinstance(cache, FunctionCache):
            _ignore_write_errors(cache)
        kernel: F = dispatcher
        return kernel

    return decorator


def _ignore_write_errors(cache: Any) -> None:
    save = cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            save(signature, data)

    cache.save_overload = save_overload
