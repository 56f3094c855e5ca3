"""A run held against judgements: what was found for each query, and what is known to fit it.

Picture ids are strings here, as in the files of evaluation tools; ties between ids that are
numbers are broken as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightline.errors import DataError
from sightline.measures.ranked import Ranking, Ties, rank

_LONGEST_NUMBER = 20  # digits; longer ones are text, since reading them is not linear


@dataclass(frozen=True, slots=True)
class RankedList:
    """One query's pictures and their scores, in any order."""

    query: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """One query's judged pictures and their grades."""

    query: str
    ids: tuple[str, ...]
    grades: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run held against judgements, ready for `evaluate`.

    Attributes
    ----------
    queries, rankings : tuple of str or tuple of Ranking
        The judged queries; one the run does not answer has an empty list.
    unjudged : tuple of str
        Queries of the run that nobody judged.
    """

    queries: tuple[str, ...]
    rankings: tuple[Ranking, ...]
    unjudged: tuple[str, ...]


def judged_run(
    lists: Sequence[RankedList], judged: Sequence[Judged], *, ties: Ties = "id"
) -> JudgedRun:
    """Hold a run against judgements; a picture without a judgement is not relevant.

    >>> run = [RankedList("sea", ("7", "8"), (0.9, 0.5))]
    >>> judged_run(run, [Judged("sea", ("8", "9"), (1.0, 1.0))]).rankings[0].n_relevant
    2
    """
    answers = {found.query: found for found in lists}
    known = {found.query for found in judged}
    pairs = [(answers.get(j.query, RankedList(j.query, (), ())), j) for j in judged]
    return JudgedRun(
        tuple(j.query for j in judged),
        tuple(_judged_ranking(found, j, ties) for found, j in pairs),
        tuple(query for query in answers if query not in known),
    )


def _judged_ranking(found: RankedList, judged: Judged, ties: Ties) -> Ranking:
    check_pictures(found.query, found.ids, found.scores)
    check_pictures(judged.query, judged.ids, judged.grades)
    grades = dict(zip(judged.ids, judged.grades, strict=True))
    relevance = [grades.pop(picture, 0.0) for picture in found.ids]
    by_id = sorted(range(len(found.ids)), key=lambda i: id_key(found.ids[i]))
    return rank(
        [found.scores[i] for i in by_id],
        [relevance[i] for i in by_id],
        ties=ties,
        missing=list(grades.values()),
    )


def id_key(picture: str) -> tuple[bool, int, str]:
    """Return what ids are sorted by: numbers first and as numbers, then text.

    >>> sorted(["b", "10", "9", "a"], key=id_key)
    ['9', '10', 'a', 'b']
    """
    # As text 10 comes before 9, and a run read back would break ties unlike the one written.
    number = picture.isascii() and picture.isdigit() and len(picture) < _LONGEST_NUMBER
    return not number, int(picture) if number else 0, picture


def check_pictures(query: str, ids: Sequence[str], values: Sequence[float]) -> None:
    """Raise if a picture is named twice, has no number or has NaN."""
    if len(set(ids)) != len(ids) or len(ids) != len(values):
        raise DataError(
            f"Query {query!r} must name each picture once, with one number each. "
            f"Got {len(ids)} ids, {len(set(ids))} of them different, and {len(values)} numbers."
        )
    for picture, value in zip(ids, values, strict=True):
        if value != value:
            raise DataError(f"Query {query!r} has NaN for picture {picture!r}. Give a number.")
