"""Writes better prompts when asked to: what the evolution of prompts builds on.

Who is shown wrong answers sees what most of them have in common, and adds the one thing that would
have helped; who is shown none guesses, and guesses are often wrong. So reflecting helps, as it does
elsewhere, whoever asks: as this project's runs do, or as the package gepa does.
"""

import re
from typing import NamedTuple

from workers.simulator.answers.advice import ADVICE, advice_in, sorts_of
from workers.simulator.answers.arithmetic import find_problem
from workers.simulator.answers.critics import split
from workers.simulator.answers.rewriting import PROMPT_IDEAS, swap_words
from workers.simulator.answers.seeded import draw, pick

CLEAR_SIGHT = 0.8  # how often a reflection sees what is really missing
# What would have helped with any question, the first that the prompt does not say yet.
GENERAL = ("Think step by step.", "Check your result before you answer.", "Work carefully.")
GUESSES = (*PROMPT_IDEAS, *(one.text for one in ADVICE.values()))

_task = re.compile(r"improve the system prompts of other models", re.IGNORECASE)
_fence = re.compile(r"between <([\w-]{1,60})> and </\1>")
_sentence = re.compile(r"[^.!?\n]+[.!?]?")
_instructions = re.compile(
    r"an assistant with the following instructions.{0,60}?\n```\n(.*?)\n```", re.DOTALL
)
_examples = re.compile(r"feedback.{0,80}?\n```\n(.*?)\n```", re.DOTALL)
_example = re.compile(r"^# Example \d+$", re.MULTILINE)
_wrong = re.compile(r"\b(?:incorrect|wrong|not correct)\b", re.IGNORECASE)


class Wish(NamedTuple):
    """What a writer is asked for: a prompt made of these."""

    prompts: list[str]
    questions: list[str]  # that were answered wrongly, with all that was said about them
    is_paraphrase: bool = False


def improve(system: str, user: str, seed: int, variant: str) -> str | None:
    """The new prompt, marked as was asked; None if that is not what was asked for."""
    if (wish := _fenced_wish(system, user)) is not None:
        return f"<prompt>{_better(wish, seed, variant)}</prompt>" if wish.prompts else "No prompt."
    if (wish := _blocks_wish(user)) is not None:
        return f"```\n{_better(wish, seed, variant)}\n```"
    return None


def _fenced_wish(system: str, user: str) -> Wish | None:
    fence = _fence.search(system)
    if fence is None or not _task.search(system):
        return None
    texts, _ = split(user, fence[1])
    prompts = [text.strip() for title, text in texts.items() if title.startswith("Prompt")]
    questions = [text for title, text in texts.items() if title.startswith("Question")]
    return Wish(prompts, questions, "Paraphrase" in system)


def _blocks_wish(user: str) -> Wish | None:
    """As gepa asks: instructions and examples in blocks, some of them answered rightly."""
    told, shown = _instructions.search(user), _examples.search(user)
    if told is None or shown is None:
        return None
    examples = [text for text in _example.split(shown[1]) if _wrong.search(text)]
    questions = [text.partition("## Generated Outputs")[0] for text in examples]
    return Wish([told[1].strip()], questions)


def _better(wish: Wish, seed: int, variant: str) -> str:
    first = wish.prompts[0]
    if len(wish.prompts) > 1:
        return _combined(wish.prompts)
    if wish.is_paraphrase:
        return swap_words(first, seed, variant)
    guess = pick(GUESSES, seed, "guess", first, variant)
    sees = draw(seed, "sight", first, variant, *wish.questions) < CLEAR_SIGHT
    lesson = _lesson(first, wish.questions) if wish.questions and sees else ""
    return _with(first, lesson or guess)


def _lesson(prompt: str, questions: list[str]) -> str:
    """What would have helped most of them, and is not said yet. Empty: nothing more is known."""
    known = advice_in(prompt)
    wanted = [idea for question in questions for idea in _remedies(question, known)]
    missing = [idea for idea in wanted if idea not in prompt]
    return max(missing, key=lambda idea: (missing.count(idea), -missing.index(idea)), default="")


def _remedies(question: str, known: frozenset[str]) -> list[str]:
    """For what it is asked, then what helps with anything."""
    problem = find_problem(question)
    sorts = frozenset() if problem is None else sorts_of(question, problem.sum_text)
    return [*(ADVICE[sort].text for sort in ADVICE if sort in sorts - known), *GENERAL]


def _combined(prompts: list[str]) -> str:
    """The sentences of both, each once."""
    found = [one.strip() for text in prompts for one in _sentence.findall(text) if one.strip()]
    return " ".join(dict.fromkeys(found))


def _with(prompt: str, idea: str) -> str:
    return prompt if idea in prompt else f"{prompt} {idea}".strip()
