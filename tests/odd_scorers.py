"""Plug-ins that behave badly, each in another way by the case. Children import them."""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.errors import CallError, ScorerFailed
from workers.engine.plugins import install_plugins
from workers.engine.records import Case, Facts, Judgement, Request
from workers.engine.scorers.base import Ask, AskingScorer, FactScorer, Scorer
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.targets.chat import chat_request

__all__ = ["Asks", "AsksAndHangs", "Dear", "Hangs", "Misbehaves", "NeverEnds", "TellsProcess"]


class Local:
    """Can be read where it was made, and nowhere else."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return sys.exit, ("out of its box",)


def loop_for_ever() -> None:
    while True:
        time.sleep(0.01)


def hold_the_interpreter() -> None:
    ctypes.PyDLL(None).sleep(3600)  # no thread gets a turn


def give(value: Any, reason: Any = "", name: Any = "odd", passed: Any = True) -> Judgement:
    return Judgement(name, value, passed, reason)


ENDLESS: list[tuple[Callable[[], Any], str]] = [
    (loop_for_ever, "took longer than the 0.5 s that one answer may take, so its process"),
    (hold_the_interpreter, "took longer than the 0.5 s"),
]
WAYS: list[tuple[Callable[[], Any], str]] = [
    (lambda: os._exit(3), "Its process ended with exit code 3."),
    (lambda: os.kill(os.getpid(), 9), "Its process was ended by SIGKILL."),
    (lambda: bytearray(3 * 1024**3), "MemoryError: a process may use 512 MB."),
    (lambda: sys.exit(2), "The scorer Misbehaves failed: SystemExit: 2"),
    (lambda: 1 / 0, "The scorer Misbehaves failed: ZeroDivisionError: division by zero"),
    (lambda: give(float("nan")), "gave nan. A score is a number from 0 to 1, or None"),
    (lambda: give(1.5), "gave 1.5. A score is a number from 0 to 1, or None"),
    (lambda: give("1"), "gave str as its value. A score is a number from 0 to 1, or None"),
    (lambda: give(1.0, {"why": ["x" * 10**6] * 100}), "label or error that is no text"),
    (lambda: {"value": 1.0}, "gave dict, no verdict."),
    (Local, "gave Local, no verdict."),
    (lambda: fail(f"no\x00{'x' * 10**6}"), "no\ufffdxxx"),
    (lambda: give(None, "nothing to say", passed=False), ""),
    (lambda: give(True, "no\x00\ud800" + "x" * 10**6, "odd" * 10**6), ""),
    (lambda: give(1.0, "fine"), ""),
]


def fail(message: str) -> None:
    raise ScorerFailed(message)


class Misbehaves(Scorer):
    """In one way for each case."""

    needs_expected: ClassVar[bool] = False
    judging_seconds: ClassVar[float] = PATIENCE_SECONDS
    ways: ClassVar[list[tuple[Callable[[], Any], str]]] = WAYS

    def steps(self, answer: str, case: Case) -> float:
        return 0.0  # a plug-in says so in vain

    def judge(self, answer: str, case: Case) -> Judgement:
        return self.ways[case.position][0]()  # type: ignore[no-any-return]


class NeverEnds(Misbehaves):
    judging_seconds: ClassVar[float] = 0.5
    ways: ClassVar[list[tuple[Callable[[], Any], str]]] = ENDLESS


class Hangs(Scorer):
    """Judges nothing, ever."""

    needs_expected: ClassVar[bool] = False
    judging_seconds: ClassVar[float] = 0.3

    def judge(self, answer: str, case: Case) -> Judgement:
        while True:
            time.sleep(0)


class TellsProcess(Scorer):
    """Explains itself with the process that it runs in."""

    needs_expected: ClassVar[bool] = False

    def judge(self, answer: str, case: Case) -> Judgement:
        return self.verdict(True, f"{os.getpid()}")


class Dear(FactScorer):
    """Tells what the answer took."""

    def judge_facts(self, answer: str, case: Case, facts: Facts) -> Judgement:
        return self.verdict(True, f"{facts.latency_ms} ms, ${facts.dollars}")


class Asks(AskingScorer):
    """Asks twice at once, then once more; in one way for each case."""

    needs_expected: ClassVar[bool] = False
    judging_seconds: ClassVar[float] = PATIENCE_SECONDS

    model: ModelChoice

    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        while case.position == 1:
            await ask(self._request(os.urandom(8).hex()))
        if case.position == 2:
            await ask(Request("nowhere", "none", "/chat/completions", {"messages": []}))
        first, second = await asyncio.gather(*(self._twice(ask, part) for part in "ab"))
        try:
            await ask(self._request("fails"))
        except CallError as error:
            return self.verdict(True, f"{first} {second} {error.name} {os.getpid()}")
        raise AssertionError("It did not fail.")

    async def _twice(self, ask: Ask, part: str) -> str:
        """The second call of one of them comes before the first of the other, when it is known."""
        said = await ask(self._request(f"first {part}"))
        return (await ask(self._request(f"second {said.text}"))).text

    def _request(self, text: str) -> Request:
        message = {"role": "user", "content": text}
        return chat_request(self.model.model_dump(), [message], 0, "")


class AsksAndHangs(Asks):
    judging_seconds: ClassVar[float] = 0.5

    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        loop_for_ever()
        return self.verdict(True, "never")


def register() -> None:
    install_plugins([__name__])
