"""Search by words and example pictures in one query.

Every picture has a score by the words, as `search.words` ranks it, and one by the examples: the
cosine of its unit vector x with the mean of the positive examples, less that with the mean of the
negative ones,

    e(x) = x · (p / |p| - n / |n|)

in the best feature that nearly all pictures have. Both are standardised over the pictures that may
appear, so that neither dominates, and added. Words with a sign count as in a search by words. The
examples themselves are left out of the hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Doubles, Floats
from sightline.collection.filters import NO_FILTERS, Filters
from sightline.collection.index.options import quick_feature
from sightline.collection.query import ResolvedQuery
from sightline.collection.results import Results, best_hits
from sightline.collection.search.words import Ranked, parse_words, ranked
from sightline.collection.sessions.feature_space import FeatureSpace, choose, unit_mean
from sightline.collection.similarity.query import QueryPicture, find
from sightline.errors import NoFeatures, QueryError
from sightline.feedback.scale import Scale
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.folder import Reader

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike
    from sightline.collection.search import Examples
    from sightline.collection.similarity.candidates import Weighted

_NO_FEATURE = (
    "Example pictures need a dense feature on at least nine tenths of the pictures. "
    "Run: sightline index --features {}"
)


def unweighted(pictures: Sequence[Weighted]) -> list[PictureLike]:
    """Return the pictures of a query with words, where each counts the same.

    >>> unweighted([("./a.jpg", 1.0)])
    ['./a.jpg']
    """
    for picture, weight in pictures:
        if weight != 1.0:
            raise QueryError(
                f"The picture {picture!r} has the weight {weight:g}. Beside words, pictures count "
                "equally: leave the weight out."
            )
    return [picture for picture, _ in pictures]


def search_by_examples(
    reader: Reader,
    root: bytes,
    settings: Settings,
    text: str,
    examples: Examples,
    k: int,
    filters: Filters = NO_FILTERS,
) -> Results:
    """Return the best pictures for words and examples."""
    words = ranked(reader, text, filters.where(root), filters.untagged)
    chosen = choose(reader.snapshot, examples.feature)
    if not chosen:
        raise NoFeatures(_NO_FEATURE.format(quick_feature()))
    space = FeatureSpace(reader.snapshot, chosen)
    sides = [
        [find(reader, root, p) for p in side] for side in (examples.positive, examples.negative)
    ]
    _check_apart(*sides)
    compute = examples.compute
    rows = [[space.row_of(reader, e, settings, compute) for e in side] for side in sides]
    direction = example_direction(*(np.reshape(r, (-1, space.length)) for r in rows))
    both = with_examples(words, space, direction)
    keep = ~np.isin(both.ids, [e.picture for side in sides for e in side if e.picture])
    if both.allowed is not None:
        keep &= np.isin(both.ids, both.allowed)
    order = np.lexsort((both.ids[keep], -both.scores[keep]))
    match, learned = words.match(), words.predicted is True
    hits, missing = best_hits(
        reader, root, both.ids[keep][order], both.scores[keep][order], k, match, learned
    )
    asked = ResolvedQuery.of(reader, parse_words(text))
    return Results(
        tuple(hits), words.unknown, reader.snapshot.version, missing, served=reader.notice(),
        not_learned=words.not_learned, predicted=words.predicted,
        constraints=asked.constraints, corrections=asked.corrections, wording=asked.wording,
        store_folder=reader.store_folder, suggested=words.starting,
    )  # fmt: skip


def example_direction(positive: Floats, negative: Floats) -> Doubles:
    """Return the mean of the positive rows less that of the negative ones, each a unit vector.

    >>> example_direction(np.array([[0.6, 0.8]]), np.array([[1.0, 0.0]])).round(1).tolist()
    [-0.4, 0.8]
    """
    out = np.zeros(positive.shape[1])
    if len(positive):
        out += unit_mean(positive)
    if len(negative):
        out -= unit_mean(negative)
    return out


def with_examples(words: Ranked, space: FeatureSpace, direction: Doubles) -> Ranked:
    """Return a ranking of all pictures by words and by a direction of the feature."""
    ids = np.union1d(space.ids, words.ids)
    appear = np.ones(len(ids), bool) if words.allowed is None else np.isin(ids, words.allowed)
    total = np.zeros(len(ids))
    for of, scores in ((words.ids, words.scores), (space.ids, space.scores(direction))):
        values = np.zeros(len(ids))
        values[np.searchsorted(ids, of)] = scores
        total += Scale.of(values[appear]).bounded(values)
    return replace(words, ids=ids, scores=total)


def _check_apart(positive: Sequence[QueryPicture], negative: Sequence[QueryPicture]) -> None:
    """Raise if a picture is both a positive and a negative example."""
    both = {e.file for e in positive} & {e.file for e in negative}
    if both:
        raise QueryError(
            f"{shown(min(both))} is both a positive and a negative example. Leave one out."
        )
