"""What runs on a node, without a cluster: files, memory, and arrays that nobody may write."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.collection.models.registry import RANKERS
from sightline.collection.models.training import TrainOptions, train
from sightline.compute.ray_cluster import _reraised, memory, node, staging
from sightline.compute.ray_cluster.identity import identity
from sightline.compute.ray_cluster.messages import pack_jobs
from sightline.contracts import (
    Done,
    Failed,
    Part,
    PartDone,
    PartTask,
    SerialMapper,
    SharedArrays,
)
from sightline.progress import NoProgress
from sightline.testing.compute import ECHO_TASK
from tests.factories.planted_stores import clusters, plant

# Those that learn from counts of visual words get them as sparse rows, which are copied.
DENSE = [name for name in RANKERS if name not in ("cmrm", "cmtt", "plsa")]


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of this user on a machine of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"sightline-{os.getuid()}"


def test_nobody_else_opens_what_is_laid_down(own_folder: Path) -> None:
    own_folder.mkdir(mode=0o755)
    with staging.folder() as folder:
        assert Path(folder).parent == own_folder
        assert Path(folder).name.startswith(f"{os.getpid()}-")
        for path in (own_folder, Path(folder)):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        Path(folder, "picture").touch()
        assert staging.sweep() == 1 and Path(folder, "picture").exists()
    assert not list(own_folder.iterdir()) and staging.sweep() == 0


def test_somebody_elses_folder_is_refused(own_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    own_folder.symlink_to(tmp_path / "theirs")
    with pytest.raises(RuntimeError, match="belongs to somebody else"), staging.folder():
        pass
    assert not list((tmp_path / "theirs").iterdir())


def test_the_folder_of_a_cluster_whose_program_was_killed_is_removed(own_folder: Path) -> None:
    code = (
        "import ray, sys\n"
        "from sightline.compute.ray_cluster import connection\n"
        "def start(**given): print(given['_temp_dir'], flush=True); sys.stdin.read()\n"
        "ray.init = start\n"
        "connection.join('local')"
    )
    env = {**os.environ, "TMPDIR": str(own_folder.parent)}
    with Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE, text=True, env=env) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        Path(folder, "session").mkdir()
        assert folder.parent == own_folder and staging.sweep() == 1
        run.kill()
        run.wait()
    assert staging.sweep() == 0 and not folder.exists()


def test_what_dead_processes_left_is_removed(own_folder: Path) -> None:
    left = own_folder / "1-left"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "picture.jpg").touch()
    staging.sweep()
    assert not left.exists()


def test_a_codebook_is_kept_for_a_day_and_never_taken_for_another(own_folder: Path) -> None:
    path = Path(staging.cached(b"numbers"))
    path.write_bytes(b"NUMBERS")
    os.utime(path, (0, 0))
    assert staging.cached(b"numbers") == str(path) and path.read_bytes() == b"numbers"
    os.utime(path, (0, 0))
    assert Path(staging.cached(b"numbers")).read_bytes() == b"numbers"
    staging.sweep()
    assert path.exists(), "it was used just now"
    os.utime(path, (0, 0))
    staging.sweep()
    assert not path.exists()


def test_memory_is_what_a_group_is_given(tmp_path: Path) -> None:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    own, groups = tmp_path / "own", tmp_path / "groups"
    assert memory.total(groups, own) == machine
    inner = groups / "of" / "a" / "container"
    inner.mkdir(parents=True)
    own.write_text("3:cpu:/elsewhere\n0::/of/a/container\n")
    (inner / "memory.max").write_text("max\n")
    assert memory.total(groups, own) == machine
    (groups / "of" / "memory.max").write_text("5000000\n")
    assert memory.total(groups, own) == 5_000_000
    (groups / "memory").mkdir()
    (groups / "memory" / "memory.limit_in_bytes").write_text("4000000\n")
    own.write_text("4:memory:/a/name/outside\n0::/of/a/container\n")
    assert memory.total(groups, own) == 4_000_000


class OnANode(SerialMapper):
    """Computes parts as a node does, from arrays that lie where nobody may write."""

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> SharedArrays:
        return SharedArrays(_read_only(arrays))

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        name = f"{task.__module__}:{task.__qualname__}"
        for part in parts:
            held: list[Any] = [h.value for h in part.held]
            said, made = node.run_part(identity(), name, part.args, *held, _read_only(part.arrays))
            if "error" in said:
                raise _reraised(said["error"])
            yield PartDone(said["value"], lambda made=made: made)  # type: ignore[arg-type,misc]


def _read_only(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    made = {name: np.array(a) for name, a in arrays.items()}
    for a in made.values():
        a.setflags(write=False)
    return made


@pytest.mark.parametrize(("ranker", "shards"), [*((r, 1) for r in DENSE), ("pamir", 2)])
def test_every_ranker_learns_from_matrices_it_may_not_write(
    ranker: str, shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.collection.models.registry._MOST_STEPS", 5_000)
    words, rows = clusters(120, 6, noise=1.2)
    options = TrainOptions(rankers=(ranker,), force=True, shards=shards)
    found = []
    for where in (None, OnANode()):
        store_folder = plant(tmp_path / str(where is None), words, {"signal": rows})
        assert train(store_folder, options, 0.0, NoProgress(), where).recipe.startswith(ranker)
        files = sorted(store_folder.models.rglob("*.safetensors"))
        found.append([f.read_bytes() for f in files])
    # Loops are compiled anew for what can only be read, and must round as they did.
    assert found[0] and found[0] == found[1]


@pytest.fixture
def ignored_interrupts() -> Iterator[None]:
    """Ignore SIGINT, as a cluster does that a shell started in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ignored_interrupts")
def test_a_batch_can_be_cancelled_on_a_cluster_that_ignores_interrupts() -> None:
    interrupts = node._Interrupts()
    with pytest.raises(KeyboardInterrupt), interrupts.allowed():
        signal.raise_signal(signal.SIGINT)
    # A second cancellation does not interrupt the clean-up, nor what comes after it.
    signal.raise_signal(signal.SIGINT)
    with interrupts.allowed():
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("ignored_interrupts")
@pytest.mark.parametrize("name", ["_locked_folder", "LockedFolder.cleanup"])
def test_a_batch_cancelled_while_its_folder_is_made_or_removed_leaves_no_folder(
    name: str, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = staging._locked_folder if name == "_locked_folder" else staging.LockedFolder.cleanup
    ran = []

    def cancelled(*args: Any) -> Any:
        result = real(*args)
        signal.raise_signal(signal.SIGINT)
        return result

    def answer(*args: Any) -> list[Done | Failed]:
        ran.append(args)
        return []

    monkeypatch.setattr(f"sightline.compute.ray_cluster.staging.{name}", cancelled)
    monkeypatch.setattr(node, "_answers", answer)
    message = pack_jobs([])
    if name == "_locked_folder":
        with pytest.raises(KeyboardInterrupt):
            node.run_batch(identity(), ECHO_TASK, "decode", 60.0, message, ())
    else:
        node.run_batch(identity(), ECHO_TASK, "decode", 60.0, message, ())
    assert bool(ran) == (name != "_locked_folder") and not list(own_folder.iterdir())
