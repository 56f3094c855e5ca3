"""What runs on a machine of the cluster: batches of jobs under limits, and parts of computations.

A Ray worker never opens a picture itself. It owns one decode and one describe worker of
`compute.local`, with their limits of memory and time and their system-call filter, and hands jobs
on to them; what comes back are plain values and bytes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import os
import resource
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.compute.local import LocalCompute
from sightline.compute.ray_cluster.frames import Frames, pack_answers, unpack_jobs
from sightline.compute.ray_cluster.identity import difference, identity
from sightline.contracts import Done, Job, Json, WorkerKind
from sightline.errors import SightlineError
from sightline.pictures import carrying

Identity = tuple[tuple[str, str], ...]
Bytes = NDArray[np.uint8]
# Of a machine's memory, the most that one part may take.
_SHARE = 0.8
# Bytes of held arrays that a Ray worker keeps ready for the next part.
_KEPT = 2 << 30


def who() -> tuple[Identity, str]:
    """Return what computes here, and the name of the machine."""
    return identity(), os.uname().nodename


def run_batch(
    expected: Identity,
    task: str,
    kind: WorkerKind,
    seconds: float,
    jobs: Frames,
    names: Sequence[str],
    *books: Bytes,
) -> Frames:
    """Run jobs under the limits of their kind; `books` are files that their arguments name."""
    _refuse_other(expected)
    own = unpack_jobs(jobs)
    with contextlib.ExitStack() as stack:
        with _disk():
            places = {n: _kept(b) for n, b in zip(names, books, strict=True)}
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sightline-"))
            todo = [_here(job, os.path.join(folder, str(i)), places) for i, job in enumerate(own)]
        found = list(_limited(seconds).run(task, todo, kind))
    answers = [
        carrying.with_problems(f, j.args) if isinstance(f, Done) else f
        for f, j in zip(found, own, strict=True)
    ]
    return pack_answers(answers)


def run_part(
    expected: Identity,
    task: str,
    args: dict[str, Json],
    keys: Sequence[str],
    *given: dict[str, NDArray[Any]],
) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
    """Compute a part, under a limit of memory; held arrays come first, by key, its own last."""
    _refuse_other(expected)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with _memory(_SHARE):
            for key, some in zip((*keys, ""), given, strict=True):
                arrays.update(_writable(key, some))
            value, made = _function(task)(args, arrays)
    except SightlineError as e:
        return {"error": [type(e).__name__, str(e)]}, {}
    except MemoryError:
        return {"error": ["ComputeError", _no_memory()]}, {}
    return {"value": value}, {name: np.asarray(a) for name, a in made.items()}


def _refuse_other(expected: Identity) -> None:
    """Stop where a machine that joined later computes by other versions."""
    if said := difference(expected, identity()):
        raise RuntimeError(f"the node {os.uname().nodename} has {said}")


@cache
def _limited(seconds: float) -> LocalCompute:
    """Return the limited workers of this Ray worker, one of each kind."""
    return LocalCompute(1, seconds=seconds)


_held: OrderedDict[str, dict[str, NDArray[Any]]] = OrderedDict()


def _writable(key: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays as a task may have them, copied once for all parts that name the same key.

    What comes from the object store can only be read, and compiled loops are made for arrays that
    can be written too.
    """
    if key in _held:
        _held.move_to_end(key)
        return _held[key]
    made = {name: np.array(a) for name, a in arrays.items()}
    if key:
        _held[key] = made
        while len(_held) > 1 and sum(map(_bytes, _held.values())) > _KEPT:
            _held.popitem(last=False)
    return made


def _bytes(arrays: dict[str, NDArray[Any]]) -> int:
    return sum(a.nbytes for a in arrays.values())


@cache
def _function(task: str) -> Callable[..., tuple[dict[str, Json], dict[str, NDArray[Any]]]]:
    module, _, name = task.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _here(job: Job, folder: str, places: dict[str, str]) -> Job:
    """Return a job whose files are ones of this machine."""
    if "carried" in job.args:
        os.mkdir(folder)
        return carrying.laid_out(job, os.fsencode(folder))
    features = job.args.get("features")
    if not places or not isinstance(features, list):
        return job
    return replace(job, args={**job.args, "features": [_place(str(f), places) for f in features]})


def _place(feature: str, places: dict[str, str]) -> str:
    where, _, book = feature.partition("@")
    return f"{where}@{places[book]}" if book else feature


def _kept(book: Bytes) -> str:
    """Return where a file lies on this machine, writing it the first time."""
    data = book.tobytes()
    folder = Path(tempfile.gettempdir(), f"sightline-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise RuntimeError(f"{folder} belongs to somebody else. Remove it.")
    path = folder / f"{hashlib.sha256(data).hexdigest()}.safetensors"
    if not path.exists() or path.stat().st_size != len(data):
        aside = path.with_suffix(f".{os.getpid()}.part")
        aside.write_bytes(data)
        os.replace(aside, path)
    return str(path)


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """Name the machine whose disk is full."""
    try:
        yield
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f"{tempfile.gettempdir()} of {os.uname().nodename}"
        raise RuntimeError(f"there is no space left in {where}") from e


@contextlib.contextmanager
def _memory(share: float) -> Iterator[None]:
    """Bound what this process may ask for: a machine that runs out of memory takes all with it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = int(total * share)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _no_memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"A part of the training needs more memory than {_SHARE:.0%} of the {total / 1e9:.0f} GB "
        f"that {os.uname().nodename} has. Learn from fewer pictures or words, or use more shards."
    )
