"""Plugins: found by name, loaded only when needed, never in place of a built-in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pluggy
import pytest
from click.testing import CliRunner, Result

from sightline import plugins
from sightline.cli import sightline
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from sightline.pictures.tables import WordsFile
from sightline.records import Tags
from tests.factories.photos import make_photos

hookimpl = pluggy.HookimplMarker(plugins.GROUP)


class Plugin:
    @hookimpl
    def register_word_files(self, register: plugins.Register) -> None:
        register(".lst", "tests.test_plugins:read_list")
        register(".csv", "tests.test_plugins:never")

    @hookimpl
    def register_features(self, register: plugins.Register) -> None:
        register("shiny", "tests.test_plugins:SHINY")


SHINY = SimpleNamespace(name="shiny")


def read_list(path: bytes, root: bytes) -> WordsFile:
    with open(path, encoding="utf-8") as f:
        lines = [line.split() for line in f]
    return WordsFile({name.encode(): Tags("file:list", tuple(rest)) for name, *rest in lines})


@pytest.fixture
def plugin() -> Iterator[Plugin]:
    installed = Plugin()
    plugins.manager().register(installed)
    yield installed
    plugins.manager().unregister(installed)


def test_a_plugin_adds_parts(plugin: Plugin) -> None:
    assert plugins.load("features", "shiny") is SHINY
    assert plugins.names("word_files")[".lst"] == "tests.test_plugins:read_list"


def test_a_built_in_name_cannot_be_taken(plugin: Plugin) -> None:
    assert plugins.place("word_files", ".csv") == "sightline.pictures.tables:read_words_file"
    assert plugins.names("word_files")[".csv"] == plugins.place("word_files", ".csv")


def test_an_unknown_name_lists_the_known_ones(plugin: Plugin) -> None:
    with pytest.raises(UsageError, match=r"no 'shy' among the features\. Known: .*shiny"):
        plugins.place("features", "shy")


def test_built_in_names_load_no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "manager", lambda: pytest.fail("plugins were loaded"))
    plugins.place("word_files", ".tsv")


def test_a_plugin_reads_words_in_an_index_run(tmp_path: Path, plugin: Plugin) -> None:
    table = tmp_path / "words.lst"
    table.write_text("000.jpg castle\n")
    c = Collection.open(make_photos(tmp_path / "photos", 2), store=tmp_path / "store")
    c.index(words=[table], compute=InlineCompute())
    assert [h.path for h in c.search("castle").hits] == [b"000.jpg"]


def install(folder: Path, entries: str, module: str = "") -> None:
    """Lay a package into a folder of the path, as pip would, in place of one imported before."""
    sys.modules.pop("added_commands", None)
    info = folder / "added-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(entries)
    (folder / "added_commands.py").write_text(module)


COMMAND = """
import click


@click.command()
def greet() -> None:
    "Say hello."
    click.echo("hello")
"""
ENTRY = "[console_scripts]\nadded = x:y\n\n[sightline.commands]\ngreet = added_commands:greet\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(sightline, list(arguments), prog_name="sightline")


def test_a_plugin_adds_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, ENTRY + "\n[sightline]\nother = nowhere\n", COMMAND)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugins.commands()["greet"] == "added_commands:greet"
    assert "other" not in plugins.commands()
    listed = run("--help").output.partition("Commands of plugins:")[2]
    assert "greet      Say hello.\n" in listed
    assert run("greet").output == "hello\n"


def test_a_plugin_command_does_not_replace_a_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "[sightline.commands]\nsearch = added_commands:greet\n", COMMAND)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "Find pictures by words." in run("--help").output
    assert "hello" not in run("search", "--help").output
    assert "Say hello." not in run("search", "--help").output


@pytest.mark.parametrize(
    ("module", "reason"),
    [("raise RuntimeError('out of order')", "out of order"), ("greet = 3", "not a click command")],
)
def test_a_broken_plugin_command_is_named_and_breaks_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, reason: str
) -> None:
    install(tmp_path, ENTRY, module)
    monkeypatch.syspath_prepend(str(tmp_path))
    helped = run("--help")
    assert helped.exit_code == 0 and "greet" in helped.output
    failed = run("greet")
    assert isinstance(failed.exception, UsageError)
    assert "added_commands:greet" in str(failed.exception) and reason in str(failed.exception)


def test_the_experiments_add_reproduce() -> None:
    assert plugins.commands()["reproduce"] == "sightline_experiments.commands:reproduce"
    assert "pamir" in run("reproduce", "--help").output


def test_every_hook_is_described() -> None:
    assert plugins.__doc__ is not None
    for kind in plugins.KINDS:
        assert f"register_{kind}(register)" in plugins.__doc__
        assert hasattr(plugins.Hooks, f"register_{kind}")
