"""A provider that tells everybody the key it was sent: in bodies, headers and broken answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# By the name of the model: status, type of the body, body with the key in place of KEY.
JSON, HTML = "application/json", "text/html"
ANSWERS: dict[str, tuple[int, str, str]] = {
    "unauthorized": (401, JSON, '{"error": {"message": "Wrong key KEY.", "code": "KEY"}}'),
    "forbidden": (403, JSON, '{"error": "KEY may not do this"}'),
    "bad-request": (400, JSON, '{"error": {"message": "KEY", "type": "KEY"}}'),
    "not-found": (404, HTML, "<h1>No model for KEY</h1>"),
    "too-many": (429, JSON, '{"error": {"message": "Rate limit of KEY reached"}}'),
    "broken": (500, HTML, "<pre>Traceback: headers = {'Authorization': 'Bearer KEY'}</pre>"),
    "html": (200, HTML, "<p>Bearer KEY</p>"),
    "no-json": (200, JSON, '{"choices": [KEY'),
    "no-answer": (200, JSON, '{"KEY": "KEY"}'),
    "filtered": (200, JSON, '{"choices": [{"finish_reason": "content_filter", "message": {}}]}'),
    "redirect": (302, HTML, "KEY"),
}


class EchoingProvider:
    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self.heard: set[str] = set()  # models asked for with the key


@contextmanager
def echoing_provider(key: str) -> Iterator[EchoingProvider]:
    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.headers["Authorization"].removeprefix("Bearer ")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = body["model"]
            is_second = model == "too-many" and model in provider.heard  # 429: tried for long
            if sent == key:
                provider.heard.add(model)
            self._answer(*ANSWERS["bad-request" if is_second else model], sent)

        def do_GET(self) -> None:
            self._answer(401, JSON, '{"error": "KEY"}', self.headers["Authorization"])

        def _answer(self, status: int, kind: str, text: str, sent: str) -> None:
            content = text.replace("KEY", sent).encode()
            self.send_response(status, f"Bad {sent}")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Location", f"http://{provider.address}/{sent}")
            self.send_header("X-Request-Id", sent)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        provider = EchoingProvider(server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield provider
        server.shutdown()
