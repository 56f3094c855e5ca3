"""Experiments of the command line, as people call them."""

from __future__ import annotations

import pytest

from sightline.cli import main


def reproduce(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run an experiment; return its exit code and what it wrote to stdout and stderr."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *arguments])
    out, err = capfd.readouterr()
    return (ended.value.code if isinstance(ended.value.code, int) else 1), out, err
