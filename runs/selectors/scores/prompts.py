"""The prompt of a trial as a page shows it: text alone, whatever was sent."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from runs.models import Score
from workers.engine.messages.contents import as_text
from workers.engine.records import Candidate, Case
from workers.engine.spec.template import TemplateError
from workers.engine.targets.chat import messages_of

ERROR, TOOLS = "error", "tools"  # beside the roles of messages
TITLES = {
    ERROR: "The prompt could not be filled in",
    TOOLS: "Tools that may be called",
    "system": "System prompt",
    "assistant": "Assistant message",
}


class ShownMessage(NamedTuple):
    role: str
    content: str
    title: str


def shown_messages(score: Score, case: Case) -> list[ShownMessage]:
    """The messages as they were sent, images told by kind and size, then the tools; a prompt that
    cannot be filled says why instead."""
    return messages_sent(score.candidate.as_engine, case)


def messages_sent(candidate: Candidate, case: Case) -> list[ShownMessage]:
    try:
        sent = messages_of(candidate, case)
    except TemplateError as error:
        return [ShownMessage(ERROR, str(error), TITLES[ERROR])]
    user = "User prompt" if is_single(sent) else "User message"
    messages = [
        ShownMessage(one["role"], as_text(one["content"]), TITLES.get(one["role"], user))
        for one in sent
    ]
    return messages + shown_tools(candidate.document.get("prompt", {}))


def is_single(messages: Sequence[Mapping[str, Any]]) -> bool:
    return len([one for one in messages if one["role"] != "system"]) == 1


def shown_tools(prompt: Mapping[str, Any]) -> list[ShownMessage]:
    if not prompt.get("tools"):
        return []
    told = {name: prompt[name] for name in ("tools", "tool_choice") if prompt.get(name)}
    text = orjson.dumps(told, option=orjson.OPT_INDENT_2).decode()
    return [ShownMessage(TOOLS, text, TITLES[TOOLS])]
