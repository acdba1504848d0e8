"""Agents and steps as a package would bring them, good and bad."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from workers.engine.agents import Agent, Call, PlainCall

__all__ = ["Chain", "burns", "cancels", "fans_out", "fans_out_plainly", "hangs", "misbehaves"]
__all__ += ["mumbles", "races", "sleeps", "spins"]


class Chain(Agent):
    """Two calls, the second with what the first gave."""

    calls: ClassVar[tuple[str, ...]] = ("plan", "solve")
    gives: ClassVar[tuple[str, ...]] = ("plan",)

    async def run(self, fields: Mapping[str, str], call: Call) -> str:
        return await call("solve", plan=await call("plan"))


async def fans_out(fields: Mapping[str, str], call: Call, *, width: int = 5) -> str:
    answers = await asyncio.gather(*(call("draft", sample=n) for n in range(width)))
    return answers[0]


def fans_out_plainly(fields: Mapping[str, str], call: PlainCall, *, width: int = 3) -> str:
    answers = [call("draft", sample=number) for number in range(width)]
    return answers[0]


async def misbehaves(fields: Mapping[str, str], call: Call, *, how: str) -> Any:
    await call("draft")
    if how == "raises half a character":
        raise ValueError("\x00 and \ud800")
    if how == "raises":
        raise KeyError("no such thing")
    if how == "exits":
        raise SystemExit(3)
    if how == "calls what is not there":
        await call("nothing")
    if how == "asks for ever":
        while True:
            await call("draft")
    return 42


async def mumbles(fields: Mapping[str, str], call: Call) -> str:
    """Texts that not every database would store."""
    await call("draft", question="What is 1 + 1? \x00")
    return "\x00\ud800 42"


async def cancels(fields: Mapping[str, str], call: Call) -> str:
    raise asyncio.CancelledError


async def hangs(fields: Mapping[str, str], call: Call) -> str:
    await call("draft")
    await asyncio.Event().wait()
    return ""


async def races(fields: Mapping[str, str], call: Call) -> str:
    """Takes the first of three answers, and does not wait for the others."""
    rivals = [asyncio.create_task(call("draft", sample=number)) for number in range(3)]
    done, late = await asyncio.wait(rivals, return_when=asyncio.FIRST_COMPLETED)
    for rival in late:
        rival.cancel()
    return done.pop().result()


def sleeps(fields: Mapping[str, str], call: PlainCall) -> str:
    threading.Event().wait()
    return ""


def burns(fields: Mapping[str, str], call: PlainCall) -> str:
    while True:
        pass


async def spins(fields: Mapping[str, str], call: Call) -> str:
    """Never lets the loop go, for every second question."""
    while fields["question"].split()[2] in {"1", "3", "5"}:
        pass
    return await call("draft")


TERSE = "Answer with the number only."
LARGE = "simulated/sim-large"
HERE = __name__


def chat(name, user, *models, **more):
    return {"name": name, "system": TERSE, "user": user, "models": models or [LARGE], **more}


def agent(name, **more):
    calls = [chat("draft", "{{question}}")]
    return {"name": "solver", "agent": f"{HERE}.{name}", "calls": calls, **more}


ROUTER = chat("triage", "What is {{level}} + 0?", routes={"1": "easy", "2": "hard"})
ROUTED = [
    ROUTER,
    chat("easy", "What is {{question}} + 0?"),
    chat("hard", "What is {{question}} + 100?"),
    chat("last", "What is {{easy}}{{hard}} + 1000?"),
]
