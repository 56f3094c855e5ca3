"""Training time: against the number of triplets, and with very many of them.

CPU seconds of training alone; comparing pictures comes before it, is the same for all methods, and
is measured separately.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Floats
from sightline.combiners.linear import Combiner
from sightline.contracts import Progress
from sightline.errors import MissingExtra
from sightline_experiments.online.methods import METHODS, law_of
from sightline_experiments.online.protocol import Task
from sightline_experiments.tuning import Settings

_PORTION = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Large:
    """A method fitted to very many triplets: CPU seconds, and the fitted combiner."""

    method: str
    seconds: float
    combiner: Combiner


def time_methods(
    task: Task, chosen: Mapping[str, Settings], sizes: Sequence[int], progress: Progress
) -> dict[str, list[tuple[int, float]]]:
    """Return (triplets, CPU seconds) for each trained method, with the chosen settings."""
    learning = [m for m in chosen if METHODS[m].kind != "fixed"]
    times: dict[str, list[tuple[int, float]]] = {}
    progress.start("training time", len(learning) * len(sizes))
    for name in learning:
        warm(task, name, chosen[name])
        points = []
        for n in sizes:
            if n <= task.n_triplets:
                points.append((n, METHODS[name].fit(task, chosen[name], n)[1]))
            progress.advance()
        times[name] = points
    progress.finish()
    return times


def warm(task: Task, name: str, settings: Settings) -> None:
    """Train with very few triplets, so that compilation at first use is not timed."""
    method = METHODS[name]
    if method.form == "differences":
        method.combiner(settings).fit(task.drawn(law_of(settings)).differences[:10])


def learn_from_many(
    task: Task, chosen: Mapping[str, Settings], n: int, progress: Progress
) -> tuple[list[Large], float]:
    """Fit methods of differences to n triplets of the law `queries`.

    Returns the fitted methods, and the CPU seconds that comparing pictures took.
    """
    names = [m for m in chosen if METHODS[m].form == "differences"]
    learners = {m: METHODS[m].combiner(chosen[m]) for m in names}
    online = [m for m in names if METHODS[m].kind == "online"]
    seconds, comparing = dict.fromkeys(names, 0.0), 0.0
    triplets, source = task.triplets("queries", n), task.source
    for m in names:
        warm(task, m, chosen[m])
    rows: list[Floats] = []
    progress.start(f"{n:,} triplets", n)
    for begin in range(0, len(triplets), _PORTION):
        part = slice(begin, begin + _PORTION)
        t, begun = triplets, time.process_time()
        rows.append(source.differences(t.query[part], t.first[part], t.second[part], t.y[part]))
        comparing += time.process_time() - begun
        for m in online:
            begun = time.process_time()
            learners[m].partial_fit(rows[-1])
            seconds[m] += time.process_time() - begun
        progress.advance(len(rows[-1]))
    progress.finish()
    whole = np.concatenate(rows)
    rows.clear()
    for m in [m for m in names if m not in online]:
        begun = time.process_time()
        try:
            learners[m].fit(whole)
        except MissingExtra:
            del learners[m]
            continue
        seconds[m] = time.process_time() - begun
    return [Large(m, seconds[m], combiner) for m, combiner in learners.items()], comparing
