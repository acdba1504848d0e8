"""Makes a model's answer to a prompt: the same prompt, model and seed always give the same text."""

import re
from fractions import Fraction
from typing import NamedTuple

from workers.simulator.answers.advice import help_of, sorts_of
from workers.simulator.answers.arithmetic import Problem, find_problem, show_number
from workers.simulator.answers.critics import judge_as_asked, read_asked
from workers.simulator.answers.improving import improve
from workers.simulator.answers.judging import judge
from workers.simulator.answers.mutating import confusion_of, is_rewritten, mutate
from workers.simulator.answers.rewriting import rewrite
from workers.simulator.answers.seeded import draw, pick
from workers.simulator.answers.style import Style, chance_of, difficulty_of, skill_of, style_of

_word = re.compile(r"[^\W\d_]{4,}")
MOST_ECHOED_WORDS = 4
# Of a huge prompt only the beginning of the instructions and the end, where the question stands.
READ_CHARACTERS = 8000
LONGEST_TASK = 50_000  # of what a judge is told: its rubric may be long


class Prompt(NamedTuple):
    """What a chat or completion comes down to. Variant: which of several answers is wanted."""

    system: str
    user: str  # the last user message
    model: str
    seed: int
    variant: str = ""
    images: tuple[str, ...] = ()  # a description of each

    @property
    def instructions(self) -> str:
        return f"{self.system}\n{self.user}"


def answer_to(prompt: Prompt) -> str:
    """The text a model says."""
    if (asked := read_asked(prompt.system[:LONGEST_TASK], prompt.user)) is not None:
        return judge_as_asked(asked, prompt.model, prompt.seed, prompt.variant)
    for write in (improve, mutate):
        written = write(prompt.system, prompt.user, prompt.seed, prompt.variant)
        if written is not None:
            return written
    if len(prompt.system) > READ_CHARACTERS or len(prompt.user) > READ_CHARACTERS:
        system, user = prompt.system[:READ_CHARACTERS], prompt.user[-READ_CHARACTERS:]
        prompt = prompt._replace(system=system, user=user)
    if prompt.images:
        return f"I see {len(prompt.images)} image(s): {'; '.join(prompt.images)}."
    style = style_of(prompt.instructions)
    if style.task == "judge":
        return judge(prompt.instructions, prompt.model, prompt.seed, prompt.variant)
    if style.task == "rewrite":
        return rewrite(prompt.system, prompt.user, prompt.seed, prompt.variant)
    problem = find_problem(prompt.user)
    if problem is not None:
        return _answer_problem(problem, prompt, style)
    return _echo(prompt)


def _answer_problem(problem: Problem, prompt: Prompt, style: Style) -> str:
    compact = problem.sum_text.replace(" ", "")
    skill = skill_of(prompt.model, style, prompt.seed)
    if style.advice or is_rewritten(prompt.user):
        sorts = sorts_of(prompt.user, compact)
        skill += help_of(style.advice, sorts) + confusion_of(prompt.user, sorts)
    luck = draw(prompt.seed, prompt.model, style.name, compact, prompt.variant)
    is_right = luck < chance_of(skill - difficulty_of(compact))
    value = problem.value if is_right else _mistake(problem, prompt.seed, prompt.model)
    return _phrase(problem.sum_text, show_number(value), style.qualities)


def _mistake(problem: Problem, seed: int, model: str) -> int | Fraction:
    """A wrong value of the sort people and models produce."""
    slips = (1, -1, 10, -10, 2, -2, 9, -9, 100)
    slip = pick(slips, seed, "slip", model, problem.sum_text)
    return problem.value + slip


def _phrase(sum_text: str, shown: str, qualities: frozenset[str]) -> str:
    """Says the value in the form the prompt asks for; the value is always the last number."""
    if "json" in qualities:
        return f'{{"answer": {shown}}}'
    if "terse" in qualities:
        return shown
    if "steps" in qualities:
        return f"Let me work it out step by step.\nThe sum is {sum_text}.\nThe answer is {shown}."
    if "chatty" in qualities:
        return f"Great question, happy to help! I make it {shown}. Have a lovely day!"
    return f"The answer is {shown}."


def _echo(prompt: Prompt) -> str:
    """Something useful-looking about any text."""
    found = set(_word.findall(prompt.user.lower()))
    words = sorted(found, key=lambda word: (-len(word), word))
    if not words:
        return "Could you tell me more about what you need?"
    topic = ", ".join(words[:MOST_ECHOED_WORDS])
    openings = ("In short", "Briefly", "Here is the main point", "To sum up")
    stances = ("matters most", "comes first", "is the key part", "deserves the attention")
    where = (prompt.seed, prompt.model, prompt.instructions, prompt.variant)
    opening, stance = pick(openings, *where, "opening"), pick(stances, *where, "stance")
    return f"{opening}: this is about {topic}, and {words[0]} {stance}."
