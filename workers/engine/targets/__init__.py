"""Targets turn a candidate and a case into an answer, by asking a provider."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol

from workers.engine.records import Candidate, Case, Outcome, Reply, Request
from workers.engine.targets.chat import ChatTarget
from workers.engine.targets.parts import TargetParts

__all__ = ["Ask", "ChatTarget", "Target", "TargetParts"]

Ask = Callable[[Request], Awaitable[Reply]]


class Target(Protocol):
    is_one_call: ClassVar[bool]
    """Whether the opening's answer is the whole answer: then it is scored straight from the cache,
    so a target that makes an Outcome of it says no."""

    def __init__(self, parts: TargetParts) -> None: ...

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request | None:
        """The first request, known before anything is asked, so that a chunk's cache look-up
        is one query. None if only the asking will tell."""
        ...

    async def answer(
        self, opening: Request | None, candidate: Candidate, case: Case, repeat: int, ask: Ask
    ) -> Reply | Outcome:
        """The final answer, asking as often as it takes."""
        ...
