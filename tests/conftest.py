"""Shared by all tests: nothing outside the test's own folder is read or written."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from sightline.testing import watchdog
from tests.sharing import built_once, following, ordered, share, start_used, stop_unused, unshare
from tests.sorts import mark

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.testing.milvus import MilvusProcess
    from tests.factories.ray_clusters import TwoNodes
    from tests.factories.servers import Served

# Tests of crashes fork. Where Milvus was asked before, gRPC would tidy up in the child, which at
# times ends it; read when gRPC is first imported.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# Collections of tests are described by a network only where a test asks for it.
os.environ["SIGHTLINE_STARTING_WORDS"] = "false"

# A shared machine can be slow for a moment; examples are the same in every run. SIGHTLINE_LAWS=100
# tries as many of each law that names no number of its own.
settings.register_profile(
    "sightline",
    deadline=None,
    max_examples=int(os.environ.get("SIGHTLINE_LAWS", "40")),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("sightline")

_IN_MEMORY = "/dev/shm"
# A whole run leaves 2 GB, Ray's nodes keep objects beside it.
_ENOUGH = 6_000_000_000


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say at the end which tests were left out, and why."""
    left: Counter[tuple[str, str]] = Counter()
    for report in terminalreporter.getreports("skipped"):
        _, _, reason = report.longrepr
        left[report.nodeid.partition("::")[0], reason.removeprefix("Skipped: ")] += 1
    for (file, reason), n in sorted(left.items()):
        terminalreporter.write_line(f"left out: {file} ({n}): {reason}")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run a folder for all that is temporary, which its processes are told of.

    Each process of the run is watched: what it started, and what lies in its folders, ends with it
    even if it is killed.
    """
    watchdog.watched()
    if hasattr(config, "workerinput"):
        return
    # A shell has what runs in its background ignore interrupts, which tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("numprocesses", None):
        # Processes of a run share the processors; threads beside them mostly wait for each other.
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    # What tests leave for whoever looks at a failure stays where pytest keeps it.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", fast_root())
    # Sockets lie in it, whose names must be short.
    place = tempfile.mkdtemp(prefix="sl-")
    # Some tests are somebody else for a moment, who must get to what lies in it.
    os.chmod(place, 0o711)
    watchdog.remove_later(place)
    os.environ["TMPDIR"] = tempfile.tempdir = place
    os.environ["SIGHTLINE_TEST_MILVUS"] = os.path.join(place, "milvus")


def fast_root() -> str:
    """Return where folders of tests are made: in memory where there is room for them.

    Stores flush what they acknowledge, a few milliseconds each time on a disk, some 10,000 times in
    a run. What a flush is for is tested by disks that lose what was not flushed.
    """
    if "TMPDIR" in os.environ:
        return tempfile.gettempdir()
    try:
        room = os.statvfs(_IN_MEMORY)
    except OSError:
        return tempfile.gettempdir()
    spacious = room.f_bavail * room.f_frsize >= _ENOUGH
    return _IN_MEMORY if spacious and os.access(_IN_MEMORY, os.W_OK) else tempfile.gettempdir()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have the folders of a run that is killed removed; one that ends keeps them for a while."""
    if not hasattr(session.config, "workerinput"):
        watchdog.remove_later(_kept(session.config))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what is temporary once every process of the run has ended."""
    if not hasattr(config, "workerinput"):
        watchdog.keep(_kept(config))
        shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)


def _kept(config: pytest.Config) -> Path:
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.getbasetemp()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use, and have those that share something follow each other."""
    mark(items)
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = ordered(items, processes)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the collector of garbage leave alone what stays until the end.

    Each of its full rounds would look at half a million objects, and in a forked process copy them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # What is left is little, and most of it ends with its test.
        gc.set_threshold(5_000, 10, 10)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start what a test uses."""
    start_used(item)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Stop what the next tests do not use, once this one has let go of it."""
    stop_unused(following(nextitem))


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return names of folders, each given once."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(i) for i in count())


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test its own home, so that no settings or stores leak in or out."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "SIGHTLINE_STORE",
                 "SIGHTLINE_COLLECTION", "SIGHTLINE_DATA", "SIGHTLINE_COMPUTE", "SIGHTLINE_ENGINE",
                 "SIGHTLINE_SHARDS", "RAY_ADDRESS"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def two_rankers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings that name no ranker choose between two, unless a test is marked `all_rankers`.

    Ten take five times as long, and most tests of training are about something else.
    """
    if request.node.get_closest_marker("all_rankers") is None:
        monkeypatch.setattr(
            "sightline.collection.models.training.DEFAULT_RANKERS", ("pamir", "ridge")
        )


@pytest.fixture(scope="session")
def tagged() -> Path:
    """Return the folder of a painted collection that has learned where words lie; never changed."""
    from tests.factories.tagged_collections import painted_collection

    return built_once(
        "tagged",
        lambda folder: painted_collection(folder).models.train_regions(feature="regions", scenes=2),
    )


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return a collection with a model; tests do not change it."""
    from tests.factories.servers import painted

    return painted(tmp_path_factory.mktemp("taught"))


@pytest.fixture(autouse=True)
def taught_unchanged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that changes the collection which all tests of this process share."""
    if "taught" not in request.fixturenames or _is_replaced(request, "taught"):
        yield
        return
    shared = request.getfixturevalue("taught")
    before = shared.store.version(), [s.id for s in shared.sessions.all(empty=True)]
    yield
    after = shared.store.version(), [s.id for s in shared.sessions.all(empty=True)]
    assert after == before, "This test changes the shared collection; give it one of its own."


def _is_replaced(request: pytest.FixtureRequest, name: str) -> bool:
    """Say whether a file has a fixture of its own by the name of a shared one."""
    found = request._fixturemanager.getfixturedefs(name, request.node)
    return found is not None and found[-1].baseid not in ("", "tests")


@pytest.fixture(scope="module")
def served(taught: Collection) -> Iterator[Served]:
    """Serve it while the tests of a file run."""
    from tests.factories.servers import running

    with running(taught) as found:
        yield found


@pytest.fixture(scope="session")
def one_cluster() -> Iterator[TwoNodes]:
    """Return a real Ray cluster, one for all tests of this process."""
    from tests.factories.ray_clusters import shared_nodes

    yield from shared_nodes()


@pytest.fixture
def cluster(one_cluster: TwoNodes) -> TwoNodes:
    """Return it with both nodes up."""
    one_cluster.start_second()
    return one_cluster


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusProcess]:
    """Return a real Milvus server on this machine, one for all tests of this process."""
    from sightline.testing.milvus import is_installed
    from tests.factories.engine_stores import WITHOUT_MILVUS, a_server

    if not is_installed():
        pytest.skip(WITHOUT_MILVUS)
    for server in a_server(tmp_path_factory.mktemp("milvus")):
        share("milvus", server)
        yield server
        unshare("milvus")
