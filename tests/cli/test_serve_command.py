"""`sightline serve`: one request without a server, where it listens, and what it tells whom."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sightline.cli import sightline
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from sightline.web.client import Client
from tests.cli.test_start_up import modules_after
from tests.factories.photos import make_photos
from tests.waiting import LIMIT


@pytest.fixture
def where(tmp_path: Path) -> Iterator[list[str]]:
    photos, store = make_photos(tmp_path / "photos"), tmp_path / "store"
    Collection.open(photos, store=store).index(compute=InlineCompute())
    yield ["-C", str(photos), "--store", str(store)]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(sightline, ["serve", *arguments], standalone_mode=False)


def test_one_request_without_a_server(where: list[str]) -> None:
    done = run(*where, "--get", "/v1/health")
    assert done.exit_code == 0 and json.loads(done.stdout)["version"] > 0
    assert run(*where, "--get", "/v1/pictures/1/thumbnail").stdout_bytes[:4] == b"RIFF"
    assert json.loads(run(*where, "--get", "/v1/sessions?limit=3").stdout)["sessions"] == []
    lost = run(*where, "--get", "/v1/pictures/99")
    assert lost.return_value == 1 and json.loads(lost.stdout)["code"] == "no-picture"


@pytest.mark.parametrize(
    "target",
    ["", "v1/health", "//[x", "//evil/v1/health", "/\udcff", "/caf\u00e9", "/v1/health#x", "/ x",
     "http://127.0.0.1/v1/health", "/v1/health\n", "?x", "/\t", "/\x7f", "/[\\", "\\\\evil\\x"],
)  # fmt: skip
def test_what_is_no_path_is_said_in_a_line(where: list[str], target: str) -> None:
    done = run(*where, "--get", target)
    assert isinstance(done.exception, UsageError)
    said = str(done.exception)
    assert "is no path of a URL" in said and ascii(target)[:20] in said and said.isascii()
    assert "\n" not in said and done.stdout == ""


def test_odd_arguments_end_in_a_line_and_no_traceback(where: list[str], tmp_path: Path) -> None:
    for odd in (["--get", b"/\xff"], ["--get", "//[x"], ["--token-file", str(tmp_path)]):
        done = subprocess.run(
            [sys.executable, "-m", "sightline", "serve", *where, *odd],
            capture_output=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1, done.stderr
        assert b"Traceback" not in done.stderr and done.stdout == b""


def test_help_and_search_do_not_import_the_framework(where: list[str]) -> None:
    framework = {"fastapi", "starlette", "uvicorn", "pydantic"}
    assert not modules_after("--help") & framework
    assert not modules_after("search", "tree", *where) & framework


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org"])
def test_other_machines_are_kept_out_unless_that_is_said(
    where: list[str], host: str, tmp_path: Path
) -> None:
    token = str(tmp_path / "token")
    for flags in ([], ["--allow-remote"], ["--token-file", token]):
        done = run(*where, "--host", host, "--port", "0", *flags)
        assert done.exit_code == 1 and "--allow-remote" in str(done.exception)
    assert not Path(token).exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "0", ""])
def test_an_address_that_stands_for_all_wants_a_name(
    where: list[str], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.web.server.serve", lambda *a: None)
    token = tmp_path / "token"
    flags = ["--allow-remote", "--token-file", str(token)]
    done = run(*where, "--host", host, "--port", "0", *flags)
    assert done.exit_code == 1
    for said in (repr(host), "--allow-host", "--allow-origin"):
        assert said in str(done.exception)
    assert not token.exists()


def test_wrong_names_ports_and_places_are_refused(where: list[str], tmp_path: Path) -> None:
    assert "is not a host name" in str(run(*where, "--allow-host", "a b").exception)
    assert "no origin" in str(run(*where, "--allow-origin", "photos.example").exception)
    assert "70000" in str(run(*where, "--port", "70000").exception)
    inside = Path(where[1], "token")
    assert "ever written" in str(run(*where, "--token-file", str(inside)).exception)
    weak = tmp_path / "weak"
    for text, mode in (("short", 0o600), ("x" * 40, 0o644), ("x " * 20, 0o600)):
        weak.write_text(text)
        weak.chmod(mode)
        assert run(*where, "--token-file", str(weak)).exit_code == 1


class Serving:
    """The real command in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sightline", "serve", *arguments, "--port", "0", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.at = json.loads(self.process.stdout.readline())

    def stop(self) -> tuple[str, int]:
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=LIMIT)
        return out + err, self.process.returncode


def test_it_serves_until_interrupted_and_logs_nothing_that_was_asked(where: list[str]) -> None:
    serving = Serving(*where)
    assert serving.at["url"].startswith("http://127.0.0.1:")
    client = Client(serving.at["url"], serving.at["token"], LIMIT)
    assert client.search("tree").hits
    session = client.begin("snow").session
    client.judge(session, [1])
    client.save_word(session, "whispered")
    client.ask("GET", "/v1/pictures/1/original")
    said, code = serving.stop()
    assert code == 0
    log = Path(where[3], "log", "sightline.log").read_text()
    assert "POST /v1/search 200" in log and "serve ends" in log
    for secret in ("tree", "snow", "whispered", serving.at["token"], "code=", session):
        assert secret not in log + said
    assert Collection.open(where[1], store=where[3]).store.verify().sealed


def test_the_token_can_be_kept_in_a_file(where: list[str], tmp_path: Path) -> None:
    file = tmp_path / "token"
    for _ in range(2):
        serving = Serving(*where, "--token-file", str(file))
        token = file.read_text().strip()
        assert serving.at["token"] is None and len(token) >= 43
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
        assert Client(serving.at["url"], token, LIMIT).get("/v1/health")["status"] == "ok"
        assert token not in serving.stop()[0]
    assert file.read_text().strip() == token


def test_other_machines_may_ask_where_that_is_said(where: list[str], tmp_path: Path) -> None:
    file = tmp_path / "token"
    flags = ["--allow-remote", "--token-file", str(file), "--allow-host", "photos.lan"]
    serving = Serving(*where, "--host", "0.0.0.0", *flags)
    port = int(serving.at["url"].rpartition(":")[2])
    token = {"Authorization": f"Bearer {file.read_text().strip()}"}
    for host, status in (
        ("127.0.0.1", 200), ("photos.lan", 200), ("0.0.0.0", 403), ("other.lan", 403),
    ):  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        connection.request("GET", "/v1/health", headers={**token, "Host": f"{host}:{port}"})
        assert connection.getresponse().status == status, host
        connection.close()
    assert serving.stop()[1] == 0


def test_a_proxy_may_be_named_where_other_machines_come_in(
    where: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    flags = ["--allow-remote", "--token-file", str(file)]
    serving = Serving(*where, "--host", "0.0.0.0", *flags, "--allow-origin", "https://a.example")
    assert serving.at["login"].startswith("https://a.example/login?code=")
    port = int(serving.at["url"].rpartition(":")[2])
    token = {"Authorization": f"Bearer {file.read_text().strip()}", "Host": "a.example"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    connection.request("GET", "/v1/health", headers=token)
    assert connection.getresponse().status == 200
    connection.close()
    assert serving.stop()[1] == 0


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_it_listens_on_the_other_loopback_too(where: list[str]) -> None:
    serving = Serving(*where, "--host", "::1")
    assert serving.at["url"].startswith("http://[::1]:")
    assert Client(serving.at["url"], serving.at["token"], LIMIT).search("tree").hits
    serving.stop()
