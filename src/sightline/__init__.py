"""Sightline learns to search your own picture collection from the words you already have.

>>> from sightline import Collection
>>> Collection.__name__
'Collection'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.annotators.ridge import KernelRidge
    from sightline.collection import Collection
    from sightline.federation import Collections
    from sightline.rankers.pamir import PAMIR
else:
    __getattr__ = lazy(
        __name__,
        {
            "annotators.ridge": ("KernelRidge",),
            "collection": ("Collection",),
            "federation": ("Collections",),
            "rankers.pamir": ("PAMIR",),
        },
    )

__all__ = ["Collection", "Collections", "KernelRidge", "PAMIR", "__version__"]
__version__ = "0.1.0"
