"""How Milvus stands beside the store: what serves, what differs, row by row for some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightline.errors import EngineError
from sightline.store.engines.coverage import split
from sightline.store.engines.milvus_engine import find_table
from sightline.store.engines.milvus_tables import LONGEST, Tables
from sightline.store.engines.views import (
    MEASURES,
    Measure,
    Published,
    View,
    ids_of,
    rows_at,
    views_of,
)
from sightline.store.identity import identity

SAMPLED = 200
_AS_SENT = 1e-6


@dataclass(frozen=True, slots=True)
class EngineState:
    """How an engine stands: its name, whether it serves all it should, and what to say of it."""

    name: str
    serves: bool
    said: str


def milvus_state(
    uri: str, folder: Path, p: Published, measures: Sequence[Measure] = MEASURES
) -> EngineState:
    """Return whether every table of a version is there, whole."""
    views = _held(p, measures)
    try:
        tables = Tables(uri)
    except EngineError as e:
        return EngineState(uri, False, f"degraded: {e} The rows at home answer.")
    try:
        rows, later = 0, 0
        for view in views:
            served = find_table(tables, identity(folder), p, view)
            beside = split(p, view, served.held, served.table)[1]
            rows, later = rows + served.rows, later + sum(s.live for s in beside.listed)
    except EngineError as e:
        return EngineState(uri, False, f"degraded: {e} The rows at home answer.")
    finally:
        tables.close()
    said = f"serves version {p.version}: {len(views)} tables, {rows} rows"
    if later:
        said += f"; {later} rows came later and are scanned at home"
    return EngineState(uri, True, said)


def compare(
    uri: str, folder: Path, p: Published, measures: Sequence[Measure] = MEASURES
) -> list[str]:
    """Return what differs between Milvus and the store: tables, counts, and rows of a sample."""
    try:
        tables = Tables(uri)
    except EngineError as e:
        return [str(e)]
    problems = []
    try:
        for view in _held(p, measures):
            try:
                served = find_table(tables, identity(folder), p, view)
                held = split(p, view, served.held, served.table)[0]
                problems += _differing(tables, served.table, held, view)
            except EngineError as e:
                problems.append(str(e))
    finally:
        tables.close()
    return problems


def _held(p: Published, measures: Sequence[Measure] = MEASURES) -> list[View]:
    return [v for v in views_of(p, measures) if v.rows and v.length <= LONGEST]


def _differing(tables: Tables, table: str, p: Published, view: View) -> list[str]:
    """Compare rows drawn at random, and the first and the last."""
    ids = ids_of(p, view)
    rng = np.random.default_rng()
    some = rng.choice(ids, min(SAMPLED, len(ids)), replace=False)
    some = np.unique(np.concatenate([ids[:1], ids[-1:], some]))
    there, rows = tables.rows(table, some.tolist())
    if not np.array_equal(there, some):
        lost = np.setdiff1d(some, there)
        return [f"The table {table} lacks picture {int(lost[0])}, and {len(lost) - 1} others of "
                f"{len(some)} that were looked for."]  # fmt: skip
    mine = rows_at(p, view, some)
    wrong = np.flatnonzero((np.abs(rows - mine) > _AS_SENT).any(axis=1))
    if not len(wrong):
        return []
    return [f"The table {table} has other rows than the store for {len(wrong)} of {len(some)} "
            f"pictures, such as {int(some[wrong[0]])}."]  # fmt: skip
