"""start-up: CPU time of whole commands in new processes, files in the page cache.

The limits are an interpreter that does nothing, and one that imports numpy, which a search needs.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, command, cpus, interleaved, python, sightline

NAME = "start-up"
ROWS = (
    "start-up/help",
    "start-up/import",
    "start-up/search-common",
    "start-up/search-rare",
    "start-up/search-unknown",
)
_HELP, _SEARCH = Goal("value", 0.15, 0.12), Goal("value", 0.4, 0.3)
_FORBIDDEN = frozenset(["numba", "sklearn", "scipy"])
_UNKNOWN = "braidostal"


def measure(bench: Bench) -> list[Row]:
    """Start each command in turn, many times."""
    n = bench.sizes.worded
    root, store_folder = stores.worded(bench, n)
    words = stores.vocabulary(bench.sizes.vocabulary)
    where = ["-C", str(root), "--store", str(store_folder.path)]
    common, rare = (["search", w, *where] for w in (words[0], words[len(words) // 20]))
    _check_imports(common, bench.folder)
    if not command(sightline(*common), bench.folder).out:
        raise BenchmarkError(f"The search for {words[0]!r} found nothing.")
    lines = {
        "python": python("-c", "pass"),
        "numpy": python("-c", "import numpy"),
        ROWS[0]: sightline("--help"),
        ROWS[1]: python("-c", "import sightline"),
        ROWS[2]: sightline(*common),
        ROWS[3]: sightline(*rare),
        ROWS[4]: sightline("search", _UNKNOWN, *where),
    }
    taken = _costs(lines, bench)
    bare, numpy = ("CPU s bare python", taken["python"]), ("CPU s import numpy", taken["numpy"])
    note = f"{n} pictures, 8 words each of {len(words)}; no numba, sklearn or scipy is imported"
    return [
        compared(ROWS[0], "CPU s", taken[ROWS[0]], *bare, _HELP),
        compared(ROWS[1], "CPU s", taken[ROWS[1]], *bare),
        compared(ROWS[2], "CPU s", taken[ROWS[2]], *numpy, _SEARCH, note),
        compared(ROWS[3], "CPU s", taken[ROWS[3]], *numpy, _SEARCH),
        compared(ROWS[4], "CPU s", taken[ROWS[4]], *numpy, _SEARCH),
    ]


def _costs(lines: dict[str, list[str]], bench: Bench) -> dict[str, list[float]]:
    def start(line: list[str]) -> Cost:
        return command(line, bench.folder).cost

    sides = [lambda line=line: start(line) for line in lines.values()]
    taken = interleaved(bench.sizes.starts, sides)
    return {name: cpus(costs) for name, costs in zip(lines, taken, strict=True)}


def _check_imports(search: list[str], store_folder: Path) -> None:
    """Refuse a search that imports what only learning or a server needs."""
    said = command(python("-X", "importtime", "-m", "sightline", *search), store_folder).err
    imported = {m.split(".")[0] for m in re.findall(r"\|\s+([\w.]+)$", said, re.MULTILINE)}
    if "numpy" not in imported:
        raise BenchmarkError("The list of imported modules cannot be read.")
    if imported & _FORBIDDEN:
        raise BenchmarkError(f"A search imports {', '.join(sorted(imported & _FORBIDDEN))}.")
