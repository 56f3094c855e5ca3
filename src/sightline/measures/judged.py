"""A run with judgements: the ranked pictures of each query, and their relevance.

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
    """A run with judgements, ready for `evaluate`.

    Attributes
    ----------
    queries, rankings : tuple of str or tuple of Ranking
        The judged queries; one without a list in the run has an empty one.
    unjudged : tuple of str
        Queries of the run without judgements.
    """

    queries: tuple[str, ...]
    rankings: tuple[Ranking, ...]
    unjudged: tuple[str, ...]


def judged_run(
    lists: Sequence[RankedList], judged: Sequence[Judged], *, ties: Ties = "id"
) -> JudgedRun:
    """Join a run with judgements; a picture without a judgement is not relevant.

    >>> run = [RankedList("sea", ("7", "8"), (0.9, 0.5))]
    >>> judged_run(run, [Judged("sea", ("8", "9"), (1.0, 1.0))]).rankings[0].n_relevant
    2
    """
    by_query = {ranked.query: ranked for ranked in lists}
    judged_queries = {j.query for j in judged}
    pairs = [(by_query.get(j.query, RankedList(j.query, (), ())), j) for j in judged]
    return JudgedRun(
        tuple(j.query for j in judged),
        tuple(_judged_ranking(ranked, j, ties) for ranked, j in pairs),
        tuple(query for query in by_query if query not in judged_queries),
    )


def _judged_ranking(ranked: RankedList, judged: Judged, ties: Ties) -> Ranking:
    check_pictures(ranked.query, ranked.ids, ranked.scores)
    check_pictures(judged.query, judged.ids, judged.grades)
    grades = dict(zip(judged.ids, judged.grades, strict=True))
    relevance = [grades.pop(picture, 0.0) for picture in ranked.ids]
    by_id = sorted(range(len(ranked.ids)), key=lambda i: id_key(ranked.ids[i]))
    return rank(
        [ranked.scores[i] for i in by_id],
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
