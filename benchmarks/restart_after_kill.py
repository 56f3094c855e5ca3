"""restart-after-kill: an index run is killed half-way; how soon is a search answered again?

Each repetition kills at another place. Afterwards a search must find pictures, the next index must
finish the rest, and `store verify` must find nothing wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.pictures import collection
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import command, environment, sightline
from sightline.store.home import Home

NAME = "restart-after-kill"
ROWS = ("restart-after-kill/first-answer", "restart-after-kill/finish")
_GOAL = Goal("value", 5.0)
_PATIENCE = 300.0


def measure(bench: Bench) -> list[Row]:
    """Kill, search, finish, verify; again and again."""
    root = collection(bench)
    first, calm, finish = [], [], []
    for i in range(bench.sizes.repetitions):
        store = bench.fresh("killed")
        share = 0.8 * i / bench.sizes.repetitions
        reached = _killed(root, store, int(share * bench.sizes.collection), bench.folder)
        bench.say(f"killed with {reached} pictures published")
        first.append(_search(root, store, bench.folder))
        finish.append(_finish(root, store, bench))
        calm.append(_search(root, store, bench.folder))
        shutil.rmtree(store)
    note = f"{bench.sizes.collection} pictures; each store verified clean after the next index"
    rival = "s the same search, never killed"
    return [
        compared(ROWS[0], "s", first, rival, calm, _GOAL, note),
        alone(ROWS[1], "s", finish, note="the next index, which reads what the killed one had not"),
    ]


def _killed(root: Path, store: Path, pictures: int, home: Path) -> int:
    """Kill an index run once it has published more than so many pictures; return how many."""
    line = sightline("index", root, "--store", store)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(line, stdout=quiet, stderr=quiet, env=environment(home))
    try:
        end = time.monotonic() + _PATIENCE
        while (reached := _published(store)) <= pictures:
            if process.poll() is not None or time.monotonic() > end:
                raise BenchmarkError("The index run could not be killed half-way.")
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    if process.returncode != -signal.SIGKILL:
        raise BenchmarkError("The index run had ended before it was killed.")
    return reached


def _published(store: Path) -> int:
    home = Home(store)
    if not home.versions.folder.is_dir():
        return 0
    numbers = home.versions.numbers()
    try:
        # Version files are written before the pointer moves, so the last but one is visible.
        return home.versions.read(numbers[-2]).live if len(numbers) > 1 else 0
    except Exception:
        return 0  # Pruned between listing and reading.


def _search(root: Path, store: Path, home: Path) -> float:
    ran = command(sightline("search", "tree", "-C", root, "--store", store), home)
    if not ran.out:
        raise BenchmarkError("The search after the kill found nothing.")
    return ran.cost.wall


def _finish(root: Path, store: Path, bench: Bench) -> float:
    where = ("--store", store)
    ran = command(sightline("index", root, *where, "--json"), bench.folder)
    indexed = json.loads(ran.out)["indexed"]
    if indexed != bench.sizes.collection:
        raise BenchmarkError(f"{indexed} pictures after the restart, not {bench.sizes.collection}.")
    command(sightline("store", "verify", "-C", os.fspath(root), *where), bench.folder)
    return ran.cost.wall
