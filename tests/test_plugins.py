"""Plugins: found by name, loaded only when needed, never in place of a built-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pluggy
import pytest

from sightline import plugins
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from sightline.pictures.tables import WordsFile
from sightline.records import Tags
from tests.photos import make_photos

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


def test_every_hook_is_described() -> None:
    assert plugins.__doc__ is not None
    for kind in plugins.KINDS:
        assert f"register_{kind}(register)" in plugins.__doc__
        assert kind in plugins.BUILT_IN
