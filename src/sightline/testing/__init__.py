"""Checks of the contracts, for our own parts and for anybody's plugins.

Each raises an AssertionError that says which promise is broken.
"""

from sightline.testing.compute import check_compute
from sightline.testing.features import check_feature
from sightline.testing.stores import check_store

__all__ = ["check_compute", "check_feature", "check_store"]
