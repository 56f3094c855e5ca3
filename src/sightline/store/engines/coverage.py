"""Which rows of a version an engine holds; rows that came later are scanned beside it.

A part is what one segment gives to a table. It is known by the files it lies in, which are named
after their content: those of its ids, of its rows, and of the rows that no longer count. Pictures
that were removed since a part was handed over stay in the engine, and nothing at home has them;
pictures that had been removed by then, and are back, are not in the engine, and so their part is
scanned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sightline._typing import Ints
from sightline.records import DenseQuery, Top, WordQuery
from sightline.store.engines import flat, word_rows
from sightline.store.engines.views import Published, View, part_files
from sightline.store.segments import OpenSegment
from sightline.store.versions import Segment

# A table that lacks more of the rows than this is scanned whole.
OUTDATED = 0.2


@dataclass(frozen=True, slots=True)
class Held:
    """What an engine was given of a table: the version it was of, and a line for each part.

    A line has the digest of the part's files, that of the rows that did not count, and their
    number.
    """

    version: int
    parts: tuple[str, ...]


def held_of(p: Published, view: View) -> Held:
    """Return what an engine has that is given a table now."""
    pairs = zip(p.segments, p.listed, strict=True)
    return Held(p.version, tuple(line for s, x in pairs if (line := _line(s, x, view))))


def _line(s: OpenSegment, listed: Segment, view: View) -> str:
    """Return the line of a segment's part of a table; empty if it has none."""
    files = part_files(s, listed, view)
    dead = "" if listed.dead is None else listed.dead.name
    return f"{_digest(*files)} {_digest(dead)} {listed.dead_rows}" if files else ""


def _digest(*names: str) -> str:
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]


def split(p: Published, view: View, held: Held, name: str) -> tuple[Published, Published]:
    """Return the segments whose parts an engine holds, and the others that have one.

    `name` names what holds them among all that hold the same table.
    """
    if (found := p.splits.get((view.name, name))) is not None:
        return found
    lines = {line.split()[0]: line for line in held.parts}
    mine: list[tuple[OpenSegment, Segment]] = []
    others: list[tuple[OpenSegment, Segment]] = []
    for s, x in zip(p.segments, p.listed, strict=True):
        if line := _line(s, x, view):
            there = _has_all(lines.get(line.split()[0], ""), line, held.version >= p.returned)
            (mine if there else others).append((s, x))
    both = _only(p, mine), _only(p, others)
    p.splits[view.name, name] = both
    return both


def _has_all(then: str, now: str, onward: bool) -> bool:
    """Return whether all that counts in a part now counted when an engine was given it.

    Rows stop counting one after the other, unless an older version was gone back to since.
    """
    more = then and int(now.split()[2]) > int(then.split()[2])
    return then == now or bool(more and onward)


def _only(p: Published, pairs: list[tuple[OpenSegment, Segment]]) -> Published:
    return Published(p.version, p.model, [s for s, _ in pairs], [x for _, x in pairs], p.returned)


def outdated(view: View, rest: Published) -> bool:
    """Return whether so much came later that all rows are better scanned."""
    return sum(s.live for s in rest.listed) > OUTDATED * view.rows


def with_scanned(
    rest: Published,
    query: DenseQuery | WordQuery,
    k: int,
    where: Ints | None,
    without: Ints | None,
    top: Top,
) -> Top:
    """Return the best of both: what an engine holds, and what has to be scanned."""
    if not rest.segments:
        return top
    if isinstance(query, DenseQuery):
        others = flat.dense_top(rest.segments, query, k, where)
    else:
        others = word_rows.word_top(rest.segments, rest.model, query, k, where, without=without)
    best = flat.Best(k)
    best.offer(top.ids, top.scores)
    best.offer(others.ids, others.scores)
    return best.top()
