"""A browser for each worker, a context for each test, and servers to look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.factories.servers import Served, painted, running
from tests.factories.tagged_collections import copied
from tests.sharing import built_once

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.page.visit import Visitor, Visits


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Run one browser while tests of the page follow each other."""
    from tests.page.browser import started

    with started(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="package")
def entered() -> dict[str, Any]:
    """Return what browsers were given by servers they came in to."""
    return {}


@pytest.fixture
def visit(browser: Browser, entered: dict[str, Any]) -> Iterator[Visits]:
    """Return a way to open the page; what goes wrong there fails the test."""
    from tests.page.visit import Visits

    visits = Visits(browser, entered)
    yield visits
    complaints = visits.end()
    assert complaints == []


@pytest.fixture
def visitor(visit: Visits, served: Served) -> Visitor:
    """Look at it."""
    return visit(served)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small collection with a model, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    painted(folder, n=48)
    return folder


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Iterator[Served]:
    """Serve a collection that a test may change; its pictures are shared."""
    with running(copied(made, tmp_path)) as found:
        yield found


@pytest.fixture(scope="session")
def rich(tagged: Path) -> Path:
    """Return the folder of a collection that has learned all there is to learn; to be copied."""

    def build(folder: Path) -> None:
        copied(tagged, folder).train(rankers=["cca"])
        (folder / "photos").symlink_to(tagged / "photos")

    return built_once("rich", build)


@pytest.fixture
def learnt(rich: Path, tmp_path: Path) -> Iterator[Served]:
    """Serve it; a test may change it."""
    with running(copied(rich, tmp_path)) as found:
        yield found
