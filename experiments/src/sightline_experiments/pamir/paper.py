"""The figures that paper A prints (`paper.toml`)."""

from __future__ import annotations

from sightline_experiments.printed import read_paper

_PAPER = read_paper(__package__)

# By method, group of queries and measure.
FIGURES: dict[tuple[str, str, str], float] = {
    (method, group, measure): value
    for group, measures in _PAPER["figures"].items()
    for measure, values in measures.items()
    for method, value in values.items()
}
GAINS: dict[str, float] = _PAPER["gains"]
CEILING_P10: float = _PAPER["ceiling_p10"]
QUERY_SECONDS: float = _PAPER["query_seconds"]

_DATA = _PAPER["data"]
TRAIN_PICTURES: int = _DATA["train_pictures"]
VALIDATION_PICTURES: int = _DATA["validation_pictures"]
TEST_PICTURES: int = _DATA["test_pictures"]
TRAIN_RELEVANT: float = _DATA["train_relevant"]
TEST_QUERIES: int = _DATA["test_queries"]
VOCABULARY: int = _DATA["vocabulary"]
TRIPLETS: float = _DATA["triplets"]
STEPS: float = _DATA["steps"]
GROUPS: dict[str, int] = _PAPER["groups"]
SETTINGS: dict[str, str] = _PAPER["settings"]
