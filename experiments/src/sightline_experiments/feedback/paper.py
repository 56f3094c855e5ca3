"""The statements of paper B about its curves, checked by our figures; it prints no table.

Piras, Giacinto and Paredes, 2013, section 4.3, on Caltech-101 and -256 with EHD and CEDD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sightline_experiments.feedback.methods import KERNEL, LINEAR, MACHINE, NEAREST, PAPERS
from sightline_experiments.feedback.sessions import Track

PAPERS_FEATURES = ("ehd", "cedd")
# The round from which on linear PA is ahead in AP@T in the paper.
_AHEAD_FROM = 4


def claims(features: str, tracks: Mapping[str, Track]) -> Iterator[tuple[str, bool]]:
    """Yield the paper's statements about a set of features, and whether they hold here."""
    if features not in PAPERS_FEATURES or not all(m in tracks for m in PAPERS):
        return
    baselines = [m for m in PAPERS if m != LINEAR]
    precision = {m: tracks[m].precision.mean(axis=1) for m in PAPERS}
    average = {m: tracks[m].average.mean(axis=1) for m in PAPERS}
    ours = average[LINEAR]
    late = slice(min(_AHEAD_FROM, len(ours) - 1), None)
    yield (
        "linear PA has the highest P@20 at the end",
        all(precision[LINEAR][-1] > precision[m][-1] for m in baselines),
    )
    yield (
        "linear PA has the highest AP@T at the end",
        all(ours[-1] > average[m][-1] for m in baselines),
    )
    yield (
        f"linear PA has the highest AP@T from round {_AHEAD_FROM} on",
        all(bool(np.all(ours[late] > average[m][late])) for m in baselines),
    )
    yield (
        "linear PA is ahead of RS by less than of SVM, in AP@T at the end",
        ours[-1] - average[NEAREST][-1] < ours[-1] - average[MACHINE][-1],
    )
    yield (
        "kernel PA is not below linear PA after one round, in AP@T",
        average[KERNEL][1] >= ours[1],
    )
    above = average[KERNEL][-1] > average[MACHINE][-1]
    if features == "ehd":
        yield "kernel PA is above SVM, in AP@T at the end", bool(above)
    else:
        yield "kernel PA is below SVM, in AP@T at the end", not above
