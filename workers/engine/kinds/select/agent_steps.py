"""Runs an agent as a step of a pipeline: what it is handed, how long it may be silent, its end.

Every call goes through the trial's `ask`. The agent itself holds no slot, so that calls of its own
never wait for a slot that it keeps.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from workers.engine.agents import Agent, build_agent
from workers.engine.ending_tasks import end_tasks
from workers.engine.errors import AgentFailed, CallError, TimedOut
from workers.engine.overtime import LOOP_SECONDS, Overdue, guarding_loop
from workers.engine.plugins import is_plugin_name
from workers.engine.providers.answers import clean_text
from workers.engine.records import Reply, Request
from workers.engine.targets.parts import TargetParts

MOST_CALLS = 100  # of one trial; an agent that asks for ever must end some day
MOST_SAMPLES = 1000  # of one call
MOST_REPEATS = 1000  # of one trial, as the schema has it
LONGEST_ANSWER = 1_000_000  # characters, that are stored
LONGEST_MESSAGE = 300  # characters of an exception that are shown

BLOCKING = (
    f"It kept the worker for more than {LOOP_SECONDS:g} s without awaiting, and was interrupted. "
    "Await what takes long, or write the agent as a plain function, which has a thread of its own."
)

Ask = Callable[[Request], Awaitable[Reply]]
Guard = AbstractAsyncContextManager[None]
MakeRequest = Callable[[str, Mapping[str, str], int], Request]


def sample_repeat(repeat: int, sample: int) -> int:
    """The repeat under which a sample's answer is kept: its own, and no other trial's."""
    return repeat + MOST_REPEATS * sample


class AgentCalls:
    """What an agent is handed as `call`, and what became of its calls."""

    def __init__(self, make_request: MakeRequest, ask: Ask) -> None:
        self._make_request = make_request
        self._ask = ask
        self._made = 0
        self._is_closed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._quiet = asyncio.Event()
        self.quiet_since = asyncio.get_running_loop().time()
        self.elapsed_ms = 0.0  # as if no call had waited and none been cached

    @property
    def are_under_way(self) -> bool:
        return bool(self._tasks)

    async def __call__(self, step: str, /, *, sample: int = 0, **fields: str) -> str:
        self._check(sample)
        request = self._make_request(step, fields, sample)
        task = asyncio.current_task()
        assert task is not None  # we are in a coroutine
        started_ms = self.elapsed_ms
        self._tasks.add(task)
        self._quiet.clear()
        try:
            # Calls that are made together must begin together: one that is served from memory
            # would else end before the next begins, and their times be added.
            await asyncio.sleep(0)
            reply = await self._ask(request)
        finally:
            self._end(task)
        self.elapsed_ms = max(self.elapsed_ms, started_ms + reply.latency_ms)
        return reply.text

    def _check(self, sample: int) -> None:
        if self._is_closed:
            raise AgentFailed("It made a call after its end.")
        if not 0 <= sample < MOST_SAMPLES:
            raise AgentFailed(f"It asked for sample {sample}. Allowed: 0 to {MOST_SAMPLES - 1}.")
        self._made += 1
        if self._made > MOST_CALLS:
            raise AgentFailed(f"It made more than {MOST_CALLS} calls for one trial.")

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self.quiet_since = asyncio.get_running_loop().time()
        if not self._tasks:
            self._quiet.set()

    async def close(self) -> None:
        """Let no call begin any more, and wait for those under way: they are paid for, and what
        they cost is this trial's."""
        self._is_closed = True
        if self._tasks:
            await self._quiet.wait()

    def cancel(self) -> None:
        self._is_closed = True
        for task in self._tasks:
            task.cancel()


async def run_agent(
    step: Mapping[str, Any], fields: Mapping[str, str], calls: AgentCalls, parts: TargetParts
) -> str:
    """The agent's answer. Whatever it raises becomes a CallError."""
    try:
        agent = build_agent(step["agent"], step["options"])
    except ValueError as error:  # it was there when the run was made
        raise AgentFailed(str(error)) from None
    work = await start_agent(step["agent"], agent, fields, calls, parts)
    try:
        answer = await wait_for(work, calls, parts.timeout_seconds)
    except asyncio.CancelledError:
        calls.cancel()
        raise
    except Exception as error:  # noqa: BLE001 - the agent is not ours; its failure is data
        raise failure_of(error) from None
    finally:
        await end_tasks([] if work.done() else [work])
        await calls.close()
    if not isinstance(answer, str):
        raise AgentFailed(f"It answered with {type(answer).__name__}. An agent answers with text.")
    if len(answer) > LONGEST_ANSWER:
        raise AgentFailed(f"It answered with more than {LONGEST_ANSWER:,} characters.")
    return clean_text(answer)


async def start_agent(
    name: str, agent: Agent, fields: Mapping[str, str], calls: AgentCalls, parts: TargetParts
) -> asyncio.Task[Any]:
    if agent.is_async:
        guard = guarding_loop() if is_plugin_name(name) else nullcontext()
        return asyncio.create_task(run_async(agent, fields, calls, guard))
    loop = asyncio.get_running_loop()

    def call(name: str, /, *, sample: int = 0, **given: str) -> str:
        asked = calls(name, sample=sample, **given)
        return asyncio.run_coroutine_threadsafe(asked, loop).result()

    ended = await parts.threads.start(lambda: agent.run(fields, call))
    calls.quiet_since = loop.time()  # waiting for a thread was not its fault

    async def outcome() -> Any:
        try:
            value, error = await ended
        except asyncio.CancelledError:
            parts.threads.interrupt(ended)
            raise
        if error is not None:
            raise error if isinstance(error, Exception) else AgentFailed(repr(error))
        return value

    return asyncio.create_task(outcome())


async def run_async(
    agent: Agent, fields: Mapping[str, str], calls: AgentCalls, guard: Guard
) -> Any:
    try:
        async with guard:
            answer: Any = agent.run(fields, calls)
            return await answer
    except Overdue:
        raise AgentFailed(BLOCKING) from None
    except SystemExit as error:  # of an agent, not of the worker
        raise AgentFailed(repr(error)) from None


async def wait_for(work: asyncio.Task[Any], calls: AgentCalls, seconds: float) -> Any:
    """Its calls have limits of their own, and may wait long for a slot; between them an agent has
    so many seconds."""
    loop = asyncio.get_running_loop()
    while not work.done():
        left = seconds if calls.are_under_way else calls.quiet_since + seconds - loop.time()
        if left <= 0:
            raise TimedOut(f"The agent neither made a call nor answered within {seconds:g} s.")
        await asyncio.wait({work}, timeout=left)
    if work.cancelled():
        raise AgentFailed("It cancelled itself.")
    return work.result()


def failure_of(error: Exception) -> CallError:
    """Of several at once, as a task group raises them, the first."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CallError):
        return error
    told = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
    return AgentFailed(clean_text(told))
