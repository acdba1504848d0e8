"""Toys made as the recipes of ARCHITECTURE.md say: scorer, strategy, agent, provider."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from workers.engine.agents import Agent, Call
from workers.engine.http import Client
from workers.engine.kinds.evolve.operators import WritingOperator
from workers.engine.providers import Manner, Servers
from workers.engine.records import Case, Judgement, Reply, Request
from workers.engine.scorers.base import Scorer, expected_of, quote
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

__all__ = ["Closing", "Echo", "FirstFew", "Shorten"]  # what a configuration may name


class Closing(Scorer):
    name: ClassVar[str] = "closing"
    summary: ClassVar[str] = "The answer ends with the expected text."
    needs_expected: ClassVar[bool] = True

    spaces: Literal["kept", "ignored"] = Field(
        default="ignored", description="Whether spaces at the end count."
    )

    def judge(self, answer: str, case: Case) -> Judgement:
        expected = expected_of(case, self.name)
        text = answer.rstrip() if self.spaces == "ignored" else answer
        return self.verdict(text.endswith(expected), f"ends with {quote(text[-len(expected) :])}")


class FirstFewOptions(Options):
    few: int = Field(
        default=2, ge=1, title="Cases for each", description="How many cases each is tried on."
    )


class FirstFew(Rounds[FirstFewOptions]):
    """For tests: a few cases for everybody, and that is it."""

    label = "The first few"
    summary = "Tries every combination on a few cases."
    options_type = FirstFewOptions

    def next_pulls(self) -> list[Pull]:
        return [] if self.history else self.pulls(self.alive, self.options.few)


class Shorten(WritingOperator):
    """Asks a model for the same prompt in fewer words."""

    task: ClassVar[str] = "Say the prompt below in fewer words."


class Echo(Agent):
    """Says what its one call says."""

    calls: ClassVar[tuple[str, ...]] = ("say",)

    async def run(self, fields: Mapping[str, str], call: Call) -> str:
        return await call("say")


class Parrot:
    """A provider that can do nothing but answer: no tokens, no limits, no list of models."""

    def __init__(
        self,
        client: Client | None = None,
        service: str = "parrot",
        base_url: str = "https://parrot.example",
        api_key: str = "",
        servers: Servers | None = None,
        manner: Manner | None = None,
    ) -> None:
        self.service = service

    async def send(self, request: Request) -> Reply:
        return Reply(str(request.body["messages"][-1]["content"]), latency_ms=0.0)
