"""The second dataset of paper C, NUS-WIDE: its division and the inputs of methods.

A text is the tags of a picture, a picture its visual words, both weighted by tf-idf and
L2-normalised; idf is that of training pictures. Few pictures are for training, and very many are
ranked: of those for validation and for test some are queries, and all are documents. A document
that shares a concept with a query is relevant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Bools, Floats, Ints
from sightline.contracts import Json
from sightline.errors import DataError
from sightline.features.local.visterms import idf_of, weighted
from sightline.rankers.low_rank import mean_avgp
from sightline_experiments.datasets.nuswide import NusWide
from sightline_experiments.lscmr import paper
from sightline_experiments.lscmr.evaluation import Block
from sightline_experiments.lscmr.nus_plan import NusPlan
from sightline_experiments.lscmr.protocol import DIRECTIONS, Scorer, draw_candidates, make_splits


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some pictures.

    Attributes
    ----------
    pictures, texts : rows of visual words and of tags, scipy's CSR.
    concepts : 1 for each concept of a picture.
    query_rows : positions of the queries, ascending.
    positions : positions of the pictures in the published lists.
    block : number of queries whose scores are in memory at once.
    """

    pictures: Any
    texts: Any
    concepts: Floats
    query_rows: Ints
    positions: Ints
    block: int

    def sides(self, direction: str) -> tuple[Any, Any]:
        """Return the rows of queries and of documents."""
        both = self.pictures, self.texts
        queries, documents = both if direction == paper.PICTURE else both[::-1]
        return queries[self.query_rows], documents

    def relevant(self, queries: Ints) -> Bools:
        """Return which documents share a concept with queries, (queries, documents)."""
        return np.asarray(self.concepts[queries] @ self.concepts.T > 0)

    def blocks(self, direction: str) -> Iterator[Block]:
        """Yield queries, documents and relevance, some queries at a time."""
        queries, documents = self.sides(direction)
        for first in range(0, len(self.query_rows), self.block):
            some = slice(first, first + self.block)
            yield queries[some], documents, self.relevant(self.query_rows[some])


@dataclass(frozen=True, slots=True, eq=False)
class NusTask:
    """One direction: training and validation data."""

    direction: str
    train: Part
    validation: Part | None
    n_candidates: int
    number: int = 0

    def training(self) -> tuple[Any, Any]:
        """Return training queries and documents."""
        return self.train.sides(self.direction)

    def seen(self, queries: Any, documents: Any) -> tuple[Any, Any]:
        """Return rows unchanged: parts have the inputs of all methods."""
        return queries, documents

    def lists(self) -> tuple[Ints, Bools]:
        """Return candidates and relevance of a list for each training query."""
        query_rows, seed = self.train.query_rows, DIRECTIONS.index(self.direction)
        n_documents = len(self.train.positions)
        candidates = draw_candidates(len(query_rows), n_documents, self.n_candidates, seed)
        return candidates, np.take_along_axis(self.train.relevant(query_rows), candidates, axis=1)

    def held_out(self) -> tuple[Any, Any, Bools]:
        """Return validation queries, documents and relevance."""
        assert self.validation is not None
        relevant = self.validation.relevant(self.validation.query_rows)
        return *self.validation.sides(self.direction), relevant

    def value(self, scorer: Scorer) -> float:
        """Return the mean AvgP of validation queries."""
        assert self.validation is not None
        total = 0.0
        for queries, documents, relevant in self.validation.blocks(self.direction):
            # Every query has a relevant document, at least its own.
            total += len(relevant) * mean_avgp(scorer(queries, documents), relevant)
        return total / len(self.validation.query_rows)


def check_sizes(c: NusWide, plan: NusPlan) -> None:
    """Raise an error if the dataset has too few pictures for a plan."""
    wanted = sum(plan.documents)
    if len(c) < wanted:
        raise DataError(
            f"NUS-WIDE has {len(c):,} pictures with a tag and a concept here, and the experiment "
            f"needs {wanted:,}. Take it out of the data folder to measure the others."
        )


def make_parts(c: NusWide, plan: NusPlan) -> tuple[Part, Part, Part]:
    """Return pictures for training, validation and test, drawn at random without replacement."""
    check_sizes(c, plan)
    splits, tests = make_splits(len(c), plan.documents, 1)
    train = splits[0].train
    idf = idf_of(c.pictures[train]), idf_of(c.tags[train])
    rng, queries = np.random.default_rng(0), (len(train), *plan.queries)
    train_part, validation, test = (
        Part(
            weighted(c.pictures[rows], idf[0]),
            weighted(c.tags[rows], idf[1]),
            c.concepts[rows].astype(np.float32),
            np.sort(rng.choice(len(rows), n, replace=False)),
            c.positions[rows],
            plan.block,
        )
        for rows, n in zip((train, splits[0].validation, tests[0]), queries, strict=True)
    )
    return train_part, validation, test


def make_tasks(train: Part, validation: Part, n_candidates: int) -> list[NusTask]:
    """Return the tasks of both directions."""
    return [NusTask(direction, train, validation, n_candidates) for direction in DIRECTIONS]


def settings_of(c: NusWide, plan: NusPlan) -> dict[str, Json]:
    """Return the settings of a run."""
    parts = "train", "validation", "test"
    return {
        "features": "published: 500 visual words of a picture, 1,000 tags; tf-idf, of length 1",
        "difference from the paper": paper.NUS_DIFFERENCE,
        "pictures with a tag and a concept": {"here": len(c), "paper": paper.NUS_PICTURES},
        "documents": dict(zip(parts, plan.documents, strict=True)),
        "queries": dict(zip(parts, (plan.documents[0], *plan.queries), strict=True)),
        "candidates of a list": plan.candidates,
        "relevant": "shares a concept",
        "settings chosen by": "mean AvgP of validation queries over validation documents",
        "test": "asked once for each method and direction",
    }


def notes_of(c: NusWide, plan: NusPlan) -> list[str]:
    """Return notes for readers of the table: sizes, and differences from the paper."""
    sizes = zip((plan.documents[0], *plan.queries), plan.documents, strict=True)
    train, validation, test = (f"{queries:,} × {documents:,}" for queries, documents in sizes)
    notes = [f"NUS-WIDE, queries × documents: {train} for training, {validation} for validation, "
             f"{test} for test."]  # fmt: skip
    if len(c) != paper.NUS_PICTURES:
        notes.append(
            f"NUS-WIDE: {len(c):,} pictures have a tag and a concept here, and "
            f"{paper.NUS_PICTURES:,} in the paper; of those here {sum(plan.documents):,} were "
            "drawn."
        )
    return notes
