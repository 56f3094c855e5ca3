"""Worker processes: answers in order, the guilty file named and no other, nothing left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sightline.compute import channel, local, process
from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.compute.process import WorkerProcess
from sightline.contracts import Compute, Done, Failed, Job, Json, WorkerKind
from sightline.errors import ComputeError, ParameterError
from tests.factories.worker_tasks import HERE, NONSENSE, PERFORM, let_workers_import
from tests.waiting import REAL_SECONDS_LEFT, alive, joined, time_only_hanging_jobs, until_ended


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    let_workers_import(monkeypatch)
    time_only_hanging_jobs(monkeypatch)


@pytest.fixture
def one() -> Iterator[LocalCompute]:
    with LocalCompute(1) as c:
        yield c


@pytest.fixture
def two() -> Iterator[LocalCompute]:
    with LocalCompute(2) as c:
        yield c


def job(n: int, blob: bytes = b"", **args: Json) -> Job:
    return Job(b"%d" % n, {"n": n, **args}, blob)


def outcome(answer: Done | Failed) -> Json:
    """Return the number of a job that was done, or the kind of its failure."""
    return answer.value.get("n") if isinstance(answer, Done) else answer.kind


def run(c: Compute, jobs: list[Job], kind: WorkerKind = "decode") -> list[Json]:
    return [outcome(a) for a in c.run(PERFORM, jobs, kind)]


def pids(c: LocalCompute) -> list[int]:
    return [w._process.pid for pool in c._pools.values() for w in pool]


# -- order and bounds ----------------------------------------------------------------------------


def test_answers_are_what_the_task_gives_in_this_process(two: LocalCompute) -> None:
    jobs = [job(n, bytes([n % 256]) * (n * 37)) for n in range(300)]
    for kind in ("decode", "describe"):
        got = [a for a in two.run(PERFORM, jobs, kind) if isinstance(a, Done)]
        own = [a for a in InlineCompute().run(PERFORM, jobs, "decode") if isinstance(a, Done)]
        assert [(a.value["n"], a.blob) for a in got] == [(a.value["n"], a.blob) for a in own]
        assert [a.value["n"] for a in got] == list(range(300))
        assert {a.value["pid"] for a in got} <= set(pids(two)) and os.getpid() not in pids(two)


def test_answers_come_in_order_though_the_first_is_done_last(
    two: LocalCompute, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = str(tmp_path / "pipe")
    later = [job(n, do="release second", pipe=pipe) for n in range(1, 40)]
    assert run(two, [job(0, do="wait", pipe=pipe), *later], "describe") == list(range(40))


def test_answers_run_ahead_only_so_far() -> None:
    drawn = 0

    def jobs() -> Iterator[Job]:
        nonlocal drawn
        yield job(0, do="hang")
        for n in range(1, 2000):
            drawn = n + 1
            yield job(n)

    with LocalCompute(2, seconds=1.5) as c:
        answers = c.run(PERFORM, jobs(), "decode")
        assert outcome(next(answers)) == "timeout"
        assert drawn == local._WINDOW
        assert [outcome(a) for a in answers] == list(range(1, 2000))


def test_consumer_that_stops_leaves_no_stuck_worker(two: LocalCompute) -> None:
    answers = two.run(
        PERFORM, [job(0), job(1), *(job(n, do="hang") for n in range(2, 50))], "decode"
    )
    assert [outcome(next(answers)) for _ in range(2)] == [0, 1]
    before = pids(two)
    answers.close()  # type: ignore[attr-defined]
    until_ended(*(p for p in before if p not in pids(two)))
    assert not set(before) & set(pids(two))
    assert run(two, [job(n) for n in range(20)]) == list(range(20))


def test_jobs_that_fail_to_come_leave_the_pool_usable(two: LocalCompute) -> None:
    def jobs() -> Iterator[Job]:
        yield from (job(n) for n in range(5))
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(two.run(PERFORM, jobs(), "decode"))
    assert run(two, [job(7)]) == [7]


def test_workers_answer_though_many_files_are_open(one: LocalCompute) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    held: list[int] = []
    try:
        # Beyond what `select` can be asked about, as in a server with many connections.
        while not held or held[-1] < 1100:
            held.append(os.open(os.devnull, os.O_RDONLY))
        assert run(one, [job(n, b"x" * 100_000) for n in range(5)]) == list(range(5))
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_jobs_no_answers(one: LocalCompute) -> None:
    assert run(one, []) == []


def test_close_ends_every_worker_and_a_closed_pool_starts_anew() -> None:
    c = LocalCompute(2)
    assert run(c, [job(0)]) == [0] and run(c, [job(1)], "describe") == [1]
    before = pids(c)
    assert len(before) == 4
    c.close()
    assert not any(alive(p) for p in before)
    descriptors = len(os.listdir("/proc/self/fd"))
    with c:
        assert run(c, [job(2)]) == [2]
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_number_of_workers() -> None:
    assert LocalCompute().workers == len(os.sched_getaffinity(0))
    with pytest.raises(ParameterError, match="Got -1"):
        LocalCompute(-1)


# -- the guilty and the innocent -------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_exactly_the_guilty_are_named(workers: int) -> None:
    deeds = {3: "crash", 4: "crash", 10: "hang", 11: "hog", 29: "crash"}
    expected = {"crash": "crash", "hang": "timeout", "hog": "memory"}
    with LocalCompute(workers, seconds=2.0) as c:
        got = run(c, [job(n, do=deeds.get(n)) for n in range(30)])
    assert got == [expected[deeds[n]] if n in deeds else n for n in range(30)]


def test_reasons_say_what_happened() -> None:
    with LocalCompute(1, seconds=0.5) as c:
        jobs = [job(0, do="crash"), job(1, do="hang"), job(2, do="hog")]
        reasons = [a.reason for a in c.run(PERFORM, jobs, "decode") if isinstance(a, Failed)]
    assert reasons == [
        "it made the decoder die (SIGSEGV)",
        "it took longer than 0.5 seconds",
        "it needs more memory than a worker may take",
    ]


def test_file_that_a_worker_happened_to_die_at_gets_a_second_chance(
    one: LocalCompute, tmp_path: Path
) -> None:
    jobs = [job(0), job(1, do="crash once", mark=str(tmp_path / "mark")), job(2)]
    assert run(one, jobs, "describe") == [0, 1, 2]
    assert (tmp_path / "mark").exists()


def test_worker_killed_while_idle_is_replaced(one: LocalCompute) -> None:
    assert run(one, [job(0)]) == [0]
    (pid,) = pids(one)
    os.kill(pid, signal.SIGKILL)
    until_ended(pid)
    assert run(one, [job(n) for n in range(5)]) == list(range(5))


def test_workers_that_cannot_start_stop_the_run(
    one: LocalCompute, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ComputeError, match="die while starting"):
        list(one.run("no.such.module:task", [job(0)], "decode"))
    assert "no.such.module:task" in capfd.readouterr().err
    assert pids(one) == []


def test_time_runs_only_once_a_worker_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting takes longer than this limit; the job must not be blamed for that."""
    monkeypatch.setattr(WorkerProcess, "seconds_left", REAL_SECONDS_LEFT)
    now, receive = [0.0], WorkerProcess.receive

    def late_to_start(self: WorkerProcess) -> object:
        now[0] += 0.0 if self.ready else process.START_SECONDS / 2
        return receive(self)

    # A clock that stands still, but for the start of a worker.
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(WorkerProcess, "receive", late_to_start)
    with LocalCompute(1, seconds=0.1) as c:
        assert run(c, [job(0)]) == [0]
    assert now[0] == process.START_SECONDS / 2


