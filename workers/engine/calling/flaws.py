"""Tells a whole answer from one that was cut off, withheld or has no text, and says so."""

from collections.abc import Collection, Mapping
from typing import Any

from workers.engine.errors import AnswerCut, AnswerFiltered, FlawedAnswer, NoText
from workers.engine.records import TRUNCATED, Reply

FLAWS: dict[str, type[FlawedAnswer]] = {
    error.name: error for error in (AnswerCut, AnswerFiltered, NoText)
}
# How the protocols that we speak say why an answer ended, where it is not simply done.
ENDINGS: dict[str, str] = {
    "length": TRUNCATED,
    "max_tokens": TRUNCATED,
    "model_context_window_exceeded": TRUNCATED,
    "content_filter": AnswerFiltered.name,
    "refusal": AnswerFiltered.name,
    "tool_calls": NoText.name,
    "function_call": NoText.name,
    "tool_use": NoText.name,
}
TOOL_ENDINGS = frozenset({"tool_calls", "function_call", "tool_use"})
# How providers name the limit on an answer's length.
LENGTH_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")


def flaw_of(text: str, ending: str, *, is_call: bool = False) -> str:
    """By the provider's own word for the ending; an empty text is a flaw whatever that says.
    `is_call`: the text is a tool call that was asked for."""
    if is_call and ending in TOOL_ENDINGS:
        return ""
    return ENDINGS.get(ending) or ("" if text.strip() else NoText.name)


def length_limit(parameters: Mapping[str, Any]) -> str:
    """The name of the parameter that limits the answer's length; empty if none does."""
    return next((name for name in LENGTH_LIMITS if parameters.get(name) is not None), "")


def is_kept(reply: Reply, accepted: Collection[str]) -> bool:
    """Whether it may be cached and shared with equal calls. What was cut off keeps its mark there;
    other flaws have none, and would come back as good answers."""
    return not reply.flaw or (reply.truncated and TRUNCATED in accepted)


def check_whole(
    reply: Reply, accepted: Collection[str], parameters: Mapping[str, Any], step: str = ""
) -> None:
    """Raise a FlawedAnswer unless the answer is whole, or its flaw is one that is scored."""
    if not reply.flaw or reply.flaw in accepted:
        return
    told = _told(reply, parameters)
    raise FLAWS[reply.flaw](f"Step {step}: {told}" if step else told, reply)


def _told(reply: Reply, parameters: Mapping[str, Any]) -> str:
    if reply.truncated:
        name = length_limit(parameters)
        where = f"{name} = {parameters[name]}" if name else "its length limit (none was set)"
        return f"The answer was cut off at {where}."
    told = f" (the provider says: {reply.ending})" if reply.ending else ""
    if reply.flaw == AnswerFiltered.name:
        return f"The answer was withheld by a content filter or by the model itself{told}."
    return f"The answer has no text{told}."
