"""Gives a score when a prompt asks for one: what critics and judges of answers build on."""

import json
import re
from typing import NamedTuple

from workers.simulator.answers.seeded import draw

NUMBER = r"-?\d{1,6}(?:\.\d{1,6})?"  # bounded, or a long row of digits would take minutes

_task = re.compile(
    r"\b(?:rate|judge|grade|score|assess|evaluate)\s+(?:the|this|how|it|each|following|an?)\b"
    r"|\b(?:strict|fair|impartial|helpful|the|a|an)\s+(?:judge|critic|grader|evaluator)\b"
    r"|\bon a scale\b|\bscore (?:from|between)\b",
    re.IGNORECASE,
)
_scale = re.compile(
    rf"(?<!\d)({NUMBER})\s*(?:to|-|and|\.\.)\s*({NUMBER})(?!\s*[+*/=])", re.IGNORECASE
)
_scale_words = re.compile(r"(?:from|between|scale of|scale|score)[^\d\n-]{0,20}$", re.IGNORECASE)
# What is judged may stand in the rest of the line, or between <tag> and </tag>.
_TEXT = r"\s*[:=]\s*(?:<(?P<tag>[\w-]{1,60})>(?P<fenced>(?s:.*?))</(?P=tag)>|(?P<line>.+))"
_expected = re.compile(
    rf"(?:(?:expected|reference|correct)(?: answer)?|ground truth){_TEXT}", re.IGNORECASE
)
_given = re.compile(
    rf"^\W*(?:(?:given |candidate'?s? |model'?s? )?(?:answer|response|output|reply)){_TEXT}",
    re.IGNORECASE | re.MULTILINE,
)
RIGHT_FROM = 0.8  # share of the scale: a right answer scores from here to the top
WRONG_TO = 0.3


class Scale(NamedTuple):
    low: float
    high: float


DEFAULT_SCALE = Scale(0.0, 1.0)


def is_judging_task(instructions: str) -> bool:
    return bool(_task.search(instructions))


def judge(instructions: str, model: str, seed: int, variant: str) -> str:
    """A number on the scale the prompt names (0 to 1 if it names none): bare, or with a reason as
    JSON where the prompt asks for that."""
    scale = scale_of(instructions)
    share = _share(instructions, draw(seed, "judge", model, instructions, variant))
    score = scale.low + share * (scale.high - scale.low)
    shown = f"{score:.2f}" if scale.high - scale.low <= 1 else f"{round(score)}"
    if not _wants_reason(instructions):
        return shown
    reason = "It says what was expected." if share >= RIGHT_FROM else "It misses what was expected."
    return json.dumps({"score": float(shown), "reason": reason})


def scale_of(instructions: str) -> Scale:
    """The last range that is called a scale; a range elsewhere may belong to the judged text."""
    for found in _scale.finditer(instructions):
        low, high = float(found[1]), float(found[2])
        before = instructions[max(0, found.start() - 30) : found.start()]
        if low < high and _scale_words.search(before):
            return Scale(low, high)
    return DEFAULT_SCALE


def _wants_reason(instructions: str) -> bool:
    _, _, after = instructions.partition("JSON")
    return '"score"' in after and '"reason"' in after


def _share(instructions: str, luck: float) -> float:
    """High where the given answer holds the expected one, low where not, luck where unknown."""
    expected, given = _expected.search(instructions), _given.search(instructions)
    if expected is None or given is None:
        return luck
    wanted, said = ((found["fenced"] or found["line"] or "") for found in (expected, given))
    if wanted.strip().rstrip(".").lower() in said.lower():
        return RIGHT_FROM + luck * (1 - RIGHT_FROM)
    return luck * WRONG_TO
