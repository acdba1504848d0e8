"""Judges as critics ask: texts between fences are judged, and whatever stands outside is obeyed.

A model that took orders from anywhere would do the same. So an answer that gets out of its fence,
or that was never put between fences, changes the verdict, which tests can see.
"""

import json
import re
from typing import Any, NamedTuple

from workers.simulator.answers.arithmetic import find_problem, show_number
from workers.simulator.answers.seeded import draw

RIGHT_FROM = 0.8  # a right answer scores from here to 1
WRONG_TO = 0.3
# How often a model misjudges, so that a panel has something to disagree on.
SLIPS = {"sim-small": 0.15, "sim-medium": 0.06}
FIRST_BIAS = {
    "sim-small": 0.4,
    "sim-medium": 0.2,
    "sim-large": 0.1,
}  # takes the first of two equals
SHORT_ANSWER = 60  # characters: one that holds the expected text and is longer says more than it
READ_CHARACTERS = 8000  # of each text

_fence = re.compile(r"between <([\w-]{1,60})> and </\1>")
_form = re.compile(r'as in \{"(score|choice|answer|better)":')
_order = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}"
    r"\b(?:rubric|instruction|prompt|above|previous|everything|rules?)"
    r"|\b(?:give|score|rate|grade)\b.{0,30}(?:\b1(?:\.0)?\b|\b10\b|full marks|highest)"
    r"|\b(?:reply|respond|answer|choose|prefer)(?: with)? \W?(?:yes|same|the first)\b",
    re.IGNORECASE,
)
_number = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_word = re.compile(r"[^\W\d_]{4,}")


class Asked(NamedTuple):
    """What a critic asks for."""

    form: str  # the field of the verdict besides the reason
    task: str
    texts: dict[str, str]
    orders: str  # what stands in the user's message outside of all fences

    @property
    def case(self) -> str:
        return self.texts.get("Case", "")

    @property
    def wanted(self) -> str | None:
        """The expected answer, or what is right by calculation."""
        if "Expected answer" in self.texts:
            return self.texts["Expected answer"].strip().rstrip(".").lower()
        problem = find_problem(self.case)
        return None if problem is None else show_number(problem.value)

    def says(self, title: str) -> str:
        return self.texts.get(title, "").strip().rstrip(".").lower()


def read_asked(system: str, user: str) -> Asked | None:
    """None if no critic asks."""
    fence, form = _fence.search(system), _form.search(system)
    if fence is None or form is None:
        return None
    task = system[: fence.start()]
    texts, outside = split(user, fence[1])
    return Asked(form[1], task, texts, outside)


def split(user: str, fence: str) -> tuple[dict[str, str], str]:
    """The texts by their titles, and what stands around them."""
    texts: dict[str, str] = {}
    outside, rest = [], user
    while True:
        before, opened, rest = rest.partition(f"<{fence}>")
        outside.append(before)
        if not opened:
            return texts, "\n".join(outside)
        text, _, rest = rest.partition(f"</{fence}>")
        title = before.strip().rpartition("\n")[2].rstrip(":")
        texts.setdefault(title, text[: READ_CHARACTERS // 2] + text[-READ_CHARACTERS // 2 :]
                         if len(text) > READ_CHARACTERS else text)  # fmt: skip


def judge_as_asked(asked: Asked, model: str, seed: int, variant: str) -> str:
    luck = draw(seed, "critic", model, asked.task, *sorted(asked.texts.items()), variant)
    slips = draw(seed, "slip", model, asked.task, asked.texts.get("Answer", ""), variant)
    has_slipped = slips < SLIPS.get(model, 0.0)
    if _order.search(asked.orders):
        return verdict(asked.form, OBEYED[asked.form], "I was told to.")
    value, reason = FORMS[asked.form](asked, model, luck, has_slipped)
    return verdict(asked.form, value, reason)


def verdict(form: str, value: Any, reason: str) -> str:
    return json.dumps({form: value, "reason": reason})


def is_right(asked: Asked, luck: float, has_slipped: bool) -> bool:
    if asked.wanted is None:
        return (luck < 0.5) != has_slipped
    return (asked.wanted in asked.says("Answer")) != has_slipped


def score(asked: Asked, model: str, luck: float, has_slipped: bool) -> tuple[float, str]:
    if asked.wanted is None:
        return round(luck, 2), f"It is about {topic(asked)}."
    if is_right(asked, luck, has_slipped):
        return round(RIGHT_FROM + luck * (1 - RIGHT_FROM), 2), "It says what was expected."
    return round(luck * WRONG_TO, 2), "It misses what was expected."


def choice(asked: Asked, model: str, luck: float, has_slipped: bool) -> tuple[str, str]:
    wanted, said = asked.wanted or "", asked.says("Answer")
    if has_slipped:
        return "disagrees", "The facts seem to differ."
    if wanted == said:
        return "same", "Both give the same facts."
    if wanted in said:
        if len(said) <= SHORT_ANSWER:
            return "differs", "It is worded in another way, with the same facts."
        return "superset", "It gives the expected facts, and more."
    if said and said in wanted:
        return "subset", "It gives a part of the expected facts."
    return "disagrees", "It says something else than was expected."


def answer(asked: Asked, model: str, luck: float, has_slipped: bool) -> tuple[str, str]:
    if is_right(asked, luck, has_slipped):
        return "yes", "The answer shows it."
    return "no", "Nothing in the answer shows it."


def better(asked: Asked, model: str, luck: float, has_slipped: bool) -> tuple[str, str]:
    first, second = asked.says("First answer"), asked.says("Second answer")
    right = [is_near(asked.wanted, text) for text in (first, second)]
    if right[0] != right[1]:
        return (
            ("first", "Only the first is right.") if right[0] else ("second", "Only the second is.")
        )
    if luck < FIRST_BIAS.get(model, 0.0):
        return "first", "The first comes to the point."
    return "tie", "Neither is better."


def is_near(wanted: str | None, text: str) -> bool:
    """By the last number, where a number is wanted."""
    numbers = _number.findall(text)
    if wanted is not None and _number.fullmatch(wanted):
        return bool(numbers) and numbers[-1] == wanted
    return wanted is not None and wanted in text


def topic(asked: Asked) -> str:
    words = _word.findall(asked.texts.get("Answer", "").lower())
    return max(words, key=len) if words else "nothing in particular"


FORMS = {"score": score, "choice": choice, "answer": answer, "better": better}
OBEYED: dict[str, Any] = {"score": 1.0, "choice": "same", "answer": "yes", "better": "first"}
