"""Which engine a collection needs, and how many machines: arithmetic that can be checked by hand.

Bytes follow from the number of pictures and the length of their rows; the time of a scan from these
bytes and how fast this machine ranks rows, which is measured. The share of rows an engine reads
and the time of a call to Milvus are from `python -m benchmarks --only engines` (docs/scale.md).
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import asdict, dataclass

import numpy as np

from sightline.contracts import Json
from sightline.store.engines.tables import MEASURES, Published
from sightline.store.matrices import StoredSparseMatrix

# The longest acceptable time of a search, and the share of a machine's memory for rows.
PATIENCE_MS = 100.0
SHARE_OF_MEMORY = 0.6
# The share of all rows that a query reads from lists, and the least time of a call to Milvus.
LOOKED_INTO = 0.02
CALL_MS = 2.0
# Overhead of an engine over the rows alone: ids, centres, its own tables.
_BESIDE = 1.2
# Lists of faiss hold a byte for each number of four.
_IN_LISTS = 0.25
_READ, _LENGTH, _BLOCK = 1 << 28, 128, 32_768
_WORDS = 1_000


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table of a collection: its name, the bytes of a picture, and whether engines hold it.

    `copies` is in how many tables an engine has it, one for each way of ranking; `listed` says
    whether faiss has it too, which leaves word scores where a query reads only its own words' rows.
    """

    name: str
    bytes_each: float
    dense: bool = True
    copies: int = 1
    listed: bool = True


