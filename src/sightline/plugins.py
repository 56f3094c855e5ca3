"""Plugins: features, rankers, readers of tag files and commands from other packages, by name.

A package adds plugins by an entry point in the group `sightline` that names a module with any of
the hooks below, each marked with `@sightline.plugins.hookimpl`. Built-in names are in tables
(`sightline.registry`); plugins are loaded only to list all names, or for a name that is not there.

register_features(register)
    Call `register(name, "package.module:attribute")` for each feature; the attribute, called
    without arguments, returns an object that implements `sightline.contracts.Feature`.
register_word_files(register)
    Call `register(".ext", "package.module:function")` for each format of files with words for many
    pictures; the function takes (path, root) as bytes and returns a `WordsFile`.
register_rankers(register)
    Call `register(name, sightline.registry.RankerEntry("package.module:Class", "what it is"))` for
    each ranker; `RankerEntry` says what the class must have.

Commands are entry points in the group `sightline.commands`: the name of the command and the
`package.module:attribute` of a click command. They are found without pluggy and without importing
any other plugin, so that `sightline --help` stays fast.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from sightline.errors import UsageError

if TYPE_CHECKING:
    import pluggy

    from sightline.registry import FeatureEntry, RankerEntry

GROUP = "sightline"
COMMANDS = "sightline.commands"
KINDS = ("features", "word_files", "rankers")
_TABLE = "sightline.pictures.tables:read_words_file"
_WORD_FILES = {".csv": _TABLE, ".tsv": _TABLE, ".json": _TABLE, ".jsonl": _TABLE}
# A colon separates the name of a ranker from its option, a comma one ranker from the next.
_RANKER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

Register = Callable[[str, str], None]
RegisterRanker = Callable[[str, "RankerEntry"], None]
T = TypeVar("T")
_manager: pluggy.PluginManager | None = None


def manager() -> pluggy.PluginManager:
    """Return the plugin manager, with installed plugins loaded."""
    global _manager
    if _manager is None:
        import pluggy

        _manager = pluggy.PluginManager(GROUP)
        marker = pluggy.HookspecMarker(GROUP)
        for kind in KINDS:
            marker(getattr(Hooks, f"register_{kind}"))
        _manager.add_hookspecs(Hooks)
        try:
            _manager.load_setuptools_entrypoints(GROUP)
        except Exception as e:
            _manager = None
            raise UsageError(f"An installed plugin cannot be loaded: {e!r}.") from e
    return _manager


def __getattr__(name: str) -> Any:
    """Create `hookimpl`, the decorator of a plugin's hooks, on first use; it imports pluggy."""
    if name == "hookimpl":
        import pluggy

        return pluggy.HookimplMarker(GROUP)
    raise AttributeError(f"module 'sightline.plugins' has no attribute {name!r}")


class Hooks:
    """The hooks that a plugin may define; arguments are passed by name."""

    def register_features(self, register: Register) -> None:
        """Add features."""

    def register_word_files(self, register: Register) -> None:
        """Add readers of files that hold the words of many pictures."""

    def register_rankers(self, register: RegisterRanker) -> None:
        """Add rankers, which `train` selects from."""


def names(kind: str) -> dict[str, str]:
    """Return the known features or formats of word files, with their import paths.

    A plugin cannot replace a built-in name.

    >>> sorted(names("word_files"))
    ['.csv', '.json', '.jsonl', '.tsv']
    """
    return {name: path for name, (path, _) in _with_plugins(kind, _built_in(kind)).items()}


def features() -> dict[str, FeatureEntry]:
    """Return all features: the built-in ones, then those of plugins."""
    from sightline.registry import FEATURES, FeatureEntry

    paths = {name: entry.class_path for name, entry in FEATURES.items()}
    return {
        name: FEATURES.get(name) or FeatureEntry(path, f"added by {plugin}", "plugin")
        for name, (path, plugin) in _with_plugins("features", paths).items()
    }


