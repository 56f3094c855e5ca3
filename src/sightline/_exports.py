"""Public names of a package that are imported when they are first used (PEP 562).

A package lists its names three times, for different readers: imports under `TYPE_CHECKING` for type
checkers and editors, `__all__` for people, and the modules for `lazy`. A test checks that the three
agree. Nothing is imported before it is used, so that `sightline --help` needs no numpy and
`sightline search` neither numba nor scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its public names on first use.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    modules : mapping of str to tuple of str
        For each module, relative to the package, the names it defines.

    Returns
    -------
    callable
        The package's `__getattr__`. It also keeps what it has imported as an attribute.

    Examples
    --------
    >>> lazy("sightline", {"errors": ("DataError",)})("DataError").__name__
    'DataError'
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return __getattr__
