"""Rewrites queries as runs of kind mutate ask for, and answers worse to some of the wordings.

A wording turns one sort of question wrong and leaves the others alone, always in the same way. So
there is something to learn: which rewriting breaks which question.
"""

import json
import re
from typing import NamedTuple

from workers.simulator.answers.critics import split
from workers.simulator.answers.rewriting import swap_words
from workers.simulator.answers.seeded import pick

CONFUSES = -6.0  # log-odds: hardly any model gets over it
BEING_POLITE = -0.1  # log-odds

_fence = re.compile(r"between <([\w-]{1,60})> and </\1>")
_asked = re.compile(r'as in \{"mutated_query":')


class Frame(NamedTuple):
    """What a rewriting puts around a query; what it replaces is taken off first."""

    asked: str  # in the task that the mutator is given
    before: tuple[str, ...] = ("",)  # one of these, by the query
    after: str = ""


FRAMES: dict[str, Frame] = {
    "polite": Frame("more polite", ("Could you please help me with this? ", "Please tell me: ")),
    "indirect": Frame("indirect", ("I wonder about the following. ", "I wonder: ")),
    "passive": Frame("passive voice", ("What follows is to be worked out by you. ",)),
    "perspective": Frame(
        "perspective", ("A neighbour asked me this. ", "A friend of mine asked me this. ")
    ),
    "context": Frame("harmless context", ("We talked about it at breakfast. ",)),
    "justification": Frame("why somebody", after=" I need it for my notes."),
    "paraphrase": Frame("Paraphrase", ("I would like to know: ", "Here is a task. ")),
}
# Wording -> the sort of questions that it turns wrong.
CONFUSED_BY: dict[str, str] = {
    "passive": "products",
    "indirect": "differences",
    "perspective": "stories",
}
_frames = re.compile("|".join(re.escape(b) for one in FRAMES.values() for b in one.before if b))


def mutate(system: str, user: str, seed: int, variant: str) -> str | None:
    """The rewritten query, in the form that was asked for; None if that is not asked."""
    fence = _fence.search(system)
    if fence is None or not _asked.search(system):
        return None
    texts, _ = split(user, fence[1])
    query = texts.get("Query", "").strip()
    return json.dumps({"mutated_query": rewritten(system[: fence.start()], query, seed, variant)})


def rewritten(task: str, query: str, seed: int, variant: str) -> str:
    plain = without_frames(query)
    for name, frame in FRAMES.items():
        if frame.asked in task:
            return f"{pick(frame.before, seed, name, plain, variant)}{plain}{frame.after}"
    if "synonyms" in task:
        return swap_words(query.replace("What is", "What would be"), seed, variant)
    return plain  # as short as it can be


def without_frames(query: str) -> str:
    for frame in FRAMES.values():
        for before in frame.before:
            query = query.removeprefix(before)
        query = query.removesuffix(frame.after)
    return query


def is_rewritten(query: str) -> bool:
    return bool(_frames.search(query))


def wordings_in(query: str) -> set[str]:
    return {
        name
        for name, frame in FRAMES.items()
        if any(before and before in query for before in frame.before)
    }


def confusion_of(query: str, sorts: frozenset[str]) -> float:
    """Log-odds that the wording adds. A story that is also a product or a difference counts as
    that: each question is turned wrong by one wording at most."""
    found = wordings_in(query)
    sort = next((one for one in ("products", "differences", "stories") if one in sorts), "")
    is_confused = any(CONFUSED_BY.get(name) == sort for name in found) and bool(sort)
    return (CONFUSES if is_confused else 0.0) + (BEING_POLITE if "polite" in found else 0.0)
