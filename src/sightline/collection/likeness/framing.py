"""Which frame each descriptor is laid out in, decided by validation queries.

Each is tried alone, all measures counting alike, on some pictures that are not held out; what is
best there is taken, if it gains .005 of mean AvgP over rows as the store has them: of eight that
are equally good one looks a little better by chance. Descriptors that are long are tried in fewer
frames, so that training stays a matter of seconds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sightline.collection.learning.views import View
from sightline.collection.likeness.combination import evenly
from sightline.collection.likeness.descriptors import Described, Framed, Int
from sightline.collection.likeness.grounds import Grounds
from sightline.collection.likeness.learners import Asking, asking
from sightline.similarity.frames import FRAMES, PLAIN, Frame

PICTURES = 1_000
QUERIES = 60
PAIRS = 2_000
LEAST = 0.005
# Longer descriptors are tried in the frames that cost little; what these cost grows with the
# square of a descriptor's length at least.
LONG = 600
_QUICK = (PLAIN, "root", "reduced")


def frames_to_try(view: View) -> tuple[str, ...]:
    """Return the frames that a descriptor may get; a sparse one stays as it is."""
    if hasattr(view, "tocsr"):
        return (PLAIN,)
    return FRAMES if view.shape[1] <= LONG else _QUICK


def choose_frames(
    grounds: Grounds, data: Described, queries: Int, pictures: Int
) -> tuple[Frame, ...]:
    """Return the best frame of each descriptor; the plain one where there is no query to ask.

    Parameters
    ----------
    queries, pictures : positions of those that ask, and of those that frames learn from; some of
        the latter are ranked.
    """
    few = pictures
    if len(few) > PICTURES:
        few = np.sort(np.random.default_rng(0).choice(pictures, PICTURES, replace=False))
    plain = Framed(data.views, data.have)
    judges = asking(grounds, plain, queries, few, QUERIES)
    return tuple(_best(judges, data, v, pictures) for v in range(len(data.views)))


def _best(judges: Asking, data: Described, v: int, pictures: Int) -> Frame:
    rows = data.views[v]
    tried = [Frame.of(kind, rows[pictures]) for kind in frames_to_try(rows)]
    if len(tried) == 1 or not len(judges):
        return tried[0]
    one = Described((rows,), data.have[:, v : v + 1])
    worth = []
    for frame in tried:
        alike = evenly(("",), (frame,), one.only(pictures), PAIRS)
        asked = replace(judges, data=alike.framed(one))
        worth.append(float(asked.avgp(alike, [alike.w]).mean()))
    best = int(np.argmax(worth))
    return tried[best if worth[best] >= worth[0] + LEAST else 0]
