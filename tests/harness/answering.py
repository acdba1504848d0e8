"""An HTTP server of a test's own, which answers as a function says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    path: str
    headers: Message[str, str]
    body: bytes


class Told(NamedTuple):
    status: int
    body: str = ""
    headers: Mapping[str, str] = {}
    reason: str | None = None


def told_json(content: Any, status: int = 200) -> Told:
    return Told(status, json.dumps(content), {"Content-Type": "application/json"})


@contextmanager
def answering(answer: Callable[[Asked], Told]) -> Iterator[str]:
    """Its host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            told = answer(Asked(self.path, self.headers, body))
            content = told.body.encode()
            self.send_response(told.status, told.reason)
            for name, value in {**told.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
