"""restart-after-kill: an index run is killed half-way; how soon is a search answered again?

Each repetition kills at another place. Afterwards a search must find pictures, the next index must
finish the rest, and `store verify` must find nothing wrong.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.pictures import SEED, collection
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import command, environment, sightline
from sightline.errors import SightlineError
from sightline.store.folder import StoreFolder

NAME = "restart-after-kill"
ROWS = ("restart-after-kill/first-answer", "restart-after-kill/finish")
_GOAL = Goal("value", 5.0)
_PATIENCE = 300.0
_MORE = 0.1  # seconds; a batch takes longer, so the kill falls anywhere within one


def measure(bench: Bench) -> list[Row]:
    """Kill, search, finish, verify; again and again."""
    root = collection(bench)
    first, calm, finish = [], [], []
    chance = random.Random(SEED)
    for i in range(bench.sizes.repetitions):
        store = bench.fresh("killed")
        share = 0.8 * i / bench.sizes.repetitions
        wanted = int(share * bench.sizes.collection)
        reached = _killed(bench, root, store, wanted, chance.uniform(0, _MORE))
        bench.say(f"killed with {reached} pictures published")
        first.append(_search(root, store, bench.folder))
        finish.append(_finish(root, store, bench))
        calm.append(_search(root, store, bench.folder))
        shutil.rmtree(store)
    note = f"{bench.sizes.collection} pictures; each store verified clean after the next index"
    baseline = "s the same search, never killed"
    return [
        compared(ROWS[0], "s", first, baseline, calm, _GOAL, note),
        alone(ROWS[1], "s", finish, note="the next index, which reads what the killed one had not"),
    ]


def _killed(bench: Bench, root: Path, store: Path, pictures: int, more: float) -> int:
    """Kill an index run `more` seconds after it has published more than so many pictures."""
    line = sightline("index", root, "--store", store)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(line, stdout=quiet, stderr=quiet, env=environment(bench.folder))
    try:
        end = time.monotonic() + _PATIENCE
        while (reached := _published(store)) <= pictures:
            if process.poll() is not None or time.monotonic() > end:
                raise BenchmarkError("The index run could not be killed half-way.")
            time.sleep(0.005)
        time.sleep(more)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    if process.returncode != -signal.SIGKILL:
        raise BenchmarkError("The index run had ended before it was killed.")
    return reached


def _published(store: Path) -> int:
    """Return how many pictures a reader sees."""
    try:
        with StoreFolder(store).reader() as reader:
            return len(reader.snapshot.ids())
    except SightlineError:
        return 0  # Nothing is there yet, or only half of it.


def _search(root: Path, store: Path, store_folder: Path) -> float:
    ran = command(sightline("search", "tree", "-C", root, "--store", store), store_folder)
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
