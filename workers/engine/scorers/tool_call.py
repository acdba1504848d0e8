"""The answer calls the right tool with the right arguments.

A tool call is the answer as JSON (workers/engine/messages/tool_calls.py), and so is what the case
expects: `{"name": "look_up", "arguments": {"city": "Rome"}}`, a list of those, or a bare name.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from workers.engine.errors import ScorerFailed
from workers.engine.json_text import to_json
from workers.engine.messages.tool_calls import ToolCall, read_calls
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote
from workers.engine.scorers.json_form import problems_of
from workers.engine.scorers.schemas import compiled, is_plain

STEPS_PER_CHARACTER = 20  # both are read as JSON and compared
NO_CALLS = ("[]", "null")  # what a case says where no tool is to be called


class ToolCallScorer(Scorer):
    name: ClassVar[str] = "tool_call"
    compares_answers: ClassVar[bool] = False  # calls are expected
    summary: ClassVar[str] = "The answer calls the tool that the case expects, with its arguments."
    judging_seconds: ClassVar[float] = 2.0

    arguments: Literal["equal", "schema", "any"] = Field(
        default="equal",
        description="equal: the same JSON, in whatever order; schema: the expected arguments are a "
        "JSON Schema that those of the call must have; any: only the name counts.",
    )

    def steps(self, answer: str, case: Case) -> float:
        if self.arguments == "schema" and not is_plain(case.expected or ""):
            return math.inf
        return STEPS_PER_CHARACTER * (len(answer) + len(case.expected or ""))

    def judge(self, answer: str, case: Case) -> Judgement:
        expected, found = self._expected(case), read_calls(answer) or []
        if not expected:
            told = f"calls {named(found)}, but should call no tool" if found else "calls no tool"
            return self.verdict(not found, told)
        if not found:
            return self.verdict(False, f"calls no tool, but should call {named(expected)}")
        if sorted(one.name for one in found) != sorted(one.name for one in expected):
            return self.verdict(False, f"calls {named(found)}, but should call {named(expected)}")
        problem = self._problem(found, expected)
        return self.verdict(not problem, problem or f"calls {named(found)} as it should")

    def _expected(self, case: Case) -> list[ToolCall]:
        text = expected_of(case, self.name).strip()
        if text in NO_CALLS:
            return []
        if (calls := read_calls(text)) is not None:
            return calls
        if text.isidentifier() or text.replace("-", "_").isidentifier():
            return [ToolCall(text, None)]  # only a name: its arguments are not compared
        raise ScorerFailed(
            f"Case {case.position} expects {quote(text)}, which is no tool call. Write "
            '{"name": "look_up", "arguments": {"city": "Rome"}}, a list of those, the name alone, '
            "or [] where no tool is to be called."
        )

    def _problem(self, found: Sequence[ToolCall], expected: Sequence[ToolCall]) -> str:
        """Calls of one tool are compared in their order; models order those of several freely."""
        pairs = zip(sorted(found, key=name_of), sorted(expected, key=name_of), strict=True)
        problems = (self._difference(one, wanted.arguments) for one, wanted in pairs)
        return next(filter(None, problems), "")

    def _difference(self, call: ToolCall, wanted: Any) -> str:
        if wanted is None or self.arguments == "any":
            return ""
        if self.arguments == "schema":
            problems = problems_of(schema_of(wanted), call.arguments)
            return f"the arguments of {call.name}: {'; '.join(problems)}" if problems else ""
        if is_same(call.arguments, wanted):
            return ""
        shown = quote(to_json(call.arguments).decode())
        return f"{call.name} is called with {shown}, expected {quote(to_json(wanted).decode())}"


def is_same(one: Any, other: Any) -> bool:
    """As JSON: 1 is 1.0, but true is not 1 as it is to Python."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


def schema_of(wanted: Any) -> Any:
    try:
        return compiled(to_json(wanted).decode())
    except ValueError as error:
        raise ScorerFailed(f"The expected arguments are no JSON Schema. {error}") from None


def name_of(call: ToolCall) -> str:
    return call.name


def named(calls: Sequence[ToolCall]) -> str:
    return ", ".join(dict.fromkeys(quote(call.name) for call in calls[:5]))
