"""Shared by all tests: nothing outside the test's own folder is read or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shared machine can be slow for a moment; examples are the same in every run.
settings.register_profile(
    "sightline",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("sightline")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test its own home, so that no settings or stores leak in or out."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "SIGHTLINE_STORE",
                 "SIGHTLINE_COLLECTION", "SIGHTLINE_DATA", "SIGHTLINE_COMPUTE",
                 "SIGHTLINE_SHARDS", "RAY_ADDRESS"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def two_rankers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings that name no ranker choose between two, unless a test is marked `all_rankers`.

    Ten take five times as long, and most tests of training are about something else.
    """
    if request.node.get_closest_marker("all_rankers") is None:
        monkeypatch.setattr("sightline.collection.training.RANKERS", ("pamir", "ridge"))


@pytest.fixture(scope="session")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a painted collection that has learnt where words lie; never changed."""
    from tests.tagged_made import painted_collection

    folder = tmp_path_factory.mktemp("tagged")
    painted_collection(folder).train_regions(feature="regions", scenes=2)
    return folder
