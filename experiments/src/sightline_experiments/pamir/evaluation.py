"""Evaluation on the test pictures, once for each method and split.

`CorelTestSet.measure` ranks the test pictures for the test queries by a fitted method. Nothing else
in this package reads the test pictures, their words or their features.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Ints
from sightline.measures.many import ManyMeasured, average_precisions
from sightline.measures.precision_recall import eleven_points, mean_eleven_points
from sightline_experiments.datasets.corel5k import Corel5K, vocabulary
from sightline_experiments.one_shot import OneShotTestSet
from sightline_experiments.pamir.inputs import SomeRows, Views
from sightline_experiments.pamir.protocol import Scorer, Split, labels_of, part_of, statistics

EASY = 3  # relevant pictures that an easy query has at least


@dataclass(frozen=True, slots=True)
class Shown:
    """The best pictures of a query, as numbers in the dataset, and whether each is relevant.

    `relevant` counts all relevant pictures that there are.
    """

    relevant: int
    best: tuple[tuple[int, bool], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a method on the test queries of one split.

    Attributes
    ----------
    measured : AvgP, P10 and BEP by query.
    groups : which queries belong to each group, by its name.
    precision : interpolated precision at recall 0, 0.1, … 1, the mean over queries.
    top : the best pictures of each query that is to be shown.
    word_seconds, query_seconds : CPU time to score all test pictures for all words, and for one
        query.
    """

    measured: ManyMeasured
    groups: dict[str, Bools]
    precision: NDArray[np.float64]
    top: dict[str, Shown]
    word_seconds: float
    query_seconds: float


class CorelTestSet(OneShotTestSet):
    """The test pictures. Only `measure` has access to them, once for each split.

    Parameters
    ----------
    c, views : the dataset, and rows of its distinct test pictures.
    twice : count the picture that is listed twice two times, as the paper does; else once.
    sheets : queries whose best pictures are shown.
    """

    def __init__(
        self, c: Corel5K, views: Views, twice: bool = True, sheets: Sequence[str] = ()
    ) -> None:
        super().__init__("queries")
        rows = c.test if twice else tuple({r.picture: r for r in c.test}.values())
        distinct = {p: i for i, p in enumerate(dict.fromkeys(r.picture for r in c.test))}
        at = np.array([distinct[r.picture] for r in rows])
        self._pictures = tuple(r.picture for r in rows)
        self._part = part_of(np.arange(len(rows)), labels_of(c, rows), SomeRows(views, at))
        self._words, self._sheets = vocabulary(c), tuple(sheets)
        self.statistics = statistics(self._part)
        self.ceiling = float(
            np.mean([min(len(fit), 10) / 10 for _, fit in self._part.query_pictures])
        )

    def sizes(self, splits: Sequence[Split]) -> dict[str, list[int]]:
        """Return how many queries each group has, in each split."""
        groups = [self._groups(s) for s in splits]
        return {name: [int(g[name].sum()) for g in groups] for name in groups[0]}

    def measure(self, who: str, scorer: Scorer, split: Split) -> Outcome:
        """Rank the test pictures for every test query, and measure the rankings."""
        self.claim(who, split=split.number)
        queries = self._part.queries(split.idf)
        begun = time.process_time()
        words = scorer.words(self._part.views)
        scored = time.process_time()
        scores = scorer.combine(words, queries)
        # Sorting is part of a query.
        order = np.argsort(-scores, axis=1, kind="stable")
        ended = time.process_time()
        return Outcome(
            average_precisions(scores, queries),
            self._groups(split),
            self._precision(order),
            self._top(order),
            scored - begun,
            (ended - scored) / max(len(queries), 1),
        )

    def _groups(self, split: Split) -> dict[str, Bools]:
        queries = self._part.query_pictures
        relevant = np.array([len(fit) for _, fit in queries])
        words = np.array([len(terms) for terms, _ in queries])
        train = {terms for terms, _ in split.train.query_pictures}
        other = {terms for terms, _ in split.validation.query_pictures}
        new = np.array([terms not in train for terms, _ in queries])
        unseen = new & np.array([terms not in other for terms, _ in queries])
        return {
            "all": np.ones(len(queries), bool),
            "easy": relevant >= EASY,
            "difficult": relevant < EASY,
            "one-word": words == 1,
            "multi-word": words > 1,
            "not in train": new,
            "not in train or validation": unseen,
        }

    def _fits(self) -> Bools:
        fits = np.zeros((len(self._part.query_pictures), len(self._part)), bool)
        for query, (_, pictures) in enumerate(self._part.query_pictures):
            fits[query, list(pictures)] = True
        return fits

    def _precision(self, order: Ints) -> NDArray[np.float64]:
        """Return the best precision at each of eleven recalls or beyond, the mean of queries."""
        ranked = np.take_along_axis(self._fits(), order, axis=1)
        return mean_eleven_points(map(eleven_points, ranked)).precision

    def _top(self, order: Ints, n: int = 5) -> dict[str, Shown]:
        place = {word: i for i, word in enumerate(self._words)}
        row_of = {terms: i for i, (terms, _) in enumerate(self._part.query_pictures)}
        top: dict[str, Shown] = {}
        for text in self._sheets:
            terms = tuple(sorted(place.get(w, -1) for w in text.split()))
            if terms not in row_of:
                continue
            fit = set(self._part.query_pictures[row_of[terms]][1])
            best = order[row_of[terms], :n].tolist()
            top[text] = Shown(len(fit), tuple((self._pictures[p], p in fit) for p in best))
        return top
