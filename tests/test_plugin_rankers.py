"""A ranker of another package: trained, saved, loaded in a new process, and missed when it is gone.

The package is laid out as pip would; nothing of it is known but its entry point.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sightline import plugins
from sightline.cli import sightline
from sightline.collection import Collection
from sightline.errors import MissingExtra, UsageError
from sightline.registry import RANKERS
from tests.factories.plugins import install_package, installed
from tests.factories.servers import painted, running

SEARCH = """
import sys
from sightline.cli import main
main(["search", "red", "--json", "-C", sys.argv[1], "--store", sys.argv[2]])
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    install_package(folder, "my-rankers", "plugin_rankers")
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, package: Path) -> Iterator[None]:
    with installed(monkeypatch, package):
        yield


def search(c: Collection) -> subprocess.CompletedProcess[str]:
    """Search in a process of its own."""
    command = [sys.executable, "-c", SEARCH, str(c.root, "utf-8"), str(c.store_folder.path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_ranker_of_a_package_trains_serves_and_is_missed_by_name(
    monkeypatch: pytest.MonkeyPatch, package: Path, tmp_path: Path
) -> None:
    c = painted(tmp_path / "painted", train=False, n=60)
    with installed(monkeypatch, package):
        report = c.train(rankers=["centroids"], force=True)
        assert report.recipe.startswith("centroids on ")
        hits = [h.path for h in c.search("red", cut=False)]
        reply = search(c)
        assert reply.returncode == 0, reply.stderr
        assert '"predicted"' in reply.stdout
    # Without the package the model cannot be loaded; the message says by which it was trained.
    reply = search(c)
    assert reply.returncode == 1
    assert "ranker 'centroids' of the plugin my-rankers, which is not installed" in reply.stderr
    with pytest.raises(MissingExtra, match=r"Install my-rankers, or train again"):
        c.search("red")
    # Training again is a way out, though the model in use cannot be compared.
    again = c.train(rankers=["ridge"], force=True)
    assert again.recipe.startswith("ridge") and again.proof.not_compared
    assert hits and c.search("red").hits


@pytest.mark.usefixtures("here")
def test_help_rest_and_the_default_selection_name_it(tmp_path: Path) -> None:
    from sightline.collection.models.training import _default_rankers

    said = CliRunner().invoke(sightline, ["train", "--help"], terminal_width=10_000).output
    assert "plsa, centroids; only if named:" in said
    assert "centroids" in _default_rankers() and plugins.plugin_of_ranker("pamir") == ""
    with running(painted(tmp_path / "served", train=False, n=6)) as served:
        rankers = served.ask("GET", "/v1/rankers").json["rankers"]
        described = served.ask("GET", "/openapi.json").json["components"]["schemas"]["TrainJob"]
        about = "distance to the mean of a word's pictures"
    assert rankers[-1] == {"name": "centroids", "about": about, "default": True, "available": True}
    assert described["properties"]["rankers"]["items"]["enum"] == [*RANKERS, "centroids"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("register('new', 'package:Class')", "must register a sightline.registry.RankerEntry"),
        ("register('New:1', CENTROIDS)", "by the name 'New:1'"),
        ("raise RuntimeError('out of order')", "out of order"),
    ],
)
def test_a_package_that_registers_nonsense_is_named(
    monkeypatch: pytest.MonkeyPatch, package: Path, line: str, reason: str
) -> None:
    module = package / "plugin_rankers.py"
    module.write_text(module.read_text().replace('register("centroids", CENTROIDS)', line))
    with installed(monkeypatch, package):
        with pytest.raises(UsageError, match="my-rankers") as raised:
            plugins.rankers()
        assert reason in str(raised.value)
        # Help is shown all the same, with the problem.
        assert reason in " ".join(
            CliRunner().invoke(sightline, ["train", "--help"], terminal_width=10_000).output.split()
        )


@pytest.mark.usefixtures("here")
def test_a_built_in_ranker_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = plugins.rankers()["centroids"]
    monkeypatch.setitem(RANKERS, "centroids", RANKERS["pamir"])
    assert plugins.rankers()["centroids"] != entry
