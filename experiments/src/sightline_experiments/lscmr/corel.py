"""LSCMR on Corel5K: captions against pictures, how many dimensions are needed, what they mean.

A text is the words of a caption, weighted by idf; a picture is its visual terms, or the vector of a
network. Relevant is a picture of the same disc of the collection ("disc"), or one that shares a
word ("word"). Of the development pictures 4,000 are for training, in lists of 40 random candidates,
and the others select lam and then the number of dimensions; the test pictures are ranked once, with
the selected values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.contracts import Compute, Progress
from sightline.measures.ranked import rank
from sightline.measures.ranking import map_at
from sightline.rankers.low_rank import mean_avgp
from sightline.rankers.lscmr import LSCMR
from sightline.vectors import l2_normalize
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.corel5k import Corel5K, Row
from sightline_experiments.lscmr.evaluation import R
from sightline_experiments.lscmr.paper import PICTURE, TEXT
from sightline_experiments.lscmr.plan import CorelPlan
from sightline_experiments.pamir.inputs import InputScaling, SomeRows
from sightline_experiments.pamir.pool import Describer

RELEVANCE = ("disc", "word")
# Names of features as all experiments write them, with view and weighting of the pool.
VIEWS = {"classic-strict": ("b64_k2000", "tfidf"), "deep": ("deep", "centred")}
# Pictures are numbered by the disc they came on, a hundred to a disc, thousands apart.
_DISC = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Some pictures: their captions, their features, and what is relevant to what."""

    texts: Doubles
    pictures: Any
    relevant: dict[str, Bools]

    def of(self, direction: str) -> tuple[Any, Any]:
        """Return queries and documents."""
        return (self.pictures, self.texts) if direction == PICTURE else (self.texts, self.pictures)


@dataclass(slots=True, eq=False)
class Swept:
    """The result of one feature, relevance and direction.

    `points` are (k, validation AvgP), `topics` the words at both ends of dimensions, `near` the
    words nearest to some.
    """

    features: str
    relevance: str
    direction: str
    lam: float
    points: list[tuple[int, float]]
    n_dropped: int = 0
    at: int = 0
    avgp: float = 0.0
    at_50: float = 0.0
    n: int = 0
    topics: list[tuple[list[str], list[str]]] = field(default_factory=list)
    near: dict[str, list[str]] = field(default_factory=dict)


def sweep(
    c: Corel5K, plan: CorelPlan, compute: Compute, cache: ArrayCache, progress: Progress
) -> list[Swept]:
    """Measure every feature, relevance and direction."""
    pool = Describer(c, compute, cache, progress).describe(VIEWS[f][0] for f in plan.features)
    order = np.random.default_rng(0).permutation(len(c.development))
    validation_at = np.sort(order[: plan.n_validation])
    train_at = np.sort(order[plan.n_validation :])
    distinct = list({r.picture: r for r in c.test}.values())
    swept = []
    for features in plan.features:
        view, weighting = VIEWS[features]
        train = SomeRows(pool.development, train_at)
        scaling = InputScaling.of(train, view, weighting)
        rows = [[c.development[i] for i in part] for part in (train_at, validation_at)]
        idf = _idf(rows[0], len(c.words))
        parts = [
            _side(r, idf, scaling(v))
            for r, v in zip(
                (*rows, distinct),
                (train, SomeRows(pool.development, validation_at), pool.test),
                strict=True,
            )
        ]
        for relevance in RELEVANCE:
            for direction in (PICTURE, TEXT):
                progress.start(f"Corel5K, {features}, {relevance}, {direction}", None)
                swept.append(_swept(c, plan, features, relevance, direction, parts, progress))
                progress.finish()
    return swept


def _side(rows: Sequence[Row], idf: Doubles, pictures: Any) -> Side:
    indicators = np.zeros((len(rows), len(idf)))
    for i, row in enumerate(rows):
        indicators[i, list(row.words)] = 1.0
    weighted = indicators * idf
    texts = l2_normalize(weighted, np.linalg.norm(weighted, axis=1), dtype=np.float64)
    discs = np.array([row.picture // _DISC for row in rows])
    relevant = {"disc": discs[:, None] == discs, "word": indicators @ indicators.T > 0}
    features = pictures if hasattr(pictures, "tocsr") else np.asarray(pictures, dtype=np.float64)
    return Side(texts, features, relevant)


def _idf(rows: Sequence[Row], n_words: int) -> Doubles:
    counts = np.bincount([w for row in rows for w in row.words], minlength=n_words)
    # A word of no training picture has no weight.
    return np.where(counts > 0, np.log(len(rows) / np.maximum(counts, 1)), 0.0)


def _swept(
    c: Corel5K,
    plan: CorelPlan,
    features: str,
    relevance: str,
    direction: str,
    parts: Sequence[Side],
    progress: Progress,
) -> Swept:
    train, validation, test = parts
    lists = _lists(train.relevant[relevance], plan.candidates)

    def fitted(k: int, lam: float) -> tuple[float, LSCMR]:
        ranker = LSCMR(n_components=k, lam=lam, max_rounds=plan.max_rounds).fit(
            *train.of(direction), *lists
        )
        progress.advance()
        return ranker.score(*validation.of(direction), validation.relevant[relevance]), ranker

    first = plan.dimensions[len(plan.dimensions) // 2]
    tried = {(first, lam): fitted(first, lam) for lam in plan.lams}
    lam = max(tried, key=lambda at: tried[at][0])[1]
    tried |= {(k, lam): fitted(k, lam) for k in plan.dimensions if k != first}
    points = [(k, tried[k, lam][0]) for k in plan.dimensions]
    best = max(points, key=lambda p: p[1])[0]
    ranker = tried[best, lam][1]
    result = Swept(features, relevance, direction, lam, points, ranker.n_dropped_, best)
    scores, relevant = ranker.decision_function(*test.of(direction)), test.relevant[relevance]
    result.avgp, result.n = mean_avgp(scores, relevant), len(relevant)
    pairs = zip(scores, relevant, strict=True)
    result.at_50 = float(np.mean([map_at(rank(s, r), k=R) for s, r in pairs]))
    if direction == TEXT:
        _read(c, ranker, train, result)
    return result


def _lists(relevant: Bools, n: int) -> tuple[Ints, Bools]:
    rng = np.random.default_rng(0)
    drawn = rng.random(relevant.shape).argpartition(n - 1, axis=1)[:, :n]
    candidates = np.sort(drawn, axis=1).astype(np.int64)
    return candidates, np.take_along_axis(relevant, candidates, axis=1)


def _read(c: Corel5K, ranker: LSCMR, train: Side, result: Swept, n: int = 6) -> None:
    """Read the words at the ends of dimensions, and those nearest to the most frequent ones."""
    for dimension in range(min(10, len(ranker.U_))):
        ends = (ranker.topic(dimension, n, lowest) for lowest in (False, True))
        high, low = ([c.words[w] for w in end] for end in ends)
        result.topics.append((high, low))
    frequent = np.argsort(-(train.texts > 0).sum(axis=0), kind="stable")[:8]
    for word in frequent:
        near = ranker.nearest_columns(int(word), n)
        result.near[c.words[word]] = [c.words[w] for w in near]