@dataclass(frozen=True, slots=True)
class SizingEstimate:
    """What a number of pictures needs: the engine, how many machines, and why, line by line."""

    pictures: int
    engine: str
    machines: int
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the estimate as JSON."""
        return {**asdict(self), "lines": list[Json](self.lines)}


def tables_of(p: Published) -> list[TableSize]:
    """Return the tables of a version; rows that are mostly zero count as long as they are here."""
    tables = []
    for feature in sorted({f for s in p.segments for f in s.features}):
        parts = [m for s in p.segments if (m := s.matrix(feature)) is not None]
        rows = max(1, sum(len(m) for m in parts))
        if any(isinstance(m, StoredSparseMatrix) for m in parts):
            size = sum(
                m.entries()[0].nbytes + m.entries()[1].nbytes + 8 * len(m)
                for m in parts
                if isinstance(m, StoredSparseMatrix)
            )
            tables.append(TableSize(feature, size / rows, dense=False))
        else:
            tables.append(TableSize(feature, 4.0 * parts[0].shape[1], copies=len(MEASURES)))
    scored = [s.scores for s in p.segments if s.scores is not None and s.scores.model == p.model]
    if scored:
        tables.append(TableSize("word scores", 4.0 * len(scored[0].terms), listed=False))
        tables += [TableSize(f"points {n}", 4.0 * a.shape[1]) for n, a in scored[0].points.items()]
    texts = (s.text_scores for s in p.segments)
    mapped = next((s for s in texts if s is not None and s.model == p.text), None)
    if mapped is not None:
        tables += [TableSize(f"text {n}", 4.0 * a.shape[1]) for n, a in mapped.points.items()]
    return tables


def assumed() -> list[TableSize]:
    """Return the tables of a collection that does not exist: `deep`, and a thousand words."""
    words = TableSize("word scores", 4.0 * _WORDS, listed=False)
    return [TableSize("deep", 4.0 * 1280, copies=len(MEASURES)), words]


def scan_speed() -> float:
    """Return how many bytes of rows one core ranks in a second, the median of five scans.

    The rows are written first, and are more than a cache holds; then they are ranked by cosine.
    """
    rows = np.full((_READ // (4 * _LENGTH), _LENGTH), 0.5, np.float32)
    weights, taken = np.ones(_LENGTH, np.float32), []
    for _ in range(5):
        begun = time.perf_counter()
        for i in range(0, len(rows), _BLOCK):
            block = rows[i : i + _BLOCK]
            np.vecdot(block, weights)
            np.vecdot(block, block)
        taken.append(time.perf_counter() - begun)
    return _READ / sorted(taken)[2]


def machine_memory() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def scale(
    pictures: int, tables: list[TableSize], memory: int, bytes_a_second: float, listed_rows: int
) -> SizingEstimate:
    """Say which engine serves so many pictures, on how many machines like this one.

    >>> estimate = scale(10_000, [TableSize("deep", 5120.0)], 16 << 30, 8e9, 1_000_000)
    >>> estimate.engine, estimate.machines
    ('flat', 1)
    >>> estimate = scale(10**8, [TableSize("deep", 5120.0, copies=2)], 16 << 30, 8e9, 1_000_000)
    >>> estimate.engine, estimate.machines
    ('milvus', 120)
    """
    usable = SHARE_OF_MEMORY * memory
    scanned = max((t.bytes_each for t in tables if t.dense and t.listed), default=0.0) * pictures
    on_disk = sum(t.bytes_each for t in tables) * pictures
    dense = [(t.bytes_each * t.copies * pictures * _BESIDE, t.listed) for t in tables if t.dense]
    held = sum(b for b, _ in dense)
    listed = _IN_LISTS * sum(b for b, is_listed in dense if is_listed)
    scan_ms = 1e3 * scanned / bytes_a_second
    lists = LOOKED_INTO * scan_ms
    fits, spread = scanned <= usable, max(1, math.ceil(held / usable))
    engine = "milvus"
    if fits and (scan_ms <= PATIENCE_MS or pictures < listed_rows):
        engine = "flat"
    elif listed <= usable:
        engine = "faiss"
    lines = [
        *(_line(t, pictures) for t in tables),
        f"on the local disk: {sized(on_disk)}, beside thumbnails and the log",
        f"memory: {sized(memory)} on this machine, {SHARE_OF_MEMORY:.0%} of it for rows: "
        f"{sized(usable)}",
        f"flat: a query reads the {sized(scanned)} of the longest table; at "
        f"{bytes_a_second / 1e9:.1f} GB/s on one core, measured now: {_time(scan_ms)}",
        f"faiss: all lists take {sized(listed)}; a query looks into about {LOOKED_INTO:.0%} of the "
        f"longest: {_time(lists)} once they are in memory",
        f"milvus: {sized(held)} in memory over {spread:,} of such machines; {CALL_MS:.0f} ms a "
        f"call and the same share of a machine's part: {_time(CALL_MS + lists / spread)}",
        _because(engine, scan_ms, pictures, listed_rows, fits),
    ]
    return SizingEstimate(pictures, engine, spread if engine == "milvus" else 1, tuple(lines))


def sized(n: float) -> str:
    """Return a number of bytes as text.

    >>> sized(5_120_000), sized(2.5e9), sized(5.12e13)
    ('5 MB', '2.5 GB', '51.2 TB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return f"{n / 1e6:,.0f} MB"


def _time(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 1e3 else f"{ms / 1e3:,.1f} s"


def _line(t: TableSize, pictures: int) -> str:
    size = f"{t.bytes_each:,.0f} bytes a picture, {sized(t.bytes_each * pictures)}"
    if not t.dense:
        return f"{t.name}: {size}; mostly zero, only searched locally"
    times = f", {t.copies} tables in an engine" if t.copies > 1 else ""
    return f"{t.name}: {size}{times}"


def _because(engine: str, scan_ms: float, pictures: int, listed_rows: int, fits: bool) -> str:
    if engine == "flat" and scan_ms > PATIENCE_MS:
        return f"flat, since lists pay from {listed_rows:,} rows on (the setting ivf_rows)"
    if engine == "flat":
        return f"flat, since a scan stays below {PATIENCE_MS:.0f} ms"
    why = f"a scan takes {scan_ms:.0f} ms" if fits else "the rows do not fit into memory"
    if engine == "faiss":
        return f"faiss, since {why} and its lists fit on this machine"
    return f"milvus, since {why} and the lists need more than this machine has"
