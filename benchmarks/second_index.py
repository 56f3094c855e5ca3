"""second-index: a collection in which nothing changed is indexed again, as a whole command.

The limit is a new interpreter that does nothing but list the folder and ask for each file's size.
"""

from __future__ import annotations

import json

from benchmarks.bench import Bench
from benchmarks.pictures import collection
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, command, cpus, interleaved, python, sightline, walls

NAME = "second-index"
ROWS = ("second-index/wall", "second-index/cpu")
_GOAL = Goal("value", 2.0)
_WALK = "import os,sys\nfor d,_,n in os.walk(sys.argv[1]):\n for f in n: os.stat(os.path.join(d,f))"


def measure(bench: Bench) -> list[Row]:
    """Index once, then time the second and later runs."""
    root, store = collection(bench), bench.fresh("second")
    line = sightline("index", root, "--store", store, "--json")
    command(line, bench.folder)

    def again() -> Cost:
        ran = command(line, bench.folder)
        output = json.loads(ran.out)
        if output["added"] or output["changed"] or output["indexed"] != bench.sizes.collection:
            raise BenchmarkError(f"The second index was not idle: {output}.")
        return ran.cost

    walk = python("-c", _WALK, str(root))
    ours, limit = interleaved(
        bench.sizes.repetitions, [again, lambda: command(walk, bench.folder).cost]
    )
    note = f"{bench.sizes.collection} pictures with a word file each"
    baseline = "s python walk and stat"
    return [
        compared(ROWS[0], "s", walls(ours), baseline, walls(limit), _GOAL, note),
        compared(ROWS[1], "CPU s", cpus(ours), f"CPU {baseline}", cpus(limit)),
    ]
