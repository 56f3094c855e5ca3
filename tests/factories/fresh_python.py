"""Code in a fresh Python, where nothing was imported or compiled yet."""

from __future__ import annotations

import os
import subprocess
import sys


def output_of(code: str, **environment: str) -> str:
    """Return what code prints, with warnings as errors and some more in the environment."""
    command = [sys.executable, "-W", "error", "-c", code]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def output_without_compiler(code: str) -> str:
    """Return what code prints where numba leaves functions as they are."""
    return output_of(code, NUMBA_DISABLE_JIT="1")


def imported_by(*modules: str) -> set[str]:
    """Return all modules there are after some were imported."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    loaded = set(output_of(code).split())
    assert loaded >= set(modules)
    return loaded
