"""HTTP/1.1 on one connection: reads requests, keeps their order, and delivers their exchanges."""

import asyncio
import logging
from collections import deque
from typing import cast

import httptools

from workers.simulator.control import CONTROL_PREFIX, answer_control
from workers.simulator.faults import FAULTS
from workers.simulator.protocols.exchange import Exchange
from workers.simulator.protocols.wire import Wire
from workers.simulator.provider import SimulatedProvider
from workers.simulator.records import HttpRequest, Reply

logger = logging.getLogger(__name__)

MOST_BODY_BYTES = 64 * 1024 * 1024
MOST_WAITING = 64  # pipelined requests read ahead of the one being answered
FROM_A_PAGE = (b"origin", b"sec-fetch-site", b"sec-fetch-mode")  # headers that only browsers send
WAITING_PAUSE_SECONDS = 0.005  # between two looks whether enough requests have come
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client. Requests are taken in as they are read and answered in that order."""

    def __init__(
        self,
        provider: SimulatedProvider,
        loop: asyncio.AbstractEventLoop,
        connections: set["Connection"],
        secret: str,
    ) -> None:
        self._provider = provider
        self._loop = loop
        self._connections = connections
        self._secret = secret
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[Exchange, bool]] = deque()
        self._current: Exchange | None = None
        self._timer: asyncio.Handle | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_reading = True

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is no subclass
        self._wire = Wire(self._transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(501, "This server speaks HTTP/1.1 only.")
        except httptools.HttpParserError as problem:
            self._refuse(400, f"This is not HTTP/1.1: {problem}")

    def connection_lost(self, problem: Exception | None) -> None:
        self._connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._current is not None:
            self._current.close(self._wire.sent_status, is_aborted=True)
        for exchange, _ in self._waiting:
            exchange.close(0, is_aborted=True)
        self._waiting.clear()

    def pause_writing(self) -> None:
        self._wire.pause()

    def resume_writing(self) -> None:
        self._wire.resume()

    def abort(self) -> None:
        self._transport.abort()

    # What the parser calls

    def on_message_begin(self) -> None:
        self._url = b""
        self._authorization = self._api_key = ""
        self._is_from_a_page = False
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._expects_continue = False

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"authorization":
            self._authorization = value.decode("latin-1")
        elif lowered == b"api-key":
            self._api_key = value.decode("latin-1")
        elif lowered == b"expect":
            self._expects_continue = value.lower() == b"100-continue"
        elif lowered in FROM_A_PAGE:
            self._is_from_a_page = True

    def on_headers_complete(self) -> None:
        if self._expects_continue and self._current is None:
            self._transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes <= MOST_BODY_BYTES:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._transport.is_closing():
            return
        self._waiting.append((self._receive(), self._parser.should_keep_alive()))
        if self._current is None:
            self._serve_waiting()
        elif len(self._waiting) >= MOST_WAITING:
            self._is_reading = False
            self._transport.pause_reading()

    # From request to reply

    def _receive(self) -> Exchange:
        path, _, query = self._url.decode("latin-1").partition("?")
        method = self._parser.get_method().decode("latin-1")
        body = b"".join(self._body)
        told = (self._authorization, self._is_from_a_page, self._api_key)
        request = HttpRequest(method, path, query, body, *told)
        if self._body_bytes > MOST_BODY_BYTES:
            return self._plain(request, 413, f"A body may have {MOST_BODY_BYTES} bytes at most.")
        try:
            if path.startswith(CONTROL_PREFIX):
                reply = answer_control(self._provider, request, self._secret)
                return Exchange(request, reply, self._provider.settings)
            return self._provider.receive(request)
        except Exception:  # the edge of the process: one bad request must not end the others
            logger.exception("The simulated provider failed on %s %s", method, path)
            return self._plain(request, 500, "The simulated provider itself failed; see its log.")

    def _plain(self, request: HttpRequest, status: int, message: str) -> Exchange:
        reply = Reply(status, message.encode(), content_type="text/plain")
        return Exchange(request, reply, self._provider.settings)

    def _serve_waiting(self) -> None:
        """Answers what is due at once in a loop, so that a long pipeline needs no deep stack."""
        while self._waiting and self._current is None and not self._transport.is_closing():
            self._current, self._wire.keep_alive = self._waiting.popleft()
            self._wire.sent_status = 0
            if self._current.due:
                wait = max(0.0, self._current.due - self._provider.now())
                self._timer = self._loop.call_later(wait, self._deliver_when_due)
            else:
                self._deliver(self._current)
        if not self._is_reading and not self._waiting and not self._transport.is_closing():
            self._is_reading = True
            self._transport.resume_reading()

    def _deliver_when_due(self) -> None:
        self._timer = None
        if self._current is None:
            return
        if self._provider.holds_back(self._current):
            self._timer = self._loop.call_later(WAITING_PAUSE_SECONDS, self._deliver_when_due)
            return
        self._deliver(self._current)
        self._serve_waiting()

    def _deliver(self, exchange: Exchange) -> None:
        if exchange.order is not None:
            self._task = self._loop.create_task(self._misbehave(exchange))
            return
        is_head = exchange.request.method == "HEAD"  # its answer may not have a body
        self._wire.write(exchange.reply._replace(body=b"") if is_head else exchange.reply)
        self._finish(exchange)

    async def _misbehave(self, exchange: Exchange) -> None:
        assert exchange.order is not None
        await FAULTS[exchange.order.name](exchange, exchange.order, self._wire)
        self._task = None
        self._finish(exchange)
        self._serve_waiting()

    def _finish(self, exchange: Exchange) -> None:
        """The last byte is with the transport."""
        exchange.close(self._wire.sent_status)
        self._current = None
        if not self._wire.keep_alive:
            self._transport.close()

    def _refuse(self, status: int, message: str) -> None:
        if self._current is None and not self._transport.is_closing():
            self._wire.keep_alive = False
            self._wire.write(Reply(status, message.encode(), content_type="text/plain"))
        self._transport.close()
