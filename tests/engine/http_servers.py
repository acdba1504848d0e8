"""Servers that send whatever a test wants, byte by byte, and note what they were sent."""

import asyncio
from contextlib import asynccontextmanager, suppress

from tests.harness.patience import PATIENCE_SECONDS

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HANG_UP = object()
Step = bytes | object


class Server:
    """Plays the next script for every request; notes requests and connections."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.requests: list[bytes] = []
        self.connections = 0
        self.played, self.hung_up = asyncio.Event(), asyncio.Event()
        self.talks: set[asyncio.Task[None]] = set()

    async def talk(self, reader, writer):
        self.connections += 1
        if task := asyncio.current_task():
            self.talks.add(task)
        try:
            while head := await read_head(reader):
                self.requests.append(head)
                for step in self.scripts.pop(0) if self.scripts else [OK]:
                    if not isinstance(step, bytes):
                        return
                    writer.write(step)
                    await writer.drain()
                    await asyncio.sleep(0)
                self.played.set()
        except ConnectionError:
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):  # the client may have been first
                await writer.wait_closed()
            self.hung_up.set()


async def read_head(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or 0))


@asynccontextmanager
async def served(server, security=None):
    listener = await asyncio.start_server(server.talk, "127.0.0.1", 0, ssl=security)
    port = listener.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if security else 'http'}://127.0.0.1:{port}/v1/things?x=1"
    finally:
        listener.close()
        async with asyncio.timeout(PATIENCE_SECONDS):  # the client has hung up by now
            await asyncio.gather(*server.talks)
