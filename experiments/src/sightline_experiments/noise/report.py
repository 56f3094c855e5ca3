"""What a run shows: AvgP with clean and noisy tags, and how well wrong tags are found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sightline_experiments.noise.results import CLEAN, NoiseResults, headline
from sightline_experiments.report import mean_and_std, notes

_NAME = 24


def lines(results: NoiseResults) -> Iterator[str]:
    """Yield every table."""
    last = ""
    for title, method, name in results.rows():
        if title != last:
            yield ""
            yield f"{title}: mean AvgP on clean test pictures; loss against clean tags"
            last = title
        values = results.values(title, method, name)
        text = f"{method + ', ' + name:<{_NAME}}{mean_and_std(values)}"
        if name != CLEAN:
            (clean,) = results.values(title, method, CLEAN)
            text += f"   loss {clean - float(np.mean(values)):+.4f}"
        (*_, single) = [float(np.mean(results.values(title, method, name, "single")))]
        yield f"{text}   single words {single:.4f}"
    yield from _suspected(results)
    yield from notes(results.notes)


def _suspected(results: NoiseResults) -> Iterator[str]:
    yield ""
    yield "Suspected mislabels: tags by their probability of being wrong"
    for title, name in dict.fromkeys((t, n) for t, n, _, _ in results.suspicions):
        runs = [s for t, n, _, s in results.suspicions if (t, n) == (title, name)]
        tags = sum(s.tags for s in runs)
        suspected = sum(s.suspected for s in runs) / tags
        text = f"{title}, {name}: {suspected:.1%} of {tags:,} tags are suspected"
        if name != CLEAN:
            recall = float(np.mean([s.recall for s in runs]))
            text += f"; precision {headline(runs):.3f} at recall .5, recall {recall:.3f} at .8"
        yield text
        for s in runs[:1] if name != CLEAN else ():
            for b in s.bins:
                span = f"{b.low:g} to {b.high:g}"
                yield f"  {span:<12}{b.tags:>7} tags: {b.predicted:.2f} predicted, {b.wrong:.2f} made wrong"  # noqa: E501
