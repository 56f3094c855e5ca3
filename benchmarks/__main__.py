"""`python -m benchmarks`: measure, print one table, and write JSON beside it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.bench import FULL, QUICK, Bench, Sizes
from benchmarks.rows import BenchmarkError, table
from benchmarks.runner import SUBJECTS, report, run
from benchmarks.timing import THREADS, environment
from sightline.settings import load

_LARGE, _HUGE = 1_000_000, 10_000_000


def main(argv: list[str]) -> int:
    """Run what was asked for; 1 when a result was wrong, whatever the figures."""
    options = _parser().parse_args(argv)
    data = load({"data": options.data or None})[0].data
    names = options.only.split(",") if options.only else SUBJECTS
    with tempfile.TemporaryDirectory(prefix="sightline-bench-") as folder:
        # Worker processes inherit this process's environment; commands are given it.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = environment(Path(folder))["PYTHONPYCACHEPREFIX"]
        bench = Bench(Path(folder), _sizes(options), Path(data).expanduser() if data else None)
        try:
            rows = run(names, bench)
        except BenchmarkError as e:
            print(f"bench: {e}", file=sys.stderr)
            return 1
        outcome = report(rows, bench, quick=options.quick)
    print(table(rows))
    if options.json:
        Path(options.json).write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", help="folder with caltech101.zip or caltech101/")
    parser.add_argument("--json", help="file to write every sample to")
    parser.add_argument("--only", help=f"some of: {', '.join(SUBJECTS)}")
    parser.add_argument("--quick", action="store_true", help="small workloads, to try it out")
    parser.add_argument("--large", action="store_true", help="growth up to a million")
    parser.add_argument(
        "--ten-million", action="store_true", help="compact-lists with ten million rows"
    )
    return parser


def _sizes(options: argparse.Namespace) -> Sizes:
    sizes = QUICK if options.quick else FULL
    if options.ten_million:
        sizes = replace(sizes, listed=_HUGE)
    if not options.large:
        return sizes
    return replace(sizes, queries=(*sizes.queries, _LARGE), trained=(*sizes.trained, _LARGE))


def _one_thread() -> None:
    """Begin again with one thread for each library: they read this only while they load."""
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]])


if __name__ == "__main__":
    _one_thread()
    sys.exit(main(sys.argv[1:]))
