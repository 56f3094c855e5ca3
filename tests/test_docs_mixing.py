"""The page about scale quotes what was measured of shards, and the shipped ways lose no more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from sightline.combiners.opar import OPARII
from sightline.rankers.pamir import PAMIR

ROOT = Path(__file__).parent.parent
KEPT = json.loads((ROOT / "docs" / "results" / "mixing.json").read_bytes())
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
NAMES = {"visterms": "b64_k2000", "network": "deep", "OPAR-II": "OPAR-II"}


def figures() -> dict[tuple[str, str, int], float]:
    """Return the mean AvgP of each way to mix: by what was learnt, how, and in how many shards."""
    assert KEPT["experiment"] == "mixing" and KEPT["settings"]["commit"]
    assert KEPT["settings"]["splits"] == 5
    return {(r["what"], r["mix"], r["shards"]): float(np.mean(r["AvgP"])) for r in KEPT["rows"]}


def test_the_page_quotes_what_was_measured() -> None:
    found, seen = figures(), 0
    for line in PAGE.splitlines():
        if not re.match(r"\| (PAMIR|OPAR-II), ", line):
            continue
        said, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        what = next(v for k, v in NAMES.items() if k in said)
        mix = "add" if "added" in said else "mean"
        want = [f"{found[what, mix, n]:.4f}".removeprefix("0") for n in (1, 2, 4, 8)]
        assert cells == want, said
        seen += 1
    assert seen == 6


def test_the_ways_that_are_shipped_lose_at_most_five_thousandths() -> None:
    found = figures()
    for what, mix in (("b64_k2000", PAMIR().mix), ("deep", PAMIR().mix), ("OPAR-II", OPARII().mix)):
        for shards in (2, 4, 8):
            assert found[what, mix, 1] - found[what, mix, shards] <= 0.005
