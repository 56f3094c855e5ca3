"""Plugins and packages with plugins, registered as long as a test needs them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

from sightline import plugins
from tests.factories.worker_tasks import HERE, let_workers_import

if TYPE_CHECKING:
    import pytest

_hook = pluggy.HookimplMarker("sightline")


class Plugin:
    """A plugin as another package would register it: classes of `plugin_features`."""

    def __init__(self, *features: tuple[str, str]) -> None:
        self.features = features

    @_hook
    def register_features(self, register: plugins.Register) -> None:
        for name, feature in self.features:
            register(name, f"plugin_features:{feature}")


@contextlib.contextmanager
def plugged(monkeypatch: pytest.MonkeyPatch, *features: tuple[str, str]) -> Iterator[None]:
    """Register features by name and class, here and in workers; by default `mean-colour`."""
    let_workers_import(monkeypatch)
    plugin = Plugin(*(features or [("mean-colour", "MeanColour")]))
    plugins.manager().register(plugin)
    try:
        yield
    finally:
        plugins.manager().unregister(plugin)


def install_package(folder: Path, name: str, module: str) -> None:
    """Install a package with a plugin module, as pip would; the module is from this folder."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sightline]\n{name} = {module}\n")
    (folder / f"{module}.py").write_bytes(HERE.joinpath(f"{module}.py").read_bytes())


@contextlib.contextmanager
def installed(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Make the packages of a folder importable, here and in new processes."""
    before = set(sys.modules)
    with monkeypatch.context() as m:
        m.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        m.syspath_prepend(str(folder))
        m.setattr(plugins, "_manager", None)
        yield
    for module in set(sys.modules) - before:
        if (sys.modules[module].__file__ or "").startswith(str(folder)):
            del sys.modules[module]
