"""Starts named parts in order, starts again what dies, and stops all of them together."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from evalsite.embedded.child_processes import describe_end, die_with_parent, signal_group

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 30.0  # lived this long: its next death starts from the short pause again
TRIES_AT_START: Final = 3  # a part that never gets ready is a mistake, not an accident
POLL_SECONDS: Final = 0.05
LAST_WORDS_SECONDS: Final = 2.0  # a child that left the group may hold the pipe open for ever
LONGEST_LINE: Final = 64 * 1024  # bytes; longer ones are cut into several

Say = Callable[[str, str], None]


class PartFailed(Exception):
    """A part could not be brought up; what it said itself has been printed before."""


@dataclass(frozen=True)
class Part:
    """One process of the system. Parts of equal stage are started and stopped together."""

    name: str
    stage: int
    argv: Sequence[str]
    env: Mapping[str, str]
    is_ready: Callable[[], bool] | None = None  # asked in a thread, until it says yes
    grace_seconds: float = 5.0  # between SIGTERM and SIGKILL
    slow_after_seconds: float = 60.0


def say_on_stdout(name: str, line: str) -> None:
    try:
        print(f"{name:<10}| {line}", flush=True)
    except OSError:
        pass  # whoever read our output is gone; the parts still have to be looked after


class RunningPart:
    """Keeps one part running until it is told to stop."""

    def __init__(self, part: Part, say: Say) -> None:
        self.part = part
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False
        self._deaths = 0
        self._task = asyncio.create_task(self._keep_running())

    async def wait_until_ready(self) -> None:
        """However long it takes: only one that ends again and again is given up."""
        slow_from = time.monotonic() + self.part.slow_after_seconds
        while not await self._is_ready():
            if self._deaths >= TRIES_AT_START:
                raise PartFailed(
                    f"{self.part.name} did not get ready (ended {self._deaths} times)."
                    " Its own lines are above."
                )
            if time.monotonic() > slow_from:
                told = f"not ready after {self.part.slow_after_seconds:g} s; still waiting for it"
                self._say(self.part.name, told)
                slow_from = math.inf
            await asyncio.sleep(POLL_SECONDS)

    async def stop(self) -> None:
        self._stopping = True
        if self._process is None or self._process.returncode is not None:
            self._task.cancel()  # it is in a pause between two lives
        else:
            await self._end_process(self._process)
        await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        self._stopping = True
        if self._process is not None:
            signal_group(self._process.pid, signal.SIGKILL)

    async def _is_ready(self) -> bool:
        if self._process is None or self._process.returncode is not None:
            return False
        return self.part.is_ready is None or await asyncio.to_thread(self.part.is_ready)

    async def _end_process(self, process: asyncio.subprocess.Process) -> None:
        process.terminate()  # it alone: what it started itself is its own to stop, in its order
        try:
            async with asyncio.timeout(self.part.grace_seconds):
                await process.wait()
        except TimeoutError:
            self._say(self.part.name, f"still there after {self.part.grace_seconds:.0f} s; killed")
        signal_group(process.pid, signal.SIGKILL)  # also what it started itself and left behind

    async def _keep_running(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            started = time.monotonic()
            end = await self._live_once()
            if self._stopping:
                return
            self._deaths += 1
            if time.monotonic() - started > SETTLED_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            self._say(self.part.name, f"{end}; starting it again in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _live_once(self) -> str:
        """One life of the process, and how it ended, in words."""
        try:
            self._process = process = await self._spawn()
        except OSError as error:
            return f"could not be started ({error})"
        assert process.stdout is not None
        output = asyncio.create_task(self._pass_on(process.stdout))
        returncode = await process.wait()
        signal_group(process.pid, signal.SIGKILL)  # a dead part's own children
        await asyncio.wait({output}, timeout=LAST_WORDS_SECONDS)
        output.cancel()
        return describe_end(returncode)

    async def _spawn(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self.part.argv,
            env=self.part.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches us alone; we stop the parts in order
            preexec_fn=die_with_parent(),
        )

    async def _pass_on(self, stream: asyncio.StreamReader) -> None:
        """Print the part's lines with its name, in pieces if one has no end."""
        rest = b""
        while chunk := await stream.read(LONGEST_LINE):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._say(self.part.name, line.decode(errors="replace"))
        if rest:
            self._say(self.part.name, rest.decode(errors="replace"))


class Supervisor:
    """Brings up the parts stage by stage; SIGINT, SIGTERM or SIGHUP ends them all."""

    def __init__(self, parts: Sequence[Part], say: Say = say_on_stdout) -> None:
        self._parts = sorted(parts, key=lambda part: part.stage)
        self._say = say
        self._running: list[RunningPart] = []
        self._asked_to_stop = asyncio.Event()

    async def run(self, when_ready: Callable[[], None]) -> None:
        """Everything from the first start to the last stop. A PartFailed still stops the rest."""
        self._listen_to_signals()
        try:
            starting = asyncio.create_task(self._start(when_ready))
            asked = asyncio.create_task(self._asked_to_stop.wait())
            await asyncio.wait({starting, asked}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()  # raises what went wrong
                await asked
            starting.cancel()
            asked.cancel()
        finally:
            await self._stop()

    async def _start(self, when_ready: Callable[[], None]) -> None:
        for _, stage in groupby(self._parts, key=lambda part: part.stage):
            started = [RunningPart(part, self._say) for part in stage]
            self._running += started
            await asyncio.gather(*(running.wait_until_ready() for running in started))
        when_ready()

    async def _stop(self) -> None:
        """In reverse order, so that a worker can still write while it finishes its work."""
        backwards = reversed(self._running)
        for _, stage in groupby(backwards, key=lambda running: running.part.stage):
            await asyncio.gather(*(running.stop() for running in stage))

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._asked_to_stop.is_set():
            self._say("serve", f"{number.name} again: killing what is left")
            for running in self._running:
                running.kill()
            return
        self._say("serve", f"{number.name}: stopping. Again to kill at once.")
        self._asked_to_stop.set()
