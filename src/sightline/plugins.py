"""Plugins: parts from other packages, found by name.

A package adds parts by an entry point in the group `sightline` that names a module with any of the
hooks below, each marked with `@sightline.plugins.hookimpl`. Built-in parts stand in a table, so
that nothing is searched for unless a name is not among them.

register_features(register)
    Call `register(name, "package.module:attribute")` for each feature; the attribute, called
    without arguments, gives an object that keeps `sightline.contracts.Feature`.
register_word_files(register)
    Call `register(".ending", "package.module:function")` for each kind of file with words for
    many pictures; the function takes (path, root) as bytes and returns a `WordsFile`.

Commands of the command line are entry points of their own, in the group `sightline.commands`: the
name of the command and `package.module:attribute`, which is a click command. `sightline --help`
lists them, so that they are found without pluggy and without importing any other plugin.
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

# Names for several features at once.
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

# Features that are no vectors: pictures are neither ranked nor compared by them.
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
    """Make `hookimpl`, the mark of a plugin's hooks, without importing pluggy for everybody."""
    if name == "hookimpl":
        import pluggy

        return pluggy.HookimplMarker(GROUP)
    raise AttributeError(f"module 'sightline.plugins' has no attribute {name!r}")


class Hooks:
    """What a plugin may define; the arguments are given by name."""

    def register_features(self, register: Register) -> None:
        """Add features."""

    def register_word_files(self, register: Register) -> None:
        """Add readers of files with words for many pictures."""


def names(kind: str) -> dict[str, str]:
    """Return every known part of a kind: name to dotted place; built-in names cannot be taken.

    >>> sorted(names("word_files"))
    ['.csv', '.json', '.jsonl', '.tsv']
    """
    found = dict(BUILT_IN[kind])
    for plugin in getattr(manager().hook, f"register_{kind}").get_hookimpls():
        try:
            plugin.function(register=lambda name, place: found.setdefault(name, place))
        except Exception as e:
            # Somebody else's code: whatever it raises, say whose it is.
            raise UsageError(f"The plugin {plugin.plugin_name} failed: {e!r}.") from e
    return found


def expanded(features: Iterable[str]) -> list[str]:
    """Return names of features, those of a set one by one, none twice.

    >>> expanded(["deep", "deep-all"])
    ['deep', 'deep-stages', 'deep-peaks']
    """
    found = [f for name in features for f in SETS.get(name, (name,))]
    return list(dict.fromkeys(found))


def place(kind: str, name: str) -> str:
    """Return the dotted place of a part; plugins are loaded only if it is not built in."""
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
    """Return the part itself."""
    module, _, attribute = place(kind, name).partition(":")
    return getattr(importlib.import_module(module), attribute)


def commands() -> dict[str, str]:
    """Return the commands that installed packages add: name to `package.module:attribute`.

    Only `entry_points.txt` of each package is read. `importlib.metadata.entry_points` parses the
    metadata of every installed package first, which doubles the time of `sightline --help`.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        for file in _entry_point_files(folder):
            for name, place in _section(file, COMMANDS):
                found.setdefault(name, place)
    return found


def _entry_point_files(folder: str) -> list[str]:
    try:
        entries = sorted(e.path for e in os.scandir(folder or ".") if e.name.endswith(".dist-info"))
    except OSError:  # A zip file, or a folder that is missing: it holds no installed package.
        return []
    return [os.path.join(entry, "entry_points.txt") for entry in entries]


def _section(file: str, section: str) -> list[tuple[str, str]]:
    """Return the entries of one section of an `entry_points.txt`."""
    try:
        with open(file, encoding="utf-8") as f:
            text = f.read()
    except (OSError, UnicodeDecodeError):
        return []
    _, found, rest = text.partition(f"[{section}]")
    lines = rest.partition("\n[")[0].splitlines() if found else []
    pairs = [line.partition("=") for line in lines if "=" in line]
    return [(name.strip(), place.strip()) for name, _, place in pairs]
