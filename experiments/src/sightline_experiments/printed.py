"""The figures that the papers print, kept as data: `paper.toml` in each experiment's package."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def read_paper(package: str) -> dict[str, Any]:
    """Return the content of a package's `paper.toml`.

    >>> read_paper("sightline_experiments.online")["mAP"]["Caltech-101"]["OPR"]
    0.3285
    """
    return tomllib.loads(resources.files(package).joinpath("paper.toml").read_text("utf-8"))
