"""The figures that paper C prints (`paper.toml`), and how its inputs differ from ours."""

from __future__ import annotations

from sightline_experiments.printed import read_paper

Table = dict[tuple[str, str], dict[str, float]]

_PAPER = read_paper(__package__)


def _table(title: str) -> Table:
    """Return a data set's figures by direction and measure, then by method."""
    directions = _PAPER[title].items()
    return {(d, measure): values for d, table in directions for measure, values in table.items()}


TEXT, PICTURE = "text->picture", "picture->text"
WIKIPEDIA = _table("Wikipedia")
NUS_WIDE = _table("NUS-WIDE")
UNSURE: set[tuple[str, str, str]] = {(d, m, method) for d, m, method in _PAPER["unsure"]}
NUS_PICTURES: int = _PAPER["nus_pictures"]
GAIN: float = _PAPER["gain"]
BEST_DIMENSIONS: int = _PAPER["best_dimensions"]
DIFFERENCE = (
    "The paper has tf-idf of 5,000 words and 1,000 visual words; these are not published. Here: 10 "
    "topics of a text and 128 visual words of a picture, mapped for the kernel exp(-chi2 / s)."
)
NUS_DIFFERENCE = (
    "NUS-WIDE: the paper has the same published tags and visual words. Here both are weighted by "
    "tf-idf of training pictures and have length 1; the paper does not say how it weights them, "
    "nor which pictures are for what: here they are drawn at random."
)
