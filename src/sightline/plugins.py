"""Plugins: features, readers of tag files and commands from other packages, by name.

A package adds plugins by an entry point in the group `sightline` that names a module with any of
the hooks below, each marked with `@sightline.plugins.hookimpl`. Built-in names are in a table;
plugins are loaded only for a name that is not in it.

register_features(register)
    Call `register(name, "package.module:attribute")` for each feature; the attribute, called
    without arguments, returns an object that implements `sightline.contracts.Feature`.
register_word_files(register)
    Call `register(".ext", "package.module:function")` for each format of files with words for many
    pictures; the function takes (path, root) as bytes and returns a `WordsFile`.

Commands are entry points in the group `sightline.commands`: the name of the command and the
`package.module:attribute` of a click command. They are found without pluggy and without importing
any other plugin, so that `sightline --help` stays fast.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sightline.errors import UsageError

if TYPE_CHECKING:
    import pluggy

GROUP = "sightline"
COMMANDS = "sightline.commands"
KINDS = ("features", "word_files")
_TABLE = "sightline.pictures.tables:read_words_file"
BUILT_IN: dict[str, dict[str, str]] = {
    "features": {
        "deep": "sightline.features.deep.vector:DeepVector",
        "deep-scales": "sightline.features.deep.vector:DeepScales",
        "deep-stages": "sightline.features.deep.stages:DeepStages",
        "deep-peaks": "sightline.features.deep.stages:DeepPeaks",
        "deep-grid": "sightline.features.deep.maps:DeepGrid",
        "deep-medium": "sightline.features.deep.large:DeepMedium",
        "deep-medium-stages": "sightline.features.deep.large:DeepMediumStages",
        "deep-medium-peaks": "sightline.features.deep.large:DeepMediumPeaks",
        "deep-large": "sightline.features.deep.large:DeepLarge",
        "deep-large-stages": "sightline.features.deep.large:DeepLargeStages",
        "deep-large-peaks": "sightline.features.deep.large:DeepLargePeaks",
        "classic": "sightline.features.local.layout:Classic",
        "visterms": "sightline.features.local.visterms:Visterms",
        "fisher": "sightline.features.local.fisher:Fisher",
        "gaussians": "sightline.features.local.gaussians:Gaussians",
        "sift-200": "sightline.features.local.keypoints:Sift200",
        "sift-1000": "sightline.features.local.keypoints:Sift1000",
        "dense-sift-200": "sightline.features.local.keypoints:DenseSift200",
        "dense-sift-1000": "sightline.features.local.keypoints:DenseSift1000",
        "color": "sightline.features.whole.color:ColorMoments",
        "edges": "sightline.features.whole.edges:EdgeDirections",
        "gabor": "sightline.features.whole.gabor:GaborMoments",
        "lbp": "sightline.features.whole.lbp:Patterns",
        "gist": "sightline.features.whole.gist:Gist",
        "ehd": "sightline.features.whole.ehd:EdgeHistogram",
        "cedd": "sightline.features.whole.cedd:CEDD",
        "regions": "sightline.regions.feature:RegionWords",
        "regions-deep": "sightline.regions.feature:DeepRegions",
    },
    "word_files": {".csv": _TABLE, ".tsv": _TABLE, ".json": _TABLE, ".jsonl": _TABLE},
}

# Names of sets of features.
SETS = {
    "deep-all": ("deep", "deep-stages", "deep-peaks"),
    "classic-all": ("classic", "visterms"),
    "whole-all": (
        "color", "edges", "gabor", "lbp", "gist",
        "sift-200", "sift-1000", "dense-sift-200", "dense-sift-1000",
    ),
    "best": (
        "deep", "deep-stages", "deep-peaks", "deep-medium", "deep-medium-stages",
        "deep-medium-peaks", "deep-large", "deep-large-stages", "deep-large-peaks", "fisher",
    ),
}  # fmt: skip

# Features that are not vectors: pictures are neither ranked nor compared by them.
NO_VECTORS = frozenset({"regions", "regions-deep"})

Register = Callable[[str, str], None]
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


def names(kind: str) -> dict[str, str]:
    """Return the known names of a kind with their import paths.

    A plugin cannot replace a built-in name.

    >>> sorted(names("word_files"))
    ['.csv', '.json', '.jsonl', '.tsv']
    """
    places = dict(BUILT_IN[kind])
    for plugin in getattr(manager().hook, f"register_{kind}").get_hookimpls():
        try:
            plugin.function(register=lambda name, place: places.setdefault(name, place))
        except Exception as e:
            # Code of another package: whatever it raises, the message names the plugin.
            raise UsageError(f"The plugin {plugin.plugin_name} failed: {e!r}.") from e
    return places


def expanded(features: Iterable[str]) -> list[str]:
    """Return names of features with sets expanded and duplicates removed.

    >>> expanded(["deep", "deep-all"])
    ['deep', 'deep-stages', 'deep-peaks']
    """
    names = [f for name in features for f in SETS.get(name, (name,))]
    return list(dict.fromkeys(names))


def place(kind: str, name: str) -> str:
    """Return the import path of a name; plugins are loaded only if it is not built in."""
    built_in = BUILT_IN[kind].get(name)
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