def test_heavy_jobs_run_one_at_a_time(two: LocalCompute, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    jobs = [job(n, do="alone" if n % 3 else None, log=log) for n in range(60)]
    answers = list(two.run(PERFORM, jobs, "describe"))
    assert [outcome(a) for a in answers] == list(range(60))
    assert [a.value["alone"] for a in answers if isinstance(a, Done)] == [
        n % 3 > 0 for n in range(60)
    ]
    assert (tmp_path / "log").read_text() == "in\nout\n" * 40


@pytest.mark.parametrize(("deed", "kind"), [("crash", "crash"), ("hang", "timeout")])
def test_heavy_job_that_dies_lets_the_next_one_run(deed: str, kind: str) -> None:
    with LocalCompute(2, seconds=1.0) as c:
        deeds = [deed, "", deed, ""]
        jobs = [job(n, do="alone", then=then) for n, then in enumerate(deeds)]
        assert run(c, [*jobs, job(4)]) == [kind, 1, kind, 3, 4]


# -- a worker that was taken over ------------------------------------------------------------------


@pytest.mark.parametrize("lie", sorted(set(NONSENSE) - {"nine answers"}))
def test_nonsense_from_a_worker_is_blamed_on_its_file(
    one: LocalCompute, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "_TIMEOUT_SECONDS", 0.2)
    jobs = [job(0), job(1, do="lie", lie=lie), job(2)]
    assert run(one, jobs) == [0, "crash", 2]


def test_more_answers_than_jobs_end_a_worker_quietly() -> None:
    """Nobody can tell a forged answer from a true one, but those for no job are seen through."""
    with LocalCompute(2, seconds=1.0) as c:
        jobs = [job(0, do="lie", lie="nine answers"), job(1, do="hang")]
        assert run(c, jobs) == [None, "timeout"]


def test_answer_that_is_too_long_fails_its_file_alone(one: LocalCompute) -> None:
    assert run(one, [job(0), job(1, do="too much"), job(2)]) == [0, "too-large", 2]
    with pytest.raises(ComputeError, match="over the limit"):
        run(one, [job(0, bytes(3 << 20))])


# -- the process around them -----------------------------------------------------------------------


def test_workers_compute_on_one_thread_each(one: LocalCompute) -> None:
    (answer,) = one.run(PERFORM, [job(0, do="facts")], "describe")
    assert isinstance(answer, Done)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    assert answer.value["threads"] == dict.fromkeys(names, "1")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Heed Ctrl-C, which a test run in the background does not, nor what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_does_not_reach_the_file_under_way(one: LocalCompute, tmp_path: Path) -> None:
    """Ctrl-C goes to every process of the group; a worker in the middle of a file goes on."""
    begun, pipe = tmp_path / "begun", tmp_path / "pipe"
    for p in (begun, pipe):
        os.mkfifo(p)

    def interrupt() -> None:
        begun.read_text()
        for pid in pids(one):
            os.kill(pid, signal.SIGINT)
        pipe.write_text("go")

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    jobs = [job(0, do="wait", begun=str(begun), pipe=str(pipe)), job(1)]
    answers = list(one.run(PERFORM, jobs, "describe"))
    assert joined(thread)
    assert [outcome(a) for a in answers] == [0, 1]
    assert {a.value["pid"] for a in answers if isinstance(a, Done)} == set(pids(one))


_PARENT = """
import sys
from sightline.compute.local import LocalCompute
from sightline.compute.process import WorkerProcess
from sightline.contracts import Job
c = LocalCompute(2, seconds=3600)
jobs = [Job(b"", {"n": n, **({"do": "hang"} if n > 1 else {})}) for n in range(4)]
answers = c.run("worker_tasks:perform", jobs, "decode")
next(answers), next(answers)
print(*[w._process.pid for w in c._pools["decode"]], flush=True)
sys.stdin.read()
"""


def test_workers_die_with_the_process_that_started_them() -> None:
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
    ) as parent:
        assert parent.stdout is not None
        workers = [int(p) for p in parent.stdout.readline().split()]
        assert len(workers) == 2 and all(alive(p) for p in workers)
        parent.kill()
        until_ended(*workers)