def rankers() -> dict[str, RankerEntry]:
    """Return all rankers: the built-in ones, then those of plugins."""
    from sightline.registry import RANKERS, RankerEntry

    entries = _with_plugins("rankers", RANKERS)
    for name, (entry, plugin) in entries.items():
        if name in RANKERS:
            continue
        if not isinstance(entry, RankerEntry):
            raise UsageError(
                f"The plugin {plugin} registers {entry!r} as the ranker {name!r}. It must register "
                "a sightline.registry.RankerEntry."
            )
        if not _RANKER_NAME.fullmatch(name):
            raise UsageError(
                f"The plugin {plugin} registers a ranker by the name {name!r}. A name consists of "
                "lower-case letters, digits, hyphens and underscores."
            )
    return {name: entry for name, (entry, _) in entries.items()}


def plugin_of_ranker(name: str) -> str:
    """Return the plugin that adds a ranker; "" if it is built in or unknown."""
    from sightline.registry import RANKERS

    if name in RANKERS:
        return ""
    return _with_plugins("rankers", RANKERS).get(name, (None, ""))[1]


def _built_in(kind: str) -> dict[str, str]:
    if kind == "word_files":
        return _WORD_FILES
    from sightline.registry import FEATURES

    return {name: entry.class_path for name, entry in FEATURES.items()}


def _with_plugins(kind: str, built_in: Mapping[str, T]) -> dict[str, tuple[T, str]]:
    """Return what is registered by name, each with the plugin that did; "" if it is built in."""
    entries = {name: (entry, "") for name, entry in built_in.items()}
    for plugin in getattr(manager().hook, f"register_{kind}").get_hookimpls():
        package = _package_of(plugin.plugin) or plugin.plugin_name

        def register(name: str, entry: T, package: str = package) -> None:
            entries.setdefault(name, (entry, package))

        try:
            plugin.function(register=register)
        except Exception as e:
            # Code of another package: whatever it raises, the message names the plugin.
            raise UsageError(f"The plugin {plugin.plugin_name} failed: {e!r}.") from e
    return entries


def _package_of(plugin: object) -> str:
    """Return the name of the installed package that a plugin comes with; "" if there is none."""
    for installed, package in manager().list_plugin_distinfo():
        if installed is plugin:
            return str(package.project_name)
    return ""


def expanded(features: Iterable[str]) -> list[str]:
    """Return names of features with sets expanded and duplicates removed.

    >>> expanded(["deep", "deep-all"])
    ['deep', 'deep-stages', 'deep-peaks']
    """
    from sightline.registry import FEATURE_SETS

    names = [f for name in features for f in FEATURE_SETS.get(name, (name,))]
    return list(dict.fromkeys(names))


def place(kind: str, name: str) -> str:
    """Return the import path of a name; plugins are loaded only if it is not built in."""
    built_in = _built_in(kind).get(name)
    if built_in is not None:
        return built_in
    known = names(kind)
    if name not in known:
        listed = ", ".join(sorted(known)) or "none"
        what = kind.replace("_", " ")
        raise UsageError(f"There is no {name!r} among the {what}. Known: {listed}.")
    return known[name]


def load(kind: str, name: str) -> Any:
    """Import and return the object that has this name."""
    module, _, attribute = place(kind, name).partition(":")
    return getattr(importlib.import_module(module), attribute)


def commands() -> dict[str, str]:
    """Return the commands of installed packages: name to `package.module:attribute`.

    Only `entry_points.txt` of each package is read. `importlib.metadata.entry_points` parses the
    metadata of every installed package first, which doubles the time of `sightline --help`.
    """
    places: dict[str, str] = {}
    for folder in sys.path:
        for file in _entry_point_files(folder):
            for name, place in _section(file, COMMANDS):
                places.setdefault(name, place)
    return places


def _entry_point_files(folder: str) -> list[str]:
    try:
        entries = sorted(e.path for e in os.scandir(folder or ".") if e.name.endswith(".dist-info"))
    except OSError:  # A zip file or a missing folder holds no installed package.
        return []
    return [os.path.join(entry, "entry_points.txt") for entry in entries]


def _section(file: str, section: str) -> list[tuple[str, str]]:
    """Return the entries of one section of an `entry_points.txt`."""
    try:
        with open(file, encoding="utf-8") as f:
            text = f.read()
    except (OSError, UnicodeDecodeError):
        return []
    _, header, rest = text.partition(f"[{section}]")
    lines = rest.partition("\n[")[0].splitlines() if header else []
    pairs = [line.partition("=") for line in lines if "=" in line]
    return [(name.strip(), place.strip()) for name, _, place in pairs]
