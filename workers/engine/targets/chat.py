"""One chat call: the candidate's prompt, filled in with the case's fields, or messages that are
sent as they are."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from workers.engine.messages.filling import fill, texts_of
from workers.engine.records import Candidate, Case, Reply, Request
from workers.engine.spec.template import names_in
from workers.engine.spec.tools import tool_fields
from workers.engine.targets.parts import TargetParts

CHAT_PATH = "/chat/completions"


class ChatTarget:
    is_one_call: ClassVar[bool] = True

    def __init__(self, parts: TargetParts) -> None:
        pass  # a call needs nothing but its request

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request:
        messages = messages_of(candidate, case)
        tools = tool_fields(candidate.document.get("prompt", {}))
        return chat_request(
            candidate.document["model"], messages, repeat, candidate.key, tools=tools
        )

    async def answer(
        self,
        opening: Request | None,
        candidate: Candidate,
        case: Case,
        repeat: int,
        ask: Callable[[Request], Awaitable[Reply]],
    ) -> Reply:
        return await ask(opening or self.opening(candidate, case, repeat))


def chat_request(
    model: Mapping[str, Any],
    messages: list[dict[str, Any]],
    repeat: int,
    candidate: str,
    step: str = "",
    tools: Mapping[str, Any] = MappingProxyType({}),
) -> Request:
    body = {**model["parameters"], **tools, "model": model["model"], "messages": messages}
    return Request(model["endpoint"], model["model"], CHAT_PATH, body, repeat, candidate, step)


def messages_of(candidate: Candidate, case: Case) -> list[dict[str, Any]]:
    """The messages as they are sent. Of a pipeline, for its trial page, all of them, with
    the names of what was filled in on the way where it stood."""
    if "messages" in candidate.document:
        return list(candidate.document["messages"])
    if "prompt" in candidate.document:
        return fill(candidate.document["prompt"], case.fields)
    steps = candidate.document.get("steps", ())
    calls = [call for step in steps for call in step.get("calls", [step])]
    names = [name for call in calls for name in names_in("\n".join(texts_of(call)))]
    fields = {**{name: f"{{{{{name}}}}}" for name in names}, **case.fields}
    return [message for call in calls for message in fill(call, fields)]