def test_python_files_in_the_current_folder_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of pictures from a stranger, in which somebody runs `sightline index .`"""
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n"
    for name in ("json", "numpy", "PIL", "sightline", "simplejpeg"):
        (tmp_path / f"{name}.py").write_text(trap)
    monkeypatch.chdir(tmp_path)
    with LocalCompute(1) as c:
        answers = c.run("sightline.pictures.reading:read_words", [_words_job(tmp_path)], "decode")
        assert all(isinstance(a, Done) for a in answers)
    assert not (tmp_path / "sprung").exists()


def _words_job(root: Path) -> Job:
    return Job(b"", {"root": str(root), "path": "a.jpg", "sidecars": [], "follow": False})


@pytest.mark.parametrize("kind", ["decode", "describe"])
def test_a_worker_that_nobody_waits_for_any_more_ends_without_a_word(kind: str) -> None:
    """Its command ended while it was still starting: both pipes are closed before it is ready."""
    to_worker, from_us = os.pipe()
    from_worker, to_us = os.pipe()
    region = os.memfd_create("region")
    os.ftruncate(region, channel.REGION_BYTES)
    for fd in (from_us, from_worker):
        os.close(fd)
    given = [kind, str(1 << 33), str(to_worker), str(to_us), str(region), PERFORM]
    try:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "sightline.compute.worker", *given],
            pass_fds=(to_worker, to_us, region), capture_output=True,
        )  # fmt: skip
    finally:
        for fd in (to_worker, to_us, region):
            os.close(fd)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
