"""Comparing Milvus with the store: which tables serve, and whether their rows are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightline.errors import EngineError
from sightline.store.engines.coverage import split
from sightline.store.engines.milvus_engine import find_table
from sightline.store.engines.milvus_tables import LONGEST, Tables
from sightline.store.engines.tables import (
    MEASURES,
    EngineTable,
    Measure,
    Published,
    engine_tables,
    ids_of,
    rows_at,
)
from sightline.store.identity import identity

SAMPLED = 200
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class EngineState:
    """The state of an engine.

    Attributes
    ----------
    name : str
        Its setting, such as "faiss" or "milvus://localhost:19530".
    serves : bool
        Whether every table it should have answers queries.
    message : str
        A sentence about it, without a full stop.
    """

    name: str
    serves: bool
    message: str


def milvus_state(
    uri: str, folder: Path, p: Published, measures: Sequence[Measure] = MEASURES
) -> EngineState:
    """Return whether Milvus has every table of a version, complete."""
    loadable = _loadable(p, measures)
    try:
        tables = Tables(uri)
    except EngineError as e:
        return EngineState(uri, False, f"degraded: {e} Searches use the local rows.")
    try:
        rows, newer = 0, 0
        for table in loadable:
            served = find_table(tables, identity(folder), p, table)
            rest = split(p, table, served.held, served.name)[1]
            rows, newer = rows + served.rows, newer + sum(s.live for s in rest.listed)
    except EngineError as e:
        return EngineState(uri, False, f"degraded: {e} Searches use the local rows.")
    finally:
        tables.close()
    message = f"serves version {p.version}: {len(loadable)} tables, {rows} rows"
    if newer:
        message += f"; {newer} rows came later and are scanned locally"
    return EngineState(uri, True, message)


def compare(
    uri: str, folder: Path, p: Published, measures: Sequence[Measure] = MEASURES
) -> list[str]:
    """Return the differences of Milvus from the store: tables, counts, and rows of a sample."""
    try:
        tables = Tables(uri)
    except EngineError as e:
        return [str(e)]
    problems = []
    try:
        for table in _loadable(p, measures):
            try:
                served = find_table(tables, identity(folder), p, table)
                held = split(p, table, served.held, served.name)[0]
                problems += _differing(tables, served.name, held, table)
            except EngineError as e:
                problems.append(str(e))
    finally:
        tables.close()
    return problems


def _loadable(p: Published, measures: Sequence[Measure] = MEASURES) -> list[EngineTable]:
    return [v for v in engine_tables(p, measures) if v.rows and v.length <= LONGEST]


def _differing(tables: Tables, name: str, p: Published, table: EngineTable) -> list[str]:
    """Compare the first row, the last row and a random sample."""
    ids = ids_of(p, table)
    rng = np.random.default_rng()
    sample = rng.choice(ids, min(SAMPLED, len(ids)), replace=False)
    sample = np.unique(np.concatenate([ids[:1], ids[-1:], sample]))
    ids_there, rows = tables.rows(name, sample.tolist())
    if not np.array_equal(ids_there, sample):
        lost = np.setdiff1d(sample, ids_there)
        return [f"The table {name} lacks picture {int(lost[0])}, and {len(lost) - 1} others of "
                f"the {len(sample)} sampled. Run: sightline export milvus"]  # fmt: skip
    expected = rows_at(p, table, sample)
    differing = np.flatnonzero((np.abs(rows - expected) > _TOLERANCE).any(axis=1))
    if not len(differing):
        return []
    return [f"The table {name} has other rows than the store for {len(differing)} of "
            f"{len(sample)} pictures, such as {int(sample[differing[0]])}."]  # fmt: skip
