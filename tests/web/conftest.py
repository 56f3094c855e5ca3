"""A collection that was taught, and a server for it, made once for all tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from tests.factories.servers import Served, painted, running
from tests.factories.tagged_collections import copied


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """Serve a collection that a test may change."""
    with running(painted(tmp_path, train=False, n=24)) as found:
        yield found


@pytest.fixture
def served_copy(taught: Collection, tmp_path: Path) -> Iterator[Served]:
    """Serve a copy of the shared collection, which a test may change."""
    with running(copied(taught.store_folder.path.parent, tmp_path)) as found:
        yield found
