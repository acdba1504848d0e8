"""One child of the process lane, as its parent sees it: a pipe for each direction, and its end."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from workers.engine.errors import ProcessDied, ResultTooLarge
from workers.engine.lanes import child_program
from workers.engine.lanes.child_program import LENGTH, in_frame, pack

START_SECONDS = 60.0  # for Python itself to start, on a machine that is very busy

# What Python and its libraries need. Keys and addresses of databases are left out, so that no
# function prints them by mistake. It is no sandbox: the child runs as the same user.
ENVIRONMENT = {
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONPYCACHEPREFIX",
    "PYTHONUTF8",
    "TMPDIR",
    "TZ",
    "USER",
}
# A child has one core's work, and each thread of these libraries would take of its memory. Whoever
# runs the worker may say otherwise.
ONE_THREAD = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class ChildProcess(asyncio.SubprocessProtocol):
    """Answers one question at a time. Whatever goes wrong kills it, with all that it started."""

    def __init__(self, most_bytes: int, most_memory: int) -> None:
        self._most_bytes = most_bytes
        self._most_memory = most_memory
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_usable = True
        self.loaded: frozenset[str] = frozenset()  # modules, of those that it was told to import

    async def start(self) -> None:
        """Wait until it is ready, so that no piece of work loses time by Python's own start."""
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *(sys.executable, "-P", "-u", child_program.__file__),
                stderr=None,  # ours
                env=plain_environment(os.environ),
                start_new_session=True,  # to be killed with all that the work starts
            )
            if not self.is_usable:  # it was killed before it was there
                self.kill()
            async with asyncio.timeout(START_SECONDS):
                await self.ask(pack((sys.path, self._most_memory)))
        except TimeoutError:
            raise ProcessDied(f"Its process did not start within {START_SECONDS:g} s.") from None
        except OSError as error:
            raise ProcessDied(f"Its process could not be started: {error}.") from None
        finally:
            if self._transport is None:
                self.ended.set_result(None)

    @property
    def pid(self) -> int | None:
        return self._transport.get_pid() if self._transport is not None else None

    async def ask(self, question: bytes) -> bytes:
        if not self.is_usable:
            raise ProcessDied("Its process ended before it took the work.")
        self._answer = asyncio.get_running_loop().create_future()
        try:
            with suppress(RuntimeError):  # so uvloop says that the pipe broke; the end comes next
                self._questions.write(in_frame(question))
            return await self._answer
        except BaseException:  # a cancellation, too: nobody waits for the answer any more
            self.kill()
            raise

    def kill(self) -> None:
        self.is_usable = False
        if self._transport is not None and self._transport.get_returncode() is None:
            kill_group(self._transport.get_pid())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._questions = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        if self._answer is None or self._answer.done():
            self.kill()  # nothing was asked, or it sends on after what was too large
            return
        self._received += cast(bytes, data)
        if len(self._received) < LENGTH.size:
            return
        (length,) = LENGTH.unpack_from(self._received)
        end = LENGTH.size + length
        if length > self._most_bytes:
            told = f"The result takes {length:,} bytes. Allowed: {self._most_bytes:,}."
            self._answer.set_exception(ResultTooLarge(f"{told} Its process was ended."))
        elif len(self._received) >= end:
            self._answer.set_result(bytes(self._received[LENGTH.size : end]))
            self._received.clear()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.kill()  # it has ended, or nothing can be asked of it any more

    def process_exited(self) -> None:
        assert self._transport is not None  # it is known by then
        self.is_usable = False
        kill_group(self._transport.get_pid())  # what the work started and left behind
        if self._answer is not None and not self._answer.done():
            told = describe_end(self._transport.get_returncode() or 0)
            self._answer.set_exception(ProcessDied(f"Its process {told}."))
        self._transport.close()
        self.ended.set_result(None)


def kill_group(pid: int) -> None:
    with suppress(OSError):  # all of them have ended
        os.killpg(pid, signal.SIGKILL)


def plain_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return ONE_THREAD | {name: environment[name] for name in ENVIRONMENT if name in environment}


def describe_end(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"
