"""The examples in the guide are logs that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sightline.exchange.clicklogs import read_clicks

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


@pytest.mark.parametrize(("fence", "form"), [("ubi", "UBI"), ("metarank", "Metarank")])
def test_the_example_of_a_format_says_the_same(tmp_path: Path, fence: str, form: str) -> None:
    found = re.search(
        rf"^```{fence}\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found is not None
    path = tmp_path / "log"
    path.write_text(found.group(1), encoding="utf-8")
    log = read_clicks([str(path)])
    (only,) = log.impressions
    assert log.formats == (form,) and not log.skipped.counts
    assert (only.query, only.clicked) == ("winter", ("trips/3.jpg",))
    assert only.shown == ("trips/1.jpg", "trips/2.jpg", "trips/3.jpg")
