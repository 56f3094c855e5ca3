"""What there is to say about a ranking: what was not learnt, which judgements are doubted."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.collection.sessions.record import Record
from sightline.collection.sessions.rounds import Ground, Learnt
from sightline.records import Hit, shown

# More are not named.
NAMED = 5


def remarks(
    record: Record, learnt: Learnt, found: bool, ground: Ground, doubted: Sequence[Hit]
) -> list[str]:
    """Say why nothing was learnt yet, what could not be, and why there is no hit."""
    said = []
    judged = record.judged
    if ground.space is not None and judged and learnt.weights is None:
        fit = any(judged.values()) or bool(len(ground.asked))
        if fit and not all(judged.values()):
            said.append("What was learnt orders judged pictures no better; the ranking stays.")
        else:
            lacking = "do not fit" if fit else "fit"
            said.append(f"The ranking stays until some pictures that {lacking} are judged too.")
    if learnt.slips:
        said.append(_of_slips(learnt.slips, doubted, judged))
    if learnt.gone:
        n = learnt.gone
        said.append(f"{n} judged picture{'s' * (n > 1)} can no longer be learnt from.")
    if not found:
        said.append(_why_nothing(ground, bool(judged)))
    return said


def _of_slips(slips: frozenset[int], doubted: Sequence[Hit], judged: dict[int, bool]) -> str:
    """Name the judgements that are doubted, as many as can be read at a glance.

    >>> hits = [Hit(3, b"a.jpg", 0.1, False), Hit(4, b"b.jpg", 0.1, False)]
    >>> _of_slips(frozenset([3, 4, 9]), hits, {3: True, 4: False, 9: True})[:54]
    '3 judgements contradict the others, and nothing is lea'
    >>> _of_slips(frozenset([3, 4, 9]), hits, {3: True, 4: False, 9: True})[54:]
    'rnt from them: a.jpg (fits), b.jpg (does not fit) and 1 more. To insist, judge them again.'
    """
    n = len(slips)
    s, it = ("", "it") if n == 1 else ("s", "them")
    kinds = {True: "fits", False: "does not fit"}
    names = [f"{shown(h.path)} ({kinds[judged[h.picture]]})" for h in doubted[:NAMED]]
    # Those that filters leave out, or whose files are gone, have no name here.
    more = f" and {n - len(names)} more" if names and n > len(names) else ""
    which = f": {', '.join(names)}{more}" if names else ""
    return (
        f"{n} judgement{s} contradict{'s' * (n == 1)} the others, and nothing is learnt from "
        f"{it}{which}. To insist, judge {it} again."
    )


def _why_nothing(ground: Ground, judged: bool) -> str:
    if ground.allowed is not None and not len(ground.allowed):
        return "No picture fits: filters, and words required or unwanted, leave none. Ask for less."
    if judged:
        return "No picture is left to judge. Try other words, or begin with a picture."
    return "No picture fits. Try other words, or begin with a picture."
