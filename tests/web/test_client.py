"""The client for programs: it sends again what got no answer, and says what went wrong."""

from __future__ import annotations

import http.client
import json
import socket
import threading

import pytest

from sightline.errors import UsageError
from sightline.web.client import Client, ServiceError
from tests.factories.servers import Served


@pytest.mark.parametrize("url", ["", "127.0.0.1:80", "https://127.0.0.1", "ftp://x", "http://"])
def test_urls_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="begins with http"):
        Client(url, "t")


class Breaking(Client):
    """Loses the first answer to each thing that is sent, after the server has given it."""

    lost = 0

    def ask(self, *args: object, **more: object) -> tuple[http.client.HTTPMessage, bytes]:
        found = super().ask(*args, **more)  # type: ignore[arg-type]
        if args[0] == "POST" and self.lost == 0:
            self.lost += 1
            raise ConnectionResetError
        return found


def test_a_judgement_without_an_answer_is_sent_again_and_counts_once(own: Served) -> None:
    session = own.client.begin("red").session
    client = Breaking(own.address.url, own.service.token)
    assert client.judge(session, [1], [2]).judged == 2 and client.lost == 1
    state = own.client.get(f"/v1/sessions/{session}")
    assert (state["relevant"], state["other"], state["rounds"]) == (1, 1, 1)
    own.client.judge(session, [3])
    again = Breaking(own.address.url, own.service.token)
    assert again.undo(session)["relevant"] == [3]
    assert own.client.get(f"/v1/sessions/{session}")["relevant"] == 1


def test_problems_are_told_as_the_server_tells_them(served: Served) -> None:
    with pytest.raises(ServiceError) as e:
        Client(served.address.url, "wrong").search("red")
    assert (e.value.status, e.value.code, e.value.retry) == (401, "token", None)
    with pytest.raises(ServiceError, match="no word to look for"):
        served.client.search("")
    with pytest.raises(ServiceError) as e:
        list(served.client.follow("0123456789"))
    assert e.value.code == "no-job"


def test_an_answer_of_something_else_is_no_problem_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 502 Bad\r\nContent-Length: 2\r\n\r\nno")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ServiceError) as e:
            Client(f"http://127.0.0.1:{listening.getsockname()[1]}", "t").get("/")
        thread.join()
    assert (e.value.status, e.value.code) == (502, "unknown")


def test_uploads_that_are_broken_off_leave_nothing(
    served: Served, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    token = served.service.token
    head = (
        f"POST /v1/search/picture HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: image/png\r\nContent-Length: 9999\r\n\r\n"
    )
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", served.port)) as s:
            s.sendall(head.encode() + b"\x89PNG")
    assert served.client.search("red").hits and list(place.iterdir()) == []


def test_a_listener_that_goes_away_is_forgotten(own: Served) -> None:
    job = own.client.start("evaluate")
    own.client.finish(job.id)
    events = own.client.follow(job.id)
    assert next(events)[0] == "queued"
    events.close()  # type: ignore[attr-defined]
    kinds = [json.loads(json.dumps(k)) for k, _ in own.client.follow(job.id)]
    assert kinds[-1] == "end" and own.service.streams <= 1
