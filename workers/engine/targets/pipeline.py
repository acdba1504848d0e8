"""Steps called one after the other, each with a model of its own and the answers before it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from workers.engine.errors import Refused
from workers.engine.records import Candidate, Case, Reply, Request
from workers.engine.targets.chat import chat_request, fill
from workers.engine.template import TemplateError


class PipelineTarget:
    is_one_call: ClassVar[bool] = False

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request:
        return request_of(candidate, candidate.document["steps"][0], case.fields, repeat)

    async def answer(
        self,
        opening: Request,
        candidate: Candidate,
        case: Case,
        ask: Callable[[Request], Awaitable[Reply]],
    ) -> Reply:
        """The last step's answer. Each step is a call like any other: throttled, cached, billed."""
        fields = dict(case.fields)
        replies: list[Reply] = []
        request = opening
        for step in candidate.document["steps"]:
            if replies:
                request = next_request(candidate, step, fields, opening.repeat)
            replies.append(await ask(request))
            fields[step["name"]] = replies[-1].text
        return whole_of(replies)


def request_of(
    candidate: Candidate, step: Mapping[str, Any], fields: Mapping[str, str], repeat: int
) -> Request:
    return chat_request(step["model"], fill(step, fields), repeat, candidate.key)


def next_request(
    candidate: Candidate, step: Mapping[str, Any], fields: Mapping[str, str], repeat: int
) -> Request:
    try:
        return request_of(candidate, step, fields, repeat)
    except TemplateError as error:  # an earlier answer was too long for the prompt
        raise Refused(f"Step {step['name']}: {error}") from None


def whole_of(replies: Sequence[Reply]) -> Reply:
    """The last answer, with the time and the tokens of all."""
    return Reply(
        replies[-1].text,
        sum(reply.latency_ms for reply in replies),
        total([reply.tokens_in for reply in replies]),
        total([reply.tokens_out for reply in replies]),
        cached=all(reply.cached for reply in replies),
    )


def total(counts: Sequence[int | None]) -> int | None:
    """None when a provider did not tell its part."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
