"""One chat call: the candidate's prompt, filled in with the case's fields."""

from collections.abc import Awaitable, Callable
from typing import Any

from workers.engine.records import Candidate, Case, Reply, Request
from workers.engine.template import render

CHAT_PATH = "/chat/completions"


class ChatTarget:
    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request:
        model = candidate.document["model"]
        body = {
            **model["parameters"],
            "model": model["model"],
            "messages": messages_of(candidate, case),
        }
        return Request(model["endpoint"], model["model"], CHAT_PATH, body, repeat, candidate.key)

    async def answer(
        self,
        opening: Request,
        candidate: Candidate,
        case: Case,
        ask: Callable[[Request], Awaitable[Reply]],
    ) -> Reply:
        return await ask(opening)


def messages_of(candidate: Candidate, case: Case) -> list[dict[str, Any]]:
    """The messages as they are sent; also what the trial page shows."""
    prompt = candidate.document["prompt"]
    messages = [{"role": "user", "content": render(prompt["user"], case.fields)}]
    if prompt["system"]:
        system = {"role": "system", "content": render(prompt["system"], case.fields)}
        messages.insert(0, system)
    return messages
