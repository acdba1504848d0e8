"""Reads a prompt's style once: its task, and the qualities that change skill and form."""

import re
from functools import lru_cache
from math import exp
from typing import Literal, NamedTuple

from workers.simulator.answers.advice import advice_in
from workers.simulator.answers.judging import is_judging_task
from workers.simulator.answers.rewriting import is_rewriting_task
from workers.simulator.answers.seeded import draw
from workers.simulator.models import MODELS

# Quality -> what in a prompt shows it.
QUALITIES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "steps": r"step[ -]by[ -]step|show your work|one step at a time",
        "checking": r"double[- ]check|\bverify\b|check (?:your|the|each|it)",
        "careful": r"\bcareful(?:ly)?\b|take your time|\bprecise(?:ly)?\b|\baccurate(?:ly)?\b",
        "expert": r"\b(?:expert|mathematician|math teacher|calculator|accountant)\b",
        "terse": r"numbers? only|only (?:the |a |with the )?(?:final )?(?:number|result|answer)"
        r"|just (?:the|a) (?:number|result|answer)|nothing else|no explanation|bare number",
        "json": r"\b(?:as|in|return|valid) json\b|json object",
        "chatty": r"\b(?:chatty|friendly|conversational|cheerful|warm(?:ly)?|small talk)\b",
        "hasty": r"\b(?:quick(?:ly)?|hurry|fast|instantly|immediately|guess|first thing)\b"
        r"|off the top|don'?t (?:think|calculate)|without (?:thinking|calculating)|no time",
        "misleading": r"wrong answer|be creative|approximate(?:ly)?|roughly",
    }.items()
}

# Quality -> what it adds to the log-odds of a right answer. Form alone (json) changes nothing.
SKILL_CHANGES: dict[str, float] = {
    "steps": 0.75,
    "checking": 0.40,
    "careful": 0.20,
    "expert": 0.15,
    "terse": -0.05,
    "chatty": -0.25,
    "hasty": -0.75,
    "misleading": -1.50,
}
WORDING_SPREAD = 0.30  # log-odds: two wordings with the same qualities are near, not equal
CACHED_CHARACTERS = 4000  # longer prompts are rare; keeping them would only fill the memory

_digits = re.compile(r"\d+")
_sentence_end = re.compile(r"(?<=[.!?\n])")

LONG_PROMPT_CHARACTERS = 3000
LONG_PROMPT_CHANGE = -0.40  # instructions get lost in a very long prompt


class Style(NamedTuple):
    """What a prompt's wording says, whatever numbers its question holds."""

    task: Literal["judge", "rewrite", "answer"]
    qualities: frozenset[str]
    wording: str  # the sentences without numbers: how the prompt is worded
    skill_change: float
    name: str  # the same for prompts with the same qualities
    advice: frozenset[str]  # the sorts of questions that it helps with


def style_of(prompt: str) -> Style:
    """The style of a prompt; read anew only where more than the numbers has changed."""
    skeleton = _digits.sub("0", prompt)
    if len(skeleton) > CACHED_CHARACTERS:
        return _read_style(skeleton)
    return _remembered_style(skeleton)


@lru_cache(maxsize=4096)
def skill_of(model: str, style: Style, seed: int) -> float:
    """Log-odds that the model answers an easy question rightly under a prompt of this style."""
    nuance = (draw(seed, "wording", model, style.wording) - 0.5) * WORDING_SPREAD
    return MODELS[model].skill + style.skill_change + nuance


def difficulty_of(sum_text: str) -> float:
    """Log-odds a question costs: more digits, products and further operations are harder."""
    digits = sum(map(str.isdigit, sum_text))
    operations = sum(map(sum_text.count, "+-*/"))
    hard_operations = sum_text.count("*") + sum_text.count("/")
    return 0.12 * max(0, digits - 3) + 0.45 * hard_operations + 0.30 * max(0, operations - 1)


def chance_of(log_odds: float) -> float:
    return 1 / (1 + exp(-log_odds))


def _read_style(skeleton: str) -> Style:
    qualities = frozenset(name for name, found in QUALITIES.items() if found.search(skeleton))
    change = sum(SKILL_CHANGES.get(quality, 0.0) for quality in sorted(qualities))
    if len(skeleton) > LONG_PROMPT_CHARACTERS:
        change += LONG_PROMPT_CHANGE
    sentences = _sentence_end.split(skeleton)
    wording = "".join(sentence for sentence in sentences if "0" not in sentence)
    name = ",".join(sorted(qualities))
    return Style(_task_of(skeleton), qualities, wording, change, name, advice_in(skeleton))


_remembered_style = lru_cache(maxsize=4096)(_read_style)


def _task_of(skeleton: str) -> Literal["judge", "rewrite", "answer"]:
    if is_judging_task(skeleton):
        return "judge"
    return "rewrite" if is_rewriting_task(skeleton) else "answer"
