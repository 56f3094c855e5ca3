"""A real Milvus server as a process on this machine, for tests and measurements.

It is spoken to by 127.0.0.1; but the program has no setting that keeps its ports to that address,
so while it runs whoever reaches this machine reaches them too.

The package `milvus` carries the server; it is unpacked once into a folder that any number of
servers share. Every server has free ports and a data folder of its own, which outlives a kill, so
that one can be ended without warning and started again on what it left. A server ends with the
process that started it, however that ends.
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

_PATIENCE = 600.0
_TRIES = 3
# One thread of the server's own for each library: it shares the machine with what it is tried by.
_QUIET = {"DEPLOY_MODE": "STANDALONE", "OMP_NUM_THREADS": "2"}
_ETCD = """name: default
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""
# A server that was killed is believed alive for `ttl` seconds, by itself too when it is started
# again: tables are loaded anew only after that. The rest has it look more often than it would.
_SETTINGS = {
    "common.session.ttl": 5,
    "proxy.timeTickInterval": 50,
    "queryCoord.checkInterval": 200,
    "queryCoord.distPullInterval": 100,
    # Loading a table that went wrong is begun anew after that, and not after one or two minutes.
    "queryCoord.channelTaskTimeout": 5_000,
    "queryCoord.segmentTaskTimeout": 10_000,
    # A value of several lines brings settings along that the server's own file does not name.
    "queryCoord.checkHandoffInterval": "500\n  checkSegmentInterval: 100\n"
    "  checkChannelInterval: 100\n  checkIndexInterval: 500",
}


def is_installed() -> bool:
    """Return whether the package with the server is there."""
    return importlib.util.find_spec("milvus") is not None


class MilvusProcess:
    """One server: `start`, `kill`, `pause`, `resume`; a `with` block ends it for good.

    Parameters
    ----------
    folder : Path
        Where its data lies; made if it is not there.
    shared : Path
        Where the program is unpacked to, for all servers.
    password : bool, default=False
        Have it let nobody in but root with its password, which is Milvus.
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
        """What the setting `engine` takes."""
        return f"milvus://127.0.0.1:{self.ports['proxy_port']}"

    def start(self) -> MilvusProcess:
        """Start it, on the ports it had before if it had any.

        Started on what a killed one left, it now and then ends by a fault of its own; as whoever
        looks after a server would, it is then started again.
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
        place = {
            "METRICS_PORT": str(self.health),
            "MILVUS_RUN_DIR": str(self.folder / "run"),
            "LD_LIBRARY_PATH": str(self.shared / "bin"),
        }
        with open(self.folder / "output.log", "ab") as out:
            self._process = subprocess.Popen(
                [str(self.shared / "bin" / "milvus"), "run", "standalone"],
                cwd=self.folder, env={**os.environ, **_QUIET, **place}, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        self.wait()
        return self

    def wait(self) -> float:
        """Wait until it says that it is well; return the seconds that took."""
        started = time.monotonic()
        while not self.is_well():
            if self._process is None or self._process.poll() is not None:
                raise ComputeError(f"Milvus ended while it started. See: {self.folder}/output.log")
            if time.monotonic() - started > _PATIENCE:
                self.kill()
                raise ComputeError(f"Milvus did not start in {_PATIENCE:.0f} s in {self.folder}.")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
        return time.monotonic() - started

    def is_well(self) -> bool:
        """Return whether the server answers that all its parts are there."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/healthz", timeout=2) as r:
                return b"OK" in r.read()
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """End it without warning, as a power cut would."""
        if self._process is not None:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it; started again, it has what it had."""
        self.kill()

    def pause(self) -> None:
        """Have it hang: connections stay, and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Have it go on after `pause`."""
        self._signal(signal.SIGCONT)

    def memory(self) -> int:
        """Return the bytes of memory it holds."""
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
        """Write its settings, with free ports."""
        server: Any = importlib.import_module("milvus")
        config = server.MilvusServerConfig(data_dir=str(self.folder))
        keys = [k for k in config.configurable_items if k.endswith("_port")]
        *found, self.health, peer = _free_ports(len(keys) + 2)
        self.ports = dict(zip(keys, found, strict=True))
        config.update(**self.ports)
        for name, value in _SETTINGS.items():
            config.set(name, value)
        config.set("common.security.authorizationEnabled", str(self.password).lower())
        # Its database listens on two ports of its own choice, unless it is told in a file.
        told = self.folder / "etcd.yaml"
        told.write_text(_ETCD.format(client=self.ports["etcd_port"], peer=peer), "ascii")
        config.set("etcd.rootPath", f"by-dev\n  config:\n    path: {told}")
        config.resolve()

    def __enter__(self) -> MilvusProcess:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()


def _free_ports(n: int) -> list[int]:
    """Return ports that nobody listens on.

    Below those that the system lends to connections, or one of these could take a port while a
    server that was killed is down.
    """
    ports: list[int] = []
    while len(ports) < n:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            ports += [port] * (port not in ports)
    return ports


def _unpack(shared: Path) -> None:
    """Unpack the program, unless somebody did; those who come meanwhile wait."""
    server: Any = importlib.import_module("milvus")
    shared.mkdir(parents=True, exist_ok=True)
    with open(shared / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server._initialize_data_files(str(shared))
