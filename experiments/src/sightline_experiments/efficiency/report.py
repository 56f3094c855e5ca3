"""What a run shows: AvgP by the number of tags a word has, and how many are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sightline_experiments import report
from sightline_experiments.efficiency.methods import METHODS, RIDGE
from sightline_experiments.efficiency.results import EfficiencyResults, standard_error


def lines(results: EfficiencyResults) -> Iterator[str]:
    """Yield every table."""
    for title, n_words in results.words.items():
        yield ""
        yield f"{title}: mean AvgP of {n_words} single words by the tags a word has, ± its standard"
        yield f"error over draws; measured on {results.settings['measured on']}"
        yield f"{'tags':>6}" + "".join(f"{m:>24}" for m in METHODS)
        for n in results.numbers(title):
            cells = "".join(f"{_with_error(results.values(title, m, n), 4):>24}" for m in METHODS)
            yield f"{n:>6}{cells}"
        needed = results.needed(title)
        if needed:
            compared = results.settings["compared"]
            text = _with_error(needed, 1)
            yield f"tags a word needed for the AvgP {RIDGE} has with {compared}: {text}"
    for title in results.unavailable:
        yield from report.unavailable(title)
    yield from report.notes(results.notes)


def _with_error(values: Sequence[float], digits: int) -> str:
    error = standard_error(values)
    text = f"{np.mean(values):.{digits}f}"
    return text if error is None else f"{text} ± {error:.{digits}f}"
