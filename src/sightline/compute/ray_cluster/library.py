"""Importing Ray silently, and the token by which clusters admit programs.

Ray reads its environment variables when it is imported. A program may have imported it before us,
so what is set here is also read again, by functions that Ray has for that.
"""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightline.errors import ComputeError

Before = tuple[tuple[str, str | None], ...]
_MODE, _TOKEN, _TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_LOOPBACK, _NICENESS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_worker_niceness"


def load_ray() -> Any:
    """Import Ray, without its output and usage statistics."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # Keeps Ray from warning at the start of each worker that it has no graphics card.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Otherwise any call after a cluster was left starts another cluster.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # Advice for callers of Ray; the size of batches is chosen on purpose.
    warnings.filterwarnings("ignore", "More than 10MB of messages", UserWarning)
    ray = importlib.import_module("ray")
    # It prints pages about dead machines to stdout, which other programs parse.
    ray._private.worker.print_to_stdstream = _print_nothing
    return ray


def _print_nothing(*args: object, **kwargs: object) -> None:
    """Print nothing."""


def in_a_cluster() -> bool:
    """Return whether this program is in a cluster already."""
    return "ray" in sys.modules and bool(load_ray().is_initialized())


def own_token() -> str:
    """Return this program's token, from where Ray looks for it; "" if there is none."""
    if token := os.environ.get(_TOKEN, ""):
        return token.strip()
    path = os.environ.get(_TOKEN_PATH) or Path.home() / ".ray" / "auth_token"
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def send_token() -> Before:
    """Send the token to the cluster that is joined; a cluster without one ignores it.

    Ray itself sends it only to a cluster it found by itself.
    """
    if _MODE in os.environ or not own_token():
        return ()
    return _set({_MODE: "token"})


def isolate() -> Before:
    """Have a new cluster listen on loopback only, with its own token."""
    # Ray listens at this machine's network address unless this variable, which is named after two
    # other systems, says that no other machine joins. By default Ray gives its workers a low
    # priority; ours keep the normal one.
    settings = {_MODE: "token", _TOKEN: secrets.token_hex(32), _LOOPBACK: "0"}
    return _set({_NICENESS: os.environ.get(_NICENESS, "0"), **settings})


def restore(before: Before) -> None:
    """Restore environment variables: the token of one cluster is not for another."""
    if before:
        _set(dict(before))


def _set(variables: Mapping[str, str | None]) -> Before:
    before = tuple((name, os.environ.get(name)) for name in variables)
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "ray" in sys.modules:
        _read_again()
    return before


def _read_again() -> None:
    """Have Ray read its environment variables again."""
    try:
        raylet: Any = importlib.import_module("ray._raylet")
        constants: Any = importlib.import_module("ray._private.ray_constants")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()
        network = constants.env_bool(_LOOPBACK, not constants.IS_WINDOWS_OR_OSX)
        constants.ENABLE_RAY_CLUSTER = network
    except (ImportError, AttributeError) as e:
        raise ComputeError(
            "Ray was imported before Sightline could set it up. Import "
            "sightline.compute.ray_cluster first, or call ray.init yourself."
        ) from e
