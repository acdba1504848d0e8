"""One connection to a server, for one exchange at a time."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, cast

import httptools

from workers.engine.errors import AnswerTooLarge, CallError
from workers.engine.http.errors import BrokenOff, ClosedWithoutAnswer, NotHttp

MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_HEAD_BYTES = 64 * 1024
MOST_BYTES_PER_BYTE = 8  # of a body: one that comes in chunks of a single byte takes six


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.is_reusable = False  # after a whole answer, as long as the server keeps it open
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None

    async def exchange(self, message: bytes) -> Answer:
        """Send a whole request and read the whole answer. Whoever is cancelled hangs up."""
        self.is_reusable = False
        if self._transport is None or self._transport.is_closing():
            raise ClosedWithoutAnswer
        self._begin()
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._transport.write(message)
        try:
            return await answer
        finally:
            self._answer = None
            if not self.is_reusable:
                self.close()
                del self._parser  # it holds us: nothing of this may wait for the collector

    def close(self) -> None:
        """At once: nobody reads what may still come, and who waits for it is told."""
        self.is_reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ClosedWithoutAnswer())
        if self._transport is not None:
            self._transport.abort()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._blocks: list[bytes] = []
        self._received = self._size = 0
        self._has_head = self._is_whole = False

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.close()  # nobody asked: it must not be taken for the next answer
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # Out of memory while its parts are joined: no fault of the answer, nor for a retry.
            is_starved = isinstance(error.__context__, MemoryError)
            self._fail(MemoryError() if is_starved else NotHttp())
        self._received += len(data)
        if self._received > MAX_HEAD_BYTES + MOST_BYTES_PER_BYTE * self._size:
            # Of a head, of interim answers, of what may come with and after chunks.
            self._fail(AnswerTooLarge(f"Its headers exceed {MAX_HEAD_BYTES:,} bytes."))

    def eof_received(self) -> None:
        """Its last word. The transport would first send the rest of the request, to nobody."""
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_reusable = False
        if self._answer is None or self._answer.done():
            return
        if self._has_head and exc is None and not self._is_length_told():
            self._finish()  # its end is the end of the connection
        else:
            self._fail(BrokenOff() if self._has_head else ClosedWithoutAnswer())

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise NotHttp  # a second answer to one request: no more of it is read

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        if self._is_interim():
            self._headers.clear()
            return
        self._has_head = True
        announced = self._headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > MAX_ANSWER_BYTES:
            self._fail(AnswerTooLarge(f"The answer announced {int(announced[:20]):,} bytes."))

    def on_body(self, block: bytes) -> None:
        self._size += len(block)
        if self._size > MAX_ANSWER_BYTES:
            self._fail(AnswerTooLarge(f"The answer was longer than {MAX_ANSWER_BYTES:,} bytes."))
        else:
            self._blocks.append(block)

    def on_message_complete(self) -> None:
        if not self._is_interim():
            self._is_whole = True
            self.is_reusable = self._parser.should_keep_alive() and self._is_all_sent()
            self._finish()
        else:
            self._blocks.clear()  # it should have no body, and none of it belongs to the answer

    def _is_interim(self) -> bool:
        """As 100 Continue: the answer is still to come."""
        return 100 <= self._parser.get_status_code() < 200

    def _is_all_sent(self) -> bool:
        """A refusal may come before the request has left."""
        return self._transport is not None and not self._transport.get_write_buffer_size()

    def _is_length_told(self) -> bool:
        return "content-length" in self._headers or "transfer-encoding" in self._headers

    def _finish(self) -> None:
        if self._answer is not None and not self._answer.done():
            status, body = self._parser.get_status_code(), b"".join(self._blocks)
            self._blocks.clear()  # the connection may be kept for long
            self._answer.set_result(Answer(status, self._headers, body))

    def _fail(self, error: CallError | MemoryError) -> None:
        self.is_reusable = False
        self._blocks.clear()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.close()
