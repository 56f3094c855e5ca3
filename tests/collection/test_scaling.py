"""Which engine a size needs: the arithmetic, and what `doctor --scale` says of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.engines.sizing import (
    SizingEstimate,
    TableSize,
    assumed,
    machine_memory,
    scale,
    scan_speed,
    tables_of,
)
from sightline.errors import ParameterError
from sightline.records import Batch, FeatureRows, SparseRows
from tests.cli.test_commands import Shell
from tests.factories.engine_stores import opened, store_of
from tests.factories.photos import make_photos

DEEP = TableSize("deep", 5_120.0, copies=2)
WORDS = TableSize("word scores", 4_000.0, listed=False)
MEMORY = 16 * 10**9


def test_small_is_flat_larger_is_lists_and_the_largest_is_a_cluster() -> None:
    found = [scale(n, [DEEP, WORDS], MEMORY, 10e9, 1_000_000) for n in (10**4, 10**6, 10**8)]
    assert [(s.engine, s.machines) for s in found] == [("flat", 1), ("faiss", 1), ("milvus", 178)]
    faiss = scale(10**6, [TableSize("short", 512.0, copies=2)], MEMORY, 1e9, 1_000_000)
    assert (faiss.engine, faiss.machines) == ("faiss", 1)
    slow = scale(900_000, [TableSize("short", 512.0)], MEMORY, 1e9, 1_000_000)
    assert slow.engine == "flat" and "ivf_rows" in slow.lines[-1]


def test_the_arithmetic_can_be_checked_by_hand() -> None:
    lines = "\n".join(scale(10**7, [DEEP, WORDS], MEMORY, 10e9, 1_000_000).lines)
    assert "deep: 5,120 bytes a picture, 51.2 GB, 2 tables in an engine" in lines
    assert "on the local disk: 91.2 GB" in lines  # (5,120 + 4,000) bytes of ten million
    assert "51.2 GB of the longest table; at 10.0 GB/s on one core, measured now: 5.1 s" in lines
    assert "all lists take 30.7 GB" in lines  # a quarter of two tables of 51.2 GB and a fifth
    assert "170.9 GB in memory over 18 of such machines" in lines  # 9.6 GB on each


def test_rows_are_measured_as_they_are_stored(tmp_path: Path) -> None:
    dense = FeatureRows("f-1", np.zeros((3, 10), np.float32))
    start, index = np.array([0, 2, 2, 4]), np.array([1, 2, 0, 1], np.int32)
    sparse = SparseRows("s-1", 100, start, index, np.ones(4, np.float32))
    batch = Batch(np.arange(1, 4), ((),) * 3, (b"",) * 3, (dense, sparse))
    found = tables_of(opened(store_of(tmp_path / "store", [batch])).published)
    assert [(t.name, t.dense, t.copies) for t in found] == [("f-1", True, 2), ("s-1", False, 1)]
    assert found[0].bytes_each == 40 and found[1].bytes_each == (4 * (4 + 2) + 3 * 8) / 3
    assert scan_speed() > 1e8 and machine_memory() > 1e8


def test_doctor_says_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capfd, make_photos(tmp_path / "photos"), tmp_path / "store")
    assert shell("index", "--workers", "1", "--features", "color").code == 0
    said = shell("doctor", "--scale").out
    assert said.startswith("8 pictures: flat, 1 machine") and "324 bytes a picture" in said
    found = json.loads(shell("doctor", "--scale", "--pictures", "10000000000", "--json").out)
    assert found["engine"] == "milvus" and found["machines"] > 100
    assert found["pictures"] == 10**10 and len(found["lines"]) > 4
    assert shell("doctor", "--pictures", "0").code == 2
    with pytest.raises(ParameterError, match="at least 1"):
        Collection.open(shell.photos, store=shell.store).engines.sizing(0)


def test_the_document_says_what_is_computed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "scale.md").read_text("utf-8")
    found = [[scale(n, assumed(), memory, 20e9, 1_000_000) for n in (10**6, 10**8, 10**10)]
             for memory in (25 * 10**9, 512 * 10**9)]  # fmt: skip
    said = {
        "flat: one query, one core": [_part(s, "flat: ", r"measured now: (.*)") for s in found[0]],
        "faiss: all lists": [_part(s, "faiss: ", r"take ([^;]*);") for s in found[0]],
        "faiss: one query that looks into 2 %": [
            _part(s, "faiss: ", r"longest: (.*) once") for s in found[0]
        ],
        "Milvus: bytes in memory": [_part(s, "milvus: ", r"(.*?) in memory") for s in found[0]],
        "Milvus: machines of 25 GB": [_part(s, "milvus: ", r"over ([\d,]+) of") for s in found[0]],
        "Milvus: machines of 512 GB": [_part(s, "milvus: ", r"over ([\d,]+) of") for s in found[1]],
        "Milvus: one query on machines of 25 GB": [
            _part(s, "milvus: ", r"part: (.*)") for s in found[0]
        ],
        "what `doctor --scale` says": [s.engine for s in found[0]],
    }
    for name, values in said.items():
        assert f"| {name} | {' | '.join(values)} |" in text


def _part(s: SizingEstimate, line: str, pattern: str) -> str:
    (own,) = [x.removeprefix(line) for x in s.lines if x.startswith(line)]
    found = re.search(pattern, own)
    assert found is not None
    return found[1]
