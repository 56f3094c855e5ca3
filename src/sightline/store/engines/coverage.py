"""Which rows of a version an engine holds; rows that came later are scanned beside it.

A part is what one segment contributes to a table. It is identified by its files, which are named
after their content: those of its ids, of its rows, and of its dead rows. Pictures removed after a
part was loaded stay in the engine, but no longer exist in the store, so they are never hits.
Pictures that were removed before it was loaded, and are back, are missing from the engine, so their
part is scanned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sightline._typing import Ints
from sightline.records import DenseQuery, Top, WordQuery
from sightline.store.engines import flat, word_rows
from sightline.store.engines.tables import EngineTable, Published, part_files
from sightline.store.segments import OpenSegment
from sightline.store.versions import Segment

# If an engine lacks more than this share of a table's rows, the whole table is scanned.
OUTDATED = 0.2


@dataclass(frozen=True, slots=True)
class LoadedParts:
    """What was loaded into an engine for one table.

    Attributes
    ----------
    version : int
        The version it was loaded from.
    parts : tuple of str
        A line for each part: the digest of its files, the digest of its dead rows' file, and the
        number of dead rows.
    """

    version: int
    parts: tuple[str, ...]


def held_of(p: Published, table: EngineTable) -> LoadedParts:
    """Return what an engine would hold if a table were loaded now."""
    pairs = zip(p.segments, p.listed, strict=True)
    return LoadedParts(p.version, tuple(line for s, x in pairs if (line := _line(s, x, table))))


def _line(s: OpenSegment, listed: Segment, table: EngineTable) -> str:
    """Return the line of a segment's part of a table; empty if it has none."""
    files = part_files(s, listed, table)
    dead = "" if listed.dead is None else listed.dead.name
    return f"{_digest(*files)} {_digest(dead)} {listed.dead_rows}" if files else ""


def _digest(*names: str) -> str:
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]


def split(
    p: Published, table: EngineTable, held: LoadedParts, name: str
) -> tuple[Published, Published]:
    """Split a table's segments into those whose parts an engine holds, and the rest.

    Parameters
    ----------
    held : LoadedParts
        What the engine holds.
    name : str
        Identifies the holder among all that hold the same table; the answer is cached under it.
    """
    if (cached := p.splits.get((table.name, name))) is not None:
        return cached
    lines = {line.split()[0]: line for line in held.parts}
    covered: list[tuple[OpenSegment, Segment]] = []
    rest: list[tuple[OpenSegment, Segment]] = []
    for s, x in zip(p.segments, p.listed, strict=True):
        if line := _line(s, x, table):
            is_held = _has_all(lines.get(line.split()[0], ""), line, held.version >= p.returned)
            (covered if is_held else rest).append((s, x))
    both = _only(p, covered), _only(p, rest)
    p.splits[table.name, name] = both
    return both


def _has_all(loaded: str, current: str, no_rollback: bool) -> bool:
    """Return whether every row that is live in a part now was live when it was loaded.

    Rows only ever die, unless there was a rollback to an older version since.
    """
    more_dead = loaded and int(current.split()[2]) > int(loaded.split()[2])
    return loaded == current or bool(more_dead and no_rollback)


def _only(p: Published, pairs: list[tuple[OpenSegment, Segment]]) -> Published:
    segments, listed = [s for s, _ in pairs], [x for _, x in pairs]
    return Published(p.version, p.model, segments, listed, p.returned, p.text)


def outdated(table: EngineTable, rest: Published) -> bool:
    """Return whether so many rows came later that scanning all of them is better."""
    return sum(s.live for s in rest.listed) > OUTDATED * table.rows


def with_scanned(
    rest: Published,
    query: DenseQuery | WordQuery,
    k: int,
    where: Ints | None,
    without: Ints | None,
    top: Top,
) -> Top:
    """Merge an engine's best pictures with those of the segments that have to be scanned."""
    if not rest.segments:
        return top
    if isinstance(query, DenseQuery):
        scanned = flat.dense_top(rest.segments, query, k, where)
    else:
        scanned = word_rows.word_top(rest.segments, rest.model, query, k, where, without=without)
    best = flat.Best(k)
    best.offer(top.ids, top.scores)
    best.offer(scanned.ids, scanned.scores)
    return best.top()
