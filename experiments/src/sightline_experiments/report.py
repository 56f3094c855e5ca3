"""Tables of results as lines of text, shared by all experiments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sightline.measures.significance import PairedTest, p_text

# For a figure that a paper does not have, or that was not measured.
MISSING = "–"


def fraction(value: float | None, scale: float = 1.0, digits: int = 4) -> str:
    """Return a figure, or the sign for a missing one.

    >>> fraction(0.5), fraction(None)
    ('0.5000', '–')
    """
    return MISSING if value is None else f"{scale * value:.{digits}f}"


def mean_and_std(values: Sequence[float], digits: int = 4) -> str:
    """Return the mean over splits and, of several, their standard deviation.

    >>> mean_and_std([0.5, 0.7]), mean_and_std([0.5]), mean_and_std([])
    ('0.6000 ± 0.1000', '0.5000', '–')
    """
    if not values:
        return MISSING
    spread = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def paired_test(test: PairedTest) -> str:
    """Return a significance test as text: difference, p and how many queries differ."""
    return (
        f"{test.difference:+.4f}  p {p_text(test.p):<8}"
        f"({test.helped:,} better, {test.harmed:,} worse)"
    )


def unavailable(title: str) -> Iterator[str]:
    """Yield the lines about a missing dataset."""
    yield ""
    yield f"{title:<16} data unavailable"


def notes(texts: Iterable[str]) -> Iterator[str]:
    """Yield what was left out, and why."""
    for text in texts:
        yield f"Note: {text}"
