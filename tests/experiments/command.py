"""Experiments of the command line, as people call them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sightline.cli import main
from tests.factories.corel5k import pack


def reproduce(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run an experiment; return its exit code and what it wrote to stdout and stderr."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *arguments])
    out, err = capfd.readouterr()
    return (ended.value.code if isinstance(ended.value.code, int) else 1), out, err


def data_here(
    monkeypatch: pytest.MonkeyPatch, folder: Path, files: Mapping[str, bytes], name: str
) -> Path:
    """Go to a folder, and return one in it that holds files as a zip of this name."""
    monkeypatch.chdir(folder)
    data = folder / "data"
    data.mkdir()
    pack(dict(files), data / name)
    return data
