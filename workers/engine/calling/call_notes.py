"""Notes each call of a trial that makes several, so that a person can see who said what."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from workers.engine.calling.embeddings import EMBEDDINGS_PATH, describe_vector
from workers.engine.calling.prices import Bill
from workers.engine.errors import CallError, FlawedAnswer
from workers.engine.messages.contents import as_text
from workers.engine.records import CANCELLED, Reply, Request, StepCall

KEPT_CHARACTERS = 10_000  # of a prompt's message, and of an answer
WHOLE_CALLS = 40  # of a trial; of an episode's or segment's later ones only the beginnings are kept
BRIEF_CHARACTERS = 160

Ask = Callable[[Request], Awaitable[Reply]]


class CallNotes:
    def __init__(self, bill: Bill) -> None:
        self._bill = bill
        self._asked = 0
        self._notes: dict[int, StepCall] = {}

    @property
    def calls(self) -> tuple[StepCall, ...]:
        """In the order in which they began, whatever ended first."""
        return tuple(self._notes[number] for number in sorted(self._notes))

    def noting(self, ask: Ask) -> Ask:
        async def noted(request: Request) -> Reply:
            self._asked += 1
            number = self._asked
            try:
                reply = await ask(request)
            except FlawedAnswer as error:
                flawed = self._call(request, error.reply, most_of(number))
                self._notes[number] = flawed._replace(error=error.name)
                raise
            except CallError as error:
                self._notes[number] = failed_call(request, error.name, most_of(number))
                raise
            except asyncio.CancelledError:  # by its own agent: else nobody reads this
                self._notes[number] = failed_call(request, CANCELLED, most_of(number))
                raise
            self._notes[number] = self._call(request, reply, most_of(number))
            return reply

        return noted

    def _call(self, request: Request, reply: Reply, most: int) -> StepCall:
        return StepCall(
            request.step,
            model_of(request),
            prompt_of(request, most),
            answer_of(request, reply, most),
            "",
            reply.latency_ms,
            reply.tokens_in,
            reply.tokens_out,
            self._bill.price_of(request, reply),
            reply.cached,
            reply.truncated,
        )


def most_of(number: int) -> int:
    """Characters that are kept of each text of a trial's call of this number."""
    return KEPT_CHARACTERS if number <= WHOLE_CALLS else BRIEF_CHARACTERS


def failed_call(request: Request, error: str, most: int = KEPT_CHARACTERS) -> StepCall:
    prompt, model = prompt_of(request, most), model_of(request)
    return StepCall(request.step, model, prompt, "", error, None, None, None, None, False)


def model_of(request: Request) -> str:
    return f"{request.endpoint}/{request.model}"


def answer_of(request: Request, reply: Reply, most: int) -> str:
    is_vector = request.path == EMBEDDINGS_PATH
    return describe_vector(reply.text) if is_vector else shorten(reply.text, most)


def prompt_of(request: Request, most: int = KEPT_CHARACTERS) -> list[dict[str, Any]]:
    if request.path == EMBEDDINGS_PATH:
        return [{"role": "text", "content": shorten(request.body["input"], most)}]
    return [
        {"role": message["role"], "content": shorten(as_text(message["content"]), most)}
        for message in request.body.get("messages", ())
    ]


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
