"""Daphne with our own requests and sockets, and bodies that are read from disk piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import daphne.server
from daphne import http_protocol
from daphne.cli import CommandLineInterface
from daphne.server import reactor
from django.conf import settings

from evalsite.watchdog import beat
from evalsite.web.requests import LimitedRequest
from evalsite.web.sockets import LimitedSocket

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]

PIECE_BYTES = 64 * 1024
REFUSALS_AT_ONCE = 2  # a flood of them must not keep everybody else waiting


class Server(daphne.server.Server):  # type: ignore[misc]  # daphne has no types
    def __init__(self, application: Any, **options: Any) -> None:
        super().__init__(application=from_disk(application), **options)
        # Daphne names its classes inside its own functions and offers no other place for ours.
        http_protocol.WebRequest = LimitedRequest
        daphne.server.WebSocketFactory.protocol = LimitedSocket

    def run(self) -> None:
        reactor.callWhenRunning(self._watch)
        super().run()

    def _watch(self) -> None:
        """What never gives the interpreter back would end all pages and sockets for good."""
        self._beating = asyncio.ensure_future(beat(settings.HANG_SECONDS))

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if isinstance(protocol, LimitedRequest):
            scope["body_file"] = protocol.body
            scope["refused_body"] = protocol.refused
        return super().create_application(protocol, scope)


class CommandLine(CommandLineInterface):  # type: ignore[misc]  # daphne has no types
    server_class = Server


def from_disk(application: Any) -> Any:
    """An application that receives a request's body from its file, one piece at a time."""

    few = asyncio.Semaphore(REFUSALS_AT_ONCE)

    async def answer(scope: dict[str, Any], receive: Receive, send: Any) -> None:
        file = scope.pop("body_file", None)
        if file is None:
            await application(scope, receive, send)
            return
        async with few if scope["refused_body"] else nullcontext():
            await application(scope, pieces(file, receive), send)

    return answer


def pieces(file: Any, receive: Receive) -> Receive:
    """Instead of Daphne's one message, which is empty; what comes after it is left as it is."""
    is_first, is_more = True, True

    async def next_message() -> Message:
        nonlocal is_first, is_more
        if not is_more:
            return await receive()
        if is_first:
            is_first = False
            message = await receive()
            if message["type"] != "http.request":
                return message
        if file.closed:
            return {"type": "http.disconnect"}
        piece = file.read(PIECE_BYTES)
        is_more = len(piece) == PIECE_BYTES
        return {"type": "http.request", "body": piece, "more_body": is_more}

    return next_message
