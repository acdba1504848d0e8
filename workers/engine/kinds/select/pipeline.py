"""Steps called one after the other, each with a model of its own and the answers before it.

A step is a chat call or an agent. One with routes picks which later step runs: of the steps that
routers name only those picked run, and the answers of the others are empty.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from workers.engine.calling.flaws import flaw_of
from workers.engine.errors import AgentFailed, Refused
from workers.engine.kinds.select.agent_steps import AgentCalls, run_agent, sample_repeat
from workers.engine.kinds.select.routing import pick_route, routed_steps
from workers.engine.messages.filling import fill
from workers.engine.providers.answers import clean_text
from workers.engine.records import TRUNCATED, Candidate, Case, Reply, Request
from workers.engine.spec.template import TemplateError
from workers.engine.spec.tools import tool_fields
from workers.engine.targets.chat import chat_request
from workers.engine.targets.parts import TargetParts

Ask = Callable[[Request], Awaitable[Reply]]


class PipelineTarget:
    is_one_call: ClassVar[bool] = False

    def __init__(self, parts: TargetParts) -> None:
        self._parts = parts

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request | None:
        first = candidate.document["steps"][0]
        if "agent" in first:
            return None
        return request_of(candidate, first, case.fields, repeat, first["name"])

    async def answer(
        self, opening: Request | None, candidate: Candidate, case: Case, repeat: int, ask: Ask
    ) -> Reply:
        """The answer of the last step that ran, with the time and the tokens of all."""
        walk = Walk(candidate, case, repeat, ask, self._parts)
        return await walk.run(opening)


class Walk:
    """One trial's way through the steps. Each call is like any other: throttled, cached, billed."""

    def __init__(
        self, candidate: Candidate, case: Case, repeat: int, ask: Ask, parts: TargetParts
    ) -> None:
        self._candidate = candidate
        self._repeat = repeat
        self._ask = ask
        self._parts = parts
        self._fields = dict(case.fields)
        self._replies: list[Reply] = []
        self._step_start = 0  # how many replies came before the step that runs now
        self._latency_ms = 0.0

    async def run(self, opening: Request | None) -> Reply:
        steps = self._candidate.document["steps"]
        waiting = routed_steps(steps)
        text = ""
        for step in steps:
            name = step["name"]
            if name in waiting:
                self._fields[name] = ""
                continue
            self._step_start = len(self._replies)
            text = self._fields[name] = await self._take(step, opening)
            opening = None
            if "routes" in step:
                waiting.discard(pick_route(step, text))
        whole = whole_of(text, self._latency_ms, self._replies)
        return replace(whole, flaw=self._flaw_of(text))

    def _flaw_of(self, text: str) -> str:
        """An agent makes its answer of several calls, which may end in any order: one that was cut
        is enough. Its own text may be empty, whatever its calls answered."""
        if any(reply.truncated for reply in self._replies[self._step_start :]):
            return TRUNCATED
        return flaw_of(text, "")

    async def _take(self, step: Mapping[str, Any], opening: Request | None) -> str:
        if "agent" in step:
            return await self._run_agent(step)
        request = opening or self._request(step, self._fields, self._repeat, step["name"])
        reply = await self._keep(request)
        self._latency_ms += reply.latency_ms
        return reply.text

    async def _run_agent(self, step: Mapping[str, Any]) -> str:
        slots = {call["name"]: call for call in step["calls"]}

        def make_request(name: str, given: Mapping[str, str], sample: int) -> Request:
            if name not in slots:
                raise AgentFailed(f"It called {name!r}. It has: {', '.join(slots)}.")
            filled = {field: clean_text(str(value)) for field, value in given.items()}
            fields = {**self._fields, **filled}
            repeat = sample_repeat(self._repeat, sample)
            return self._request(slots[name], fields, repeat, f"{step['name']}.{name}")

        calls = AgentCalls(make_request, self._keep)
        try:
            return await run_agent(step, dict(self._fields), calls, self._parts)
        finally:
            self._latency_ms += calls.elapsed_ms

    async def _keep(self, request: Request) -> Reply:
        reply = await self._ask(request)
        self._replies.append(reply)
        return reply

    def _request(
        self, call: Mapping[str, Any], fields: Mapping[str, str], repeat: int, label: str
    ) -> Request:
        try:
            return request_of(self._candidate, call, fields, repeat, label)
        except TemplateError as error:  # what was filled in on the way is too long for the prompt
            raise Refused(f"Step {label}: {error}") from None


def request_of(
    candidate: Candidate,
    call: Mapping[str, Any],
    fields: Mapping[str, str],
    repeat: int,
    label: str,
) -> Request:
    return chat_request(
        call["model"], fill(call, fields), repeat, candidate.key, label, tool_fields(call)
    )


def whole_of(text: str, latency_ms: float, replies: Sequence[Reply]) -> Reply:
    return Reply(
        text,
        latency_ms,
        total([reply.tokens_in for reply in replies]),
        total([reply.tokens_out for reply in replies]),
        cached=bool(replies) and all(reply.cached for reply in replies),
    )


def total(counts: Sequence[int | None]) -> int | None:
    """None when a provider did not tell its part."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
