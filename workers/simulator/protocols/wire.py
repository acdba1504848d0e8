"""Writes HTTP responses to one client's connection, the way they should be or worse."""

import asyncio
import socket
import struct
from http import HTTPStatus

from workers.simulator.records import Headers, Reply

_phrases = {status.value: status.phrase for status in HTTPStatus}
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # linger for no time: close sends a reset


def encode_head(
    status: int, content_type: str, headers: Headers, length: int | None, keep_alive: bool
) -> bytes:
    """The status line and headers; without a length the body comes in chunks."""
    framing = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers)
    closing = "" if keep_alive else "connection: close\r\n"
    return (
        f"HTTP/1.1 {status} {_phrases.get(status, 'Unknown')}\r\n"
        f"content-type: {content_type}\r\n{framing}\r\n{extra}{closing}\r\n"
    ).encode("latin-1")


def encode_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def encode_reply(reply: Reply, keep_alive: bool) -> bytes:
    if not reply.pieces:
        length = len(reply.body)
        head = encode_head(reply.status, reply.content_type, reply.headers, length, keep_alive)
        return head + reply.body
    head = encode_head(reply.status, reply.content_type, reply.headers, None, keep_alive)
    return head + b"".join(map(encode_chunk, reply.pieces)) + LAST_CHUNK


class Wire:
    """The connection as a fault sees it: bytes out, with waiting for slow readers, and cuts."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable = asyncio.Event()
        self._writable.set()
        self.keep_alive = True
        self.sent_status = 0

    def pause(self) -> None:
        self._writable.clear()

    def resume(self) -> None:
        self._writable.set()

    def write(self, reply: Reply) -> None:
        """Hands a whole reply to the transport."""
        self.sent_status = reply.status
        self._transport.write(encode_reply(reply, self.keep_alive))

    async def send_head(
        self, status: int, content_type: str, headers: Headers = (), length: int | None = None
    ) -> None:
        self.sent_status = status
        await self.send(encode_head(status, content_type, headers, length, self.keep_alive))

    async def send(self, data: bytes) -> None:
        """Returns when the client has taken in enough for more to be sent."""
        self._transport.write(data)
        await self._writable.wait()

    async def wait_until_client_leaves(self) -> None:
        # The connection cancels the waiting task when it is lost.
        await asyncio.get_running_loop().create_future()

    def close(self) -> None:
        self.keep_alive = False
        self._transport.close()

    def reset(self) -> None:
        """Cuts the connection so that the client sees a reset, not an orderly end."""
        self.keep_alive = False
        connection: socket.socket = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._transport.abort()
