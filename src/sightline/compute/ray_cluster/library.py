"""The library, as quiet as we want it, and the secret by which clusters let programs in.

The library reads its environment when it is imported. A program may have imported it before us, so
that what is set here is also read again, by the functions the library has for that.
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
    """Return the library, silent and without statistics."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # A worker that wants no graphics card must not be told of that at every start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Otherwise whatever is asked of it after a cluster was left starts another one.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # Advice for whoever calls the library; batches are as large as they are on purpose.
    warnings.filterwarnings("ignore", "More than 10MB of messages", UserWarning)
    ray = importlib.import_module("ray")
    # It prints pages to stdout about machines that died, among what other programs are to read.
    ray._private.worker.print_to_stdstream = _unheard
    return ray


def _unheard(*said: object, **more: object) -> None:
    """Print nothing."""


def in_a_cluster() -> bool:
    """Return whether this program is in a cluster already."""
    return "ray" in sys.modules and bool(load_ray().is_initialized())


def own_token() -> str:
    """Return the secret this program has for clusters, from where the library looks; "" if none."""
    if said := os.environ.get(_TOKEN, ""):
        return said.strip()
    path = os.environ.get(_TOKEN_PATH) or Path.home() / ".ray" / "auth_token"
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def show_token() -> Before:
    """Have the secret shown to the cluster that is joined; a cluster without one looks at none.

    The library itself shows it only to a cluster it found by itself.
    """
    if _MODE in os.environ or not own_token():
        return ()
    return _set({_MODE: "token"})


def stay_alone() -> Before:
    """Have a cluster that is started take part in no network, with a secret of its own."""
    # The library takes this machine's address in the network unless it is told, by the name of
    # two other systems, that no other machine is to join. Its workers would give way to everything
    # else on the machine, and ours do not.
    own = {_MODE: "token", _TOKEN: secrets.token_hex(32), _LOOPBACK: "0"}
    return _set({_NICENESS: os.environ.get(_NICENESS, "0"), **own})


def restore(before: Before) -> None:
    """Set variables as they were: the secret of one cluster opens no other."""
    if before:
        _set(dict(before))


def _set(wanted: Mapping[str, str | None]) -> Before:
    before = tuple((name, os.environ.get(name)) for name in wanted)
    for name, value in wanted.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "ray" in sys.modules:
        _read_again()
    return before


def _read_again() -> None:
    """Have the library look at its environment anew."""
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
            "sightline.compute.ray_cluster first, or call ray.init before, and its cluster is used."
        ) from e
