"""Sees everything a page does that a person would not: errors, requests, frames, dialogs."""

from __future__ import annotations

import json
from collections import Counter

from playwright.sync_api import ConsoleMessage, Dialog, Frame, Page, Request, Response, WebSocket

GIVEN_UP = "WebSocket is closed before the connection is established."


class Witness:
    """Of one page, from its first request on."""

    def __init__(self, page: Page, site_url: str) -> None:
        self.complaints: list[str] = []  # nothing may ever be in here
        self.dialogs: list[str] = []
        self.frames: Counter[str] = Counter()  # of websockets, by type
        self.sent: Counter[str] = Counter()  # by the page, likewise
        self.navigations: list[str] = []
        self._page = page
        self._site_url = site_url
        self._expected: set[tuple[int, str]] = set()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)
        page.on("requestfailed", self._on_request_failed)
        page.on("response", self._on_response)
        page.on("websocket", self._on_websocket)
        page.on("framenavigated", self._on_navigated)

    def expect_status(self, status: int, path: str) -> None:
        """An answer that is meant, as the 404 of a page that does not exist."""
        self._expected.add((status, f"{self._site_url}{path}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        is_status = message.text.startswith("Failed to load resource: the server responded")
        if is_status and message.location["url"] in {url for _, url in self._expected}:
            return  # counted by its status
        if message.text.endswith(GIVEN_UP):
            return  # a page waits so long for a socket, and then tries anew; that is no failure
        self.complaints.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(f"{dialog.type}: {dialog.message}")
        dialog.accept()

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self._site_url, "data:", "blob:")):
            self.complaints.append(f"request to another site: {request.url}")

    def _on_request_failed(self, request: Request) -> None:
        # A page that is left takes back what it asked for; that is no failure.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and (response.status, response.url) not in self._expected:
            self.complaints.append(f"{response.status} for {response.url}")

    def _on_websocket(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda payload: count(self.frames, payload))
        socket.on("framesent", lambda payload: count(self.sent, payload))

    def _on_navigated(self, frame: Frame) -> None:
        if frame is self._page.main_frame:
            self.navigations.append(frame.url)


def count(frames: Counter[str], payload: str | bytes) -> None:
    frames[json.loads(payload)["type"]] += 1
