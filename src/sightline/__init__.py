"""Sightline learns to search your own picture collection from the words you already have.

>>> from sightline import Collection
>>> Collection.__name__
'Collection'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.annotators.ridge import KernelRidge
    from sightline.collection import Collection
    from sightline.rankers.pamir import PAMIR

__all__ = ["Collection", "KernelRidge", "PAMIR", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Importing the package must stay cheap: `sightline --help` never needs numpy.
    if name == "Collection":
        from sightline.collection import Collection

        return Collection
    if name == "PAMIR":
        from sightline.rankers.pamir import PAMIR

        return PAMIR
    if name == "KernelRidge":
        from sightline.annotators.ridge import KernelRidge

        return KernelRidge
    raise AttributeError(f"module 'sightline' has no attribute {name!r}")
