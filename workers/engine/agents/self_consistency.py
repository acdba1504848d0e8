"""Asks the same several times at once, and takes the answer that was given most often."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from workers.engine.agents.base import Agent, Call


class SelfConsistency(Agent):
    summary: ClassVar[str] = "Asks several times at once; the most frequent answer wins."
    calls: ClassVar[tuple[str, ...]] = ("draft",)

    samples: int = Field(default=5, ge=1, le=50, description="How often it asks.")

    async def run(self, fields: Mapping[str, str], call: Call) -> str:
        drafts = [call("draft", sample=number) for number in range(self.samples)]
        answers = [answer.strip() for answer in await asyncio.gather(*drafts)]
        # The first of the most frequent, in the order asked: not in that of arrival.
        return Counter(answers).most_common(1)[0][0]

    def count_calls(self, described: int) -> int:
        return self.samples
