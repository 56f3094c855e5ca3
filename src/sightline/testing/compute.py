"""The check that every backend must pass: all answers, in order, and equal to local ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Compute, Done, Failed, Job, Json, Part, WorkerKind
from sightline.errors import DataError

ECHO_TASK = "sightline.testing.compute:echo"
_KINDS: tuple[WorkerKind, ...] = ("decode", "describe")
_SIZES = (0, 1, 3_000, 200_000, 1_500_000)


def echo(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Answer with what was sent, turned round; a job that is asked to fail fails."""
    if args.get("fail"):
        raise DataError(f"it was asked to fail: {args['fail']}")
    checksum = zlib.crc32(blob)
    return Done({"args": args, "crc": checksum}, bytes(blob)[::-1])


def scale(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
    """Multiply the rows held by those of the part, in place; a part that is asked to fail fails."""
    if args.get("fail"):
        raise DataError(f"it was asked to fail: {args['fail']}")
    rows = arrays["rows"]
    product = np.array(rows, copy=True)
    product *= arrays["factor"]
    return {"n": args["n"], "dtype": str(rows.dtype)}, {"product": product, "none": rows[:0]}


def check_compute(compute: Compute, n: int = 200) -> None:
    """Check that a backend implements the `Compute` contract.

    Every job has one answer, in the order of the jobs, whatever its size, and equal to what the
    task gives in this process; a job that fails is an answer with a reason and costs no other one;
    whoever stops listening half-way leaves it usable; parts get the arrays that were held and their
    own, bit by bit, and what a part raises on purpose is raised as it is.
    """
    for kind in _KINDS:
        _check_jobs(compute, kind, n)
        _check_stopping(compute, kind, n)
        _require(list(compute.run(ECHO_TASK, [], kind)) == [], "gives answers to no jobs")
    _check_parts(compute)
    _check_failing_part(compute)


def _jobs(n: int) -> Iterator[Job]:
    rng = np.random.default_rng(3)
    for i in range(n):
        size = _SIZES[i % len(_SIZES)] if i % 37 < 5 else 64
        args: dict[str, Json] = {"i": i, "text": "naïve \udc80"}
        args["fail"] = f"job {i}" if i % 29 == 3 else ""
        yield Job(b"job-%d" % i, args, rng.integers(0, 256, size, dtype=np.uint8).tobytes())


def _check_jobs(compute: Compute, kind: WorkerKind, n: int) -> None:
    answers = list(compute.run(ECHO_TASK, _jobs(n), kind))
    _require(len(answers) == n, f"gives {len(answers)} answers to {n} {kind} jobs")
    for job, answer in zip(_jobs(n), answers, strict=True):
        if job.args["fail"]:
            _require(
                isinstance(answer, Failed) and str(job.args["fail"]) in answer.reason,
                f"does not say why {job.name!r} failed",
            )
            continue
        expected = echo(job.args, memoryview(job.blob), True)
        _require(isinstance(answer, Done), f"fails at {job.name!r}: {answer}")
        assert isinstance(answer, Done)
        same = answer.value == expected.value and answer.blob == expected.blob
        _require(same, f"gives another answer to {job.name!r}, or in another order")


def _check_stopping(compute: Compute, kind: WorkerKind, n: int) -> None:
    for answer in compute.run(ECHO_TASK, _jobs(n), kind):
        _require(isinstance(answer, Done), f"fails at the first job: {answer}")
        break
    _check_jobs(compute, kind, min(n, 20))


def _check_parts(compute: Compute) -> None:
    rng = np.random.default_rng(4)
    for dtype in (np.float32, np.float64, np.int64, np.uint16):
        rows: NDArray[Any] = (rng.standard_normal((300, 40)) * 100).astype(dtype)
        before = rows.copy()
        held = compute.hold({"rows": rows})
        factors: list[NDArray[Any]] = [np.full(1, f, dtype) for f in (1, 3, 7)]
        parts = [Part({"n": i}, {"factor": f}, (held,)) for i, f in enumerate(factors)]
        for i, done in enumerate(compute.map(scale, iter(parts))):
            _require(done.value == {"n": i, "dtype": str(rows.dtype)}, "loses the order of parts")
            product = np.asarray(done.arrays["product"])
            same = product.dtype == dtype and np.array_equal(product, before * factors[i])
            _require(same, f"gives other numbers for a part of {rows.dtype}")
            _require(done.arrays["none"].shape == (0, 40), "loses arrays without rows")
        _require(np.array_equal(rows, before), "changes arrays that were held")


def _check_failing_part(compute: Compute) -> None:
    held = compute.hold({"rows": np.ones((2, 2)), "factor": np.ones(1)})
    parts = [Part({"n": 0}, held=(held,)), Part({"n": 1, "fail": "part 1"}, held=(held,))]
    answers = compute.map(scale, parts)
    _require(next(answers).value["n"] == 0, "does not answer a part before one that fails")
    try:
        next(answers)
    except DataError as e:
        _require("part 1" in str(e), f"says of a part that failed: {e}")
        return
    raise AssertionError("does not raise what a part raises")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"it {what}")
