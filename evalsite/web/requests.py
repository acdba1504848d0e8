"""One request: its body is counted as it comes, and whoever sends a large one is asked for first.

Twisted reads a whole body, and parses a form in memory, before anybody is asked whether they may
send it. Here a body stops at what a visitor may send until it is known who sends it and where to.
"""

from __future__ import annotations

import asyncio
import logging
from io import BytesIO
from typing import Any

from channels.db import database_sync_to_async
from daphne.http_protocol import WebRequest
from django.db import DatabaseError

from runs.body_limits import UPLOAD, VISITOR, BodyLimit, RefusedBody, Sender, limit_for

logger = logging.getLogger(__name__)

# Within which a body has to arrive; a byte a second would hold its file for hours.
BODY_SECONDS, UPLOAD_SECONDS = 60, 300
# What somebody who is signed in may still send after a refusal: a browser that is cut off while it
# writes may never show the answer.
LINGER_BYTES = 32 * 1024 * 1024
LINGER_SECONDS = 3


class LimitedRequest(WebRequest):  # type: ignore[misc]  # daphne has no types
    def __init__(self, *args: Any, **options: Any) -> None:
        self.body: Any = BytesIO()
        self.content: Any = None
        self.limit, self.received = VISITOR, 0
        self.announced: int | None = None
        self.refused: RefusedBody | None = None
        self.is_held = False  # until it is known how much this sender may send
        self.waiting: tuple[bytes, bytes, bytes] | None = None  # complete, but held
        self.expects_continue = False
        self.deadline: asyncio.TimerHandle | None = None
        # Django reads forms. Twisted's reading takes ten times their size, on the event loop.
        super().__init__(*args, parsePOSTFormSubmission=False, **options)

    # --- Called by the channel, in this order

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's name
        super().gotLength(length)
        self.announced = length
        if length == 0:
            return
        self._start_clock(BODY_SECONDS)
        if length is not None and length > self.limit.bytes:
            self._hold_continue()
            self._ask()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        if self.refused:
            return
        self.received += len(data)
        super().handleContentChunk(data)
        if self.received > self.limit.bytes and not self.is_held:
            self._ask()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802
        if self.is_held:
            self.waiting = (command, path, version)
            return
        self._stop_clock()
        super().requestReceived(command, path, version)

    def process(self) -> Any:
        self.body, self.content = self.content, BytesIO()
        self.body.seek(0)
        return super().process()

    def finish(self) -> None:
        super().finish()
        self.body.close()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        self._stop_clock()
        super().connectionLost(reason)
        self.body.close()

    # --- Who sends it

    def _ask(self) -> None:
        """Nothing more is read until the answer is there."""
        self.is_held = True
        self.channel._networkProducer.pauseProducing()
        if self.limit is not VISITOR:  # asked before: a body without a length went on growing
            asyncio.get_event_loop().call_soon(self._decide, self.limit)
            return
        self.asking = asyncio.ensure_future(self._find_limit(self._sender()))

    async def _find_limit(self, sender: Sender) -> None:
        try:
            limit = await database_sync_to_async(limit_for)(sender)
        except DatabaseError as error:
            logger.warning("Nobody knows who sends a large body: %s", type(error).__name__)
            limit = VISITOR
        self._decide(limit)

    def _sender(self) -> Sender:
        def header(name: bytes) -> str:
            found = self.requestHeaders.getRawHeaders(name) or [b""]
            return str(found[0].decode("latin-1"))

        path = self.channel._path.partition(b"?")[0].decode("latin-1")
        method = self.channel._command.decode("latin-1")
        return Sender(
            method, path, header(b"Content-Type"), header(b"Cookie"), header(b"Authorization")
        )

    def _decide(self, limit: BodyLimit) -> None:
        if self.channel is None:
            return  # gone meanwhile
        self.limit, self.is_held = limit, False
        if max(self.announced or 0, self.received) > limit.bytes:
            self._refuse()
        else:
            self._go_on()
        if self.channel is not None:
            self.channel._networkProducer.resumeProducing()

    def _go_on(self) -> None:
        if self.expects_continue:
            self.channel._send100Continue()
        if self.limit is UPLOAD:
            self._start_clock(UPLOAD_SECONDS)
        if self.waiting:
            self.requestReceived(*self.waiting)

    # --- Refusals

    def _refuse(self) -> None:
        """The site answers, without the body; what still comes of it is thrown away."""
        self.refused = RefusedBody(self.limit, self.announced)
        self.content.close()
        self.content = BytesIO()
        self.responseHeaders.setRawHeaders(b"Connection", [b"close"])
        Lingering(self.channel, VISITOR.bytes if self.limit is VISITOR else LINGER_BYTES)
        if self.waiting:
            self.requestReceived(*self.waiting)
        else:
            self.channel.allContentReceived()

    def _hold_continue(self) -> None:
        """A client that asks first is told to go on when it may."""
        expected = self.requestHeaders.getRawHeaders(b"Expect") or [b""]
        self.expects_continue = expected[0].lower() == b"100-continue"
        self.requestHeaders.removeHeader(b"Expect")

    def _give_up(self) -> None:
        self.deadline = None
        self.channel.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
        self.channel.loseConnection()

    def _start_clock(self, seconds: float) -> None:
        self._stop_clock()
        self.deadline = asyncio.get_event_loop().call_later(seconds, self._give_up)

    def _stop_clock(self) -> None:
        if self.deadline:
            self.deadline.cancel()
            self.deadline = None


class Lingering:
    """Lets a client finish some of what it sends, so that it comes to read the answer."""

    def __init__(self, channel: Any, most: int) -> None:
        self.channel, self.most, self.received = channel, most, 0
        channel.persistent = False
        channel.dataReceived = self.discard
        channel.loseConnection = self.half_close

    def discard(self, data: bytes) -> None:
        self.received += len(data)
        if self.received > self.most:
            self.channel.transport.pauseProducing()

    def half_close(self) -> None:
        transport = self.channel.transport
        self.channel._networkProducer.unregisterProducer()
        transport.loseWriteConnection()
        asyncio.get_event_loop().call_later(LINGER_SECONDS, transport.abortConnection)
