"""One table each of rankers, features and export formats.

Help, service, page and guide name all of it, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sightline import registry
from sightline.cli.export import export
from sightline.cli.index import index
from sightline.cli.train import train
from sightline.collection.models.registry import RANKERS as SPECS
from sightline.compute.features import feature_class, is_fitted, load_feature
from sightline.errors import SightlineError
from sightline.registry import BY_DEFAULT, EXPORT_FORMATS, FEATURE_SETS, FEATURES, IF_NAMED, RANKERS
from sightline.web.app import build
from tests.cli.test_start_up import modules_after
from tests.factories.servers import Served, painted, running

PAGE = Path(str(resources.files("sightline.web"))) / "page"
GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(painted(tmp_path_factory.mktemp("listed"), train=False, n=6)) as found:
        yield found


def test_what_can_be_fitted_is_what_the_table_lists() -> None:
    assert list(SPECS) == list(RANKERS)
    assert set(BY_DEFAULT) | set(IF_NAMED) == set(RANKERS) and "log-product" in BY_DEFAULT
    for name, spec in SPECS.items():
        assert spec.opt_in == (name in IF_NAMED) and spec.about == RANKERS[name].about


def test_the_help_lists_every_ranker() -> None:
    said = CliRunner().invoke(train, ["--help"], terminal_width=10_000).output
    (line,) = re.findall(r"--ranker TEXT +(.*)", said)
    tried, _, rest = line.partition(": ")[2].partition("; only if named: ")
    asked = rest.partition(". ")[0]
    assert tried.split(", ") == list(BY_DEFAULT) and asked.split(", ") == list(IF_NAMED)


def test_the_help_of_train_imports_no_numpy() -> None:
    found = modules_after("train", "--help")
    assert "sightline.registry" in found
    assert not found & {"numpy", "numba", "scipy", "sqlite3"}


def test_the_service_tells_every_ranker_and_takes_no_other(served: Served) -> None:
    told = served.ask("GET", "/v1/rankers").json["rankers"]
    assert [(r["name"], r["default"]) for r in told] == [
        (name, not entry.opt_in) for name, entry in RANKERS.items()
    ]
    assert all(r["about"] for r in told)
    described = served.ask("GET", "/openapi.json").json["components"]["schemas"]["TrainJob"]
    assert described["properties"]["rankers"]["items"]["enum"] == list(RANKERS)
    wrong = served.post("/v1/jobs", {"verb": "train", "rankers": ["magic"]})
    assert 400 <= wrong.status < 500 and "log-product" in wrong.json["detail"], wrong.body
    assert served.ask("GET", "/v1/jobs").json["jobs"] == []


def test_the_page_asks_the_service_for_rankers_and_lists_none_itself() -> None:
    form = (PAGE / "views" / "jobforms.js").read_text()
    assert 'get("/v1/rankers")' in form
    quoted = set(re.findall(r"""["'`]([a-z-]+)["'`]""", form))
    assert not quoted & set(RANKERS)


def test_the_guide_has_a_row_for_every_ranker() -> None:
    table = re.search(r"\| ranker \|.*?\n\n", GUIDE.read_text(), re.DOTALL)
    assert table is not None
    first = [row.split("|")[1] for row in table[0].splitlines()[2:] if row]
    assert {n for cell in first for n in re.findall(r"`([^`]+)`", cell)} == set(RANKERS)


def test_a_new_ranker_shows_wherever_rankers_are_listed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = registry.RankerEntry("sightline.rankers.pamir:PAMIR", "a new one")
    monkeypatch.setitem(RANKERS, "brand-new", entry)
    told = served.ask("GET", "/v1/rankers").json["rankers"]
    assert {"name": "brand-new", "about": "a new one", "default": True, "available": True} in told
    assert "plsa, brand-new; only if named" in help_of(train)
    described = build(served.service).openapi()["components"]["schemas"]["TrainJob"]
    assert "brand-new" in described["properties"]["rankers"]["items"]["enum"]


def help_of(command: click.Command) -> str:
    """Return the help of a command on long lines."""
    return CliRunner().invoke(command, ["--help"], terminal_width=10_000).output


def test_a_new_feature_shows_wherever_features_are_listed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = registry.FeatureEntry("somewhere:New", "a new one", "whole", 7)
    monkeypatch.setitem(FEATURES, "brand-new", entry)
    told = served.ask("GET", "/v1/features").json
    assert [f["name"] for f in told["features"]] == list(FEATURES)
    assert {s["name"]: tuple(s["features"]) for s in told["sets"]} == FEATURE_SETS
    assert told["features"][-1] == {
        "name": "brand-new", "about": "a new one", "kind": "whole", "length": 7, "vector": True,
    }  # fmt: skip
    for command in (index, train):
        assert "regions-deep, brand-new; sets: deep-all" in help_of(command)


def test_a_new_export_format_shows_wherever_formats_are_listed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = registry.ExportFormatEntry(
        "a new one", "words.new", "text/new", "sightline.exchange.words_csv:csv_parts"
    )
    monkeypatch.setitem(EXPORT_FORMATS, "brand-new", entry)
    told = served.ask("GET", "/v1/export-formats").json["formats"]
    assert [f["name"] for f in told] == list(EXPORT_FORMATS)
    assert [f["name"] for f in told if not f["file"]] == ["xmp"]
    shown = help_of(export)
    assert "csv|json|coco|xmp|brand-new" in shown and "brand-new  a new one" in shown
    reply = served.ask("GET", "/v1/export?format=brand-new")
    assert reply.status == 200 and reply.headers["content-type"].startswith("text/new")
    assert reply.body == served.ask("GET", "/v1/export?format=csv").body


def test_the_page_asks_the_service_for_features_and_formats_and_lists_none_itself() -> None:
    for file, route, names in (
        ("jobforms.js", "/v1/features", set(FEATURES)),
        ("review.js", "/v1/export-formats", set(EXPORT_FORMATS)),
    ):
        source = (PAGE / "views" / file).read_text()
        assert f'get("{route}")' in source
        quoted = set(re.findall(r"""["'`]([a-z-]+)["'`]""", source))
        # Regions are also a kind of model.
        assert not quoted & names - {"regions"}


def test_entries_of_features_are_true() -> None:
    for name, entry in FEATURES.items():
        assert entry.about
        try:
            fitted = is_fitted(entry.class_path)
            assert getattr(feature_class(entry.class_path), "name", name) == name
            assert entry.length == (0 if fitted else load_feature(entry.class_path).length), name
        except (SightlineError, ImportError):
            continue  # What it needs is not installed.
    groups = {"classic-all": "classic", "whole-all": "whole"}
    for names, group in groups.items():
        assert set(FEATURE_SETS[names]) == {n for n, e in FEATURES.items() if e.group == group}
    for members in FEATURE_SETS.values():
        assert set(members) <= FEATURES.keys()
