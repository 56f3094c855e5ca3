"""A real Milvus server as a process on this machine, for tests and benchmarks.

Clients connect to 127.0.0.1, but the server has no setting that binds its ports to that address
alone: while it runs, anyone who reaches this machine reaches them too.

The package `milvus` contains the server; it is unpacked once into a folder that any number of
servers share. Every server has its own free ports and data folder, which survives a kill, so that a
server can be killed and started again on its data. A server ends with the process that started it,
however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from sightline.errors import ComputeError, MissingExtra
from sightline.testing import watchdog

_START_SECONDS = 600.0
_TRIES = 3
# Few threads for the server's libraries: it shares the machine with the tests.
_ENVIRONMENT = {"DEPLOY_MODE": "STANDALONE", "OMP_NUM_THREADS": "2"}
_ETCD = """name: default
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""
# A killed server counts as alive for `ttl` seconds, even to itself after a restart; only then are
# its tables loaded again. The other settings shorten its polling intervals.
_SETTINGS = {
    "common.session.ttl": 5,
    "proxy.timeTickInterval": 50,
    "queryCoord.checkInterval": 200,
    "queryCoord.distPullInterval": 100,
    # A failed load of a table is tried again after this time, not after one or two minutes.
    "queryCoord.channelTaskTimeout": 5_000,
    "queryCoord.segmentTaskTimeout": 10_000,
    # A value of several lines adds settings that the server's own file does not have.
    "queryCoord.checkHandoffInterval": "500\n  checkSegmentInterval: 100\n"
    "  checkChannelInterval: 100\n  checkIndexInterval: 500",
}


def is_installed() -> bool:
    """Return whether the package with the server is installed."""
    return importlib.util.find_spec("milvus") is not None


class MilvusProcess:
    """One server: `start`, `kill`, `pause`, `resume`; a `with` block ends it for good.

    Parameters
    ----------
    folder : Path
        Folder of its data; created if missing.
    shared : Path
        Folder into which the program is unpacked, for all servers.
    password : bool, default=False
        Accept only the user root, with the password Milvus.
    """

    def __init__(self, folder: Path, shared: Path, *, password: bool = False) -> None:
        if not is_installed():
            raise MissingExtra.of("A Milvus server", "milvus-server")
        self.folder, self.shared, self.password = folder, shared, password
        self.ports: dict[str, int] = {}
        self.health = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """The address of the server, as the setting `engine` has it."""
        return f"milvus://127.0.0.1:{self.ports['proxy_port']}"

    def start(self) -> MilvusProcess:
        """Start the server, on the ports it had before if it had any.

        On the data of a killed server it sometimes crashes while it starts; then it is started
        again, as an operator would do.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._start()
            except ComputeError:
                self.kill()
        return self._start()

    def _start(self) -> MilvusProcess:
        watchdog.watched()
        self.folder.mkdir(parents=True, exist_ok=True)
        _unpack(self.shared)
        if not self.ports:
            self._configure()
        paths = {
            "METRICS_PORT": str(self.health),
            "MILVUS_RUN_DIR": str(self.folder / "run"),
            "LD_LIBRARY_PATH": str(self.shared / "bin"),
        }
        environment = {**os.environ, **_ENVIRONMENT, **paths}
        with open(self.folder / "output.log", "ab") as out:
            self._process = subprocess.Popen(
                [str(self.shared / "bin" / "milvus"), "run", "standalone"],
                cwd=self.folder, env=environment, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        self.wait()
        return self

    def wait(self) -> float:
        """Wait until the server is healthy; return the seconds that took."""
        started = time.monotonic()
        while not self.is_healthy():
            if self._process is None or self._process.poll() is not None:
                raise ComputeError(f"Milvus ended while it started. See: {self.folder}/output.log")
            if time.monotonic() - started > _START_SECONDS:
                self.kill()
                raise ComputeError(
                    f"Milvus did not start in {_START_SECONDS:.0f} s in {self.folder}."
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
        return time.monotonic() - started

    def is_healthy(self) -> bool:
        """Return whether the server answers that all its parts work."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/healthz", timeout=2) as r:
                return b"OK" in r.read()
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        if self._process is not None:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End the server; started again, it has the same data."""
        self.kill()

    def pause(self) -> None:
        """Stop the process: connections stay open, and no request is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process continue after `pause`."""
        self._signal(signal.SIGCONT)

    def memory(self) -> int:
        """Return the resident memory of the server in bytes."""
        if self._process is None:
            return 0
        text = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        (kilo,) = (line.split()[1] for line in text.splitlines() if line.startswith("VmRSS"))
        return int(kilo) << 10

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def _configure(self) -> None:
        """Write the settings of the server, with free ports."""
        server: Any = importlib.import_module("milvus")
        config = server.MilvusServerConfig(data_dir=str(self.folder))
        keys = [k for k in config.configurable_items if k.endswith("_port")]
        *ports, self.health, peer = _free_ports(len(keys) + 2)
        self.ports = dict(zip(keys, ports, strict=True))
        config.update(**self.ports)
        for name, value in _SETTINGS.items():
            config.set(name, value)
        config.set("common.security.authorizationEnabled", str(self.password).lower())
        # Without a file of its own, its database would choose two ports itself.
        etcd = self.folder / "etcd.yaml"
        etcd.write_text(_ETCD.format(client=self.ports["etcd_port"], peer=peer), "ascii")
        config.set("etcd.rootPath", f"by-dev\n  config:\n    path: {etcd}")
        config.resolve()

    def __enter__(self) -> MilvusProcess:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()


def _free_ports(n: int) -> list[int]:
    """Return ports that nobody listens on.

    They are below the ephemeral ports, so that no connection can take the port of a killed server
    before it is started again.
    """
    ports: list[int] = []
    while len(ports) < n:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            ports += [port] * (port not in ports)
    return ports


def _unpack(shared: Path) -> None:
    """Unpack the program unless it is there; other processes wait meanwhile."""
    server: Any = importlib.import_module("milvus")
    shared.mkdir(parents=True, exist_ok=True)
    with open(shared / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server._initialize_data_files(str(shared))
