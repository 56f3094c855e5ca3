"""Features of a plugin, as long as a test wants them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pluggy

from sightline import plugins
from tests.factories.worker_tasks import let_workers_import

if TYPE_CHECKING:
    import pytest

_hook = pluggy.HookimplMarker("sightline")


class Plugin:
    """What another package would register by its entry point: classes of `plugin_features`."""

    def __init__(self, *features: tuple[str, str]) -> None:
        self.features = features

    @_hook
    def register_features(self, register: plugins.Register) -> None:
        for name, feature in self.features:
            register(name, f"plugin_features:{feature}")


@contextlib.contextmanager
def plugged(monkeypatch: pytest.MonkeyPatch, *features: tuple[str, str]) -> Iterator[None]:
    """Have features, given by name and class, here and in workers; without any, `mean-colour`."""
    let_workers_import(monkeypatch)
    plugin = Plugin(*(features or [("mean-colour", "MeanColour")]))
    plugins.manager().register(plugin)
    try:
        yield
    finally:
        plugins.manager().unregister(plugin)
