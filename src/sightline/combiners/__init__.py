"""Combiners: one score of two pictures from their many similarities phi(q, p).

Every combiner learns by `fit` and scores by `decision_function(phi)`, where phi has a number for
each component along its last axis and the scores have its other axes. They learn from any of

    fit(X, y)                 rows of differences phi(q, p1) - phi(q, p2), and their signs
    fit(triplets, source=s)   `solvers.picture_triplets` of the pictures of a
    `similarity.pairs.PairsOf` fit(X, y, qid)            rows phi(q, p), their relevance and their
    query

but for the first, which is not enough for those that are not linear or that use whole lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.combiners.coordinate_ascent import CoordinateAscent
    from sightline.combiners.examples import Source
    from sightline.combiners.fixed import BestSingle, Uniform
    from sightline.combiners.lambdamart import LambdaMART
    from sightline.combiners.linear import Combiner, LinearCombiner
    from sightline.combiners.online import OnlineCombiner
    from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
    from sightline.combiners.ranknet import RankNet
    from sightline.combiners.ranksvm import RankSVM
    from sightline.combiners.second_order import AROW, SCW
else:
    __getattr__ = lazy(
        __name__,
        {
            "coordinate_ascent": ("CoordinateAscent",),
            "examples": ("Source",),
            "fixed": ("BestSingle", "Uniform"),
            "lambdamart": ("LambdaMART",),
            "linear": ("Combiner", "LinearCombiner"),
            "online": ("OnlineCombiner",),
            "opar": ("OGDR", "OPARI", "OPARII", "OPR"),
            "ranknet": ("RankNet",),
            "ranksvm": ("RankSVM",),
            "second_order": ("AROW", "SCW"),
        },
    )

__all__ = [
    "AROW",
    "BestSingle",
    "Combiner",
    "CoordinateAscent",
    "LambdaMART",
    "LinearCombiner",
    "OGDR",
    "OPARI",
    "OPARII",
    "OPR",
    "OnlineCombiner",
    "RankNet",
    "RankSVM",
    "SCW",
    "Source",
    "Uniform",
]
