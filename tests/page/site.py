"""A web site of somebody else, on another port of this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sightline.web.answers import POLICY
from tests.waiting import LIMIT


class Site:
    """A site whose pages are given as text; what it was asked for is kept."""

    def __init__(self, pages: Mapping[str, str], policy: bool = False) -> None:
        self.pages = {path: text.encode() for path, text in pages.items()}
        self.headers = {"Content-Security-Policy": POLICY} if policy else {}
        self.asked: list[str] = []
        self.port = 0

    @property
    def host(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self.port}"


@contextlib.contextmanager
def hosting(pages: Mapping[str, str], policy: bool = False) -> Iterator[Site]:
    """Serve pages while a test runs, under the policy of ours if wanted."""
    site = Site(pages, policy)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            body = site.pages.get(self.path)
            self.send_response(404 if body is None else 200)
            for name, value in site.headers.items():
                self.send_header(name, value)
            kind = "text/javascript" if self.path.endswith(".js") else "text/html"
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join(LIMIT)
        server.server_close()
