"""Listens for clients of the simulated provider, and stops at once when told to."""

import asyncio
import contextlib
import errno
import gc
import resource
import signal
import socket
import time
from collections.abc import Callable

import uvloop

from workers.simulator.protocols.http_server import Connection
from workers.simulator.provider import SimulatedProvider
from workers.simulator.settings import Settings

BACKLOG = 4096  # a thousand clients may connect in the same instant
WANTED_OPEN_FILES = 65_536
GARBAGE_THRESHOLD = 100_000  # allocations between two searches for unreachable cycles


class ListenError(Exception):
    """The address cannot be listened on; the message says why and what to do."""


class SimulatorServer:
    """A listening simulated provider on the running event loop."""

    def __init__(self, settings: Settings, host: str, port: int, secret: str) -> None:
        """`secret` is what the control API asks for."""
        self._settings = settings
        self._secret = secret
        self._host = host
        self._port = port
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        # Not the loop's clock: that one stands still while the loop works through a burst.
        provider = SimulatedProvider(self._settings, time.monotonic)
        listener = _listen(self._host, self._port)
        self._port = listener.getsockname()[1]  # port 0 asks for any free one
        self._server = await loop.create_server(
            lambda: Connection(provider, loop, self._connections, self._secret),
            sock=listener,
            backlog=BACKLOG,
        )

    def stop(self) -> None:
        """Closes everything now; requests in flight get no answer."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()


def run_until_signal(
    settings: Settings, host: str, port: int, secret: str, announce: Callable[[str], None]
) -> None:
    """Serves until SIGTERM or SIGINT; calls `announce` with the URL once it listens."""
    allow_many_connections()
    # Requests leave no cycles behind: looking for some every few requests only costs time.
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    uvloop.run(_serve_until_signal(SimulatorServer(settings, host, port, secret), announce))


async def _serve_until_signal(server: SimulatorServer, announce: Callable[[str], None]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await server.start()
    announce(server.url)
    await stopping.wait()
    server.stop()


def allow_many_connections() -> None:
    """Raises this process's limit of open files, which is 1024 on many machines."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_OPEN_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with contextlib.suppress(ValueError, OSError):  # the usual limit is enough for a small load
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Binding alone does not fail beside another listener everywhere; listening does.
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as problem:
        listener.close()
        raise ListenError(_explain(problem, host, port)) from None
    listener.setblocking(False)
    return listener


def _explain(problem: OSError | OverflowError, host: str, port: int) -> str:
    number = problem.errno if isinstance(problem, OSError) else None
    if number == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken by another program. "
            f"Stop that program, or choose another port with --port."
        )
    if number in (errno.EACCES, errno.EPERM):
        return f"Port {port} may not be used by this user. Choose one above 1023 with --port."
    return f"Cannot listen on {host}, port {port}: {problem}. Choose others with --host and --port."
