"""Reads what a judge replied, strictly; a reply that cannot be read is asked for once more."""

from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workers.engine.errors import ScorerFailed
from workers.engine.scorers.base import Ask, quote
from workers.engine.scorers.critics.brief import Brief
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.targets.chat import chat_request

FENCE = "```"


class Verdict(BaseModel):
    """What a judge must reply, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)

    example: ClassVar[str]
    form: ClassVar[str]

    reason: str


Form = TypeVar("Form", bound=Verdict)


class BadReply(ValueError):
    """What is wrong with it, in words of ours: the judge is told, outside of any fence."""


async def ask_judge(ask: Ask, judge: ModelChoice, brief: Brief, form: type[Form]) -> Form:
    """Its verdict. ScorerFailed after the second reply that is none; the answer can be judged
    again."""
    reply = await ask(chat_request(judge.model_dump(), brief.messages(), 0, ""))
    try:
        return read_verdict(form, reply.text)
    except BadReply as problem:
        brief = brief.after(reply.text, str(problem))
    reply = await ask(chat_request(judge.model_dump(), brief.messages(), 0, ""))
    try:
        return read_verdict(form, reply.text)
    except BadReply as problem:
        raise ScorerFailed(
            f"The judge {judge.label} answered {quote(reply.text)}, also when it was asked again. "
            f"{problem} It was asked for a JSON object as in {form.example}."
        ) from None


def read_verdict(form: type[Form], text: str) -> Form:
    try:
        verdict = form.model_validate_json(without_fence(text))
    except ValidationError as error:
        raise BadReply(problem_of(form, error)) from None
    return verdict.model_copy(update={"reason": plain(verdict.reason)})


def problem_of(form: type[Verdict], error: ValidationError) -> str:
    """Only names of our own fields: what else the reply holds may be somebody's instructions."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    if any(one["type"] == "json_invalid" for one in problems):
        return "It is not one JSON object and nothing else."
    names = {str(one["loc"][0]) for one in problems if one["loc"]}
    wrong = [f"`{name}`" for name in form.model_fields if name in names]
    told = f"Missing or not as it should be: {', '.join(wrong)}. " if wrong else ""
    if names - form.model_fields.keys():
        told += "It has fields that nobody asked for. "
    return f"{told or 'It is no JSON object. '}{form.form}"


def plain(reason: str) -> str:
    """On one line, without characters that nobody sees or that turn the text around."""
    return " ".join("".join(c if c.isprintable() else " " for c in reason).split())


def without_fence(text: str) -> str:
    """Without the code block that many models put around all JSON."""
    block = text.strip()
    head, _, body = block.partition("\n")
    is_fenced = head.rstrip() in (FENCE, f"{FENCE}json") and body.endswith(FENCE)
    return body.removesuffix(FENCE) if is_fenced else text
