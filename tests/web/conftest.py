"""A collection that was taught, and a server for it, made once for all tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from tests.served import Served, painted, running


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return a collection with a model; tests do not change it."""
    return painted(tmp_path_factory.mktemp("taught"))


@pytest.fixture(scope="module")
def served(taught: Collection) -> Iterator[Served]:
    """Serve it while the tests of a file run."""
    with running(taught) as found:
        yield found


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """Serve a collection that a test may change."""
    with running(painted(tmp_path, train=False, n=24)) as found:
        yield found
