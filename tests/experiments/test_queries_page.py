"""The page of questions to real collections states what its data shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.measures.figures import Compared, Figure, Figures
from sightline_experiments.pages import render

WORDS, TITLE = "published words", "Corel5K"
PLACE = f"({TITLE}, {WORDS}, minus)"


def row(method: str, measure: str, value: float, at: str | None = None) -> Figure:
    return Figure(method, measure, value, WORDS, TITLE, "minus", at=at, n=10)


def asked(share: float, avgp: float) -> Figures:
    """Return the figures of questions with a minus, by the share of the excluded word and AvgP."""
    collection = {"tagged": 4500, "measured": 499, "recipe": "ridge", "ridge": {}}
    settings = {"features": ["color"], "rankers": "default",
                "collections": {f"{TITLE}, {WORDS}": collection}}  # fmt: skip
    figures = Figures("queries", settings)  # type: ignore[arg-type]
    for method, own in (("sightline", avgp), ("ridge", 0.5)):
        for at, value, shares in ((None, own, share), ("plain question", 0.55, 0.2)):
            values = {"AvgP": value, "P10": 0.3, "hits": 3.0, "shown": 15.0,
                      "share with the signed word": shares,
                      "share with the signed word, uncut": 2 * shares}  # fmt: skip
            figures.rows += [row(method, name, v, at) for name, v in values.items()]
    figures.tests += [
        Compared(f"sightline {PLACE}", f"{other} {PLACE}", "AvgP", 0.0005)
        for other in ("ridge", "sightline, plain question")
    ]
    return figures


def calibrated(errors: dict[int, float], skill: float = 0.4) -> Figures:
    figures = Figures("queries", {"features": ["color"], "collections": {}})
    for size, error in errors.items():
        for name, value in (("calibration error", error), ("Brier skill", skill)):
            figures.rows.append(
                Figure("sightline", name, value, WORDS, TITLE, "calibration", at=size, spread=0.01)
            )
    return figures


def page(folder: Path, *runs: Figures) -> str:
    for number, figures in enumerate(runs):
        figures.write(folder / f"queries-{number}.json")
    return render("queries", folder)


def test_both_runs_of_a_set_are_on_the_page(tmp_path: Path) -> None:
    text = page(tmp_path, asked(0.04, 0.6), calibrated({100: 0.07, 4500: 0.02}))
    assert "| Corel5K, published words | 4,500 | 499 | the default | `ridge` |" in text
    assert "| minus | sightline | .600 [.550] / .300 / 3.0 |" in text
    assert "| Corel5K | minus | sightline | 15.0 and 15.0 | .040 and .200: 0.20 times |" in text
    assert "| 4,500 | .020 ± .010; .400 ± .010 |" in text
    assert "indexed with `color`" in text


def test_statements_follow_the_figures(tmp_path: Path) -> None:
    text = page(tmp_path, asked(0.04, 0.6), calibrated({100: 0.07, 4500: 0.02}))
    assert "significantly above that of the word alone on Corel5K (p < .001)" in text
    assert "significantly above that of ridge for: minus (every column)" in text
    assert "hits that are shown: reached on Corel5K (0.20 times)" in text
    assert ".08 at 100 pictures of Corel5K reached" in text
    assert ".03 at 4,500 pictures of Corel5K reached" in text
    assert "The Brier skill is above 0 everywhere" in text
    text = page(tmp_path, asked(0.06, 0.4), calibrated({100: 0.09, 4500: 0.02}, -0.1))
    assert "significantly below that of the word alone on Corel5K" in text
    assert "significantly above that of ridge for: none" in text
    assert "hits that are shown: not reached on Corel5K (0.30 times)" in text
    assert ".08 at 100 pictures of Corel5K not reached" in text
    assert "not at 100 pictures of Corel5K and 4,500 pictures of Corel5K" in text


def test_a_figure_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="need one"):
        page(tmp_path, asked(0.04, 0.6), asked(0.05, 0.6), calibrated({100: 0.07}))
