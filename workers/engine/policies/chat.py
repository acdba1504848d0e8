"""A policy that asks a model for each action, through the throttle."""

import re
from typing import Any

from pydantic import Field

from workers.engine.errors import PolicyFailed
from workers.engine.policies.base import AskingPolicy, AskText, Seat
from workers.engine.spec.model_choice import ModelChoice

NUMBER = re.compile(r"\d+")
LONGEST_SEEN = 2000  # characters of an observation that are shown to the model


class Chat(AskingPolicy):
    """Shows a model what the agent sees, and takes the first number of its answer as the action."""

    model: ModelChoice = Field(description="The model that decides, as endpoint/model.")
    instructions: str = Field(
        default="You play a game. Answer with the number of one action only.",
        max_length=4000,
        description="What the model is told before each observation.",
    )

    def reset(self, seat: Seat) -> int:
        if seat.space.actions is None:
            raise ValueError("A model can only choose among numbered actions.")
        return seat.space.actions

    async def ask_step(self, observation: Any, state: int, ask: AskText) -> int:
        seen = getattr(observation, "tolist", lambda: observation)()
        shown = str(seen)[:LONGEST_SEEN]
        question = f"{self.instructions}\nActions: 0 to {state - 1}.\nYou see: {shown}"
        answer = await ask(question)
        found = NUMBER.search(answer)
        if found is None or int(found[0]) >= state:
            raise PolicyFailed(f"The answer {answer[:80]!r} names none of 0 to {state - 1}.")
        return int(found[0])
