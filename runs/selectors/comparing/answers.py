"""The answers behind one row of a comparison: each repeat of the base beside those of the others,
with what changed word by word."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from runs.models import Run, Score
from runs.selectors.scores.rows import expected_of
from runs.word_diff import WordDiff, diff_words

LONGEST = 20_000  # characters of an answer; the trial's page has more


class Answer(NamedTuple):
    """`diff` is against the answer of the base; None: it is that answer, or there is none."""

    score: Score
    text: str
    is_shortened: bool
    diff: WordDiff | None


class Answers(NamedTuple):
    question: str
    expected: str | None
    repeats: list[list[Answer | None]]  # by side, the base first; None: there is no such trial
    sides: list[Score | None]  # one trial of each, to name it by


def read_answers(sides: Sequence[Sequence[tuple[Run, int]]]) -> Answers | None:
    """Of trials by their run and position, for each side. None: none of them is stored."""
    stored = read_scores(sides)
    scores = [[stored.get((run.pk, position)) for run, position in side] for side in sides]
    known = [score for side in scores for score in side if score is not None]
    if not known:
        return None
    first = known[0]
    return Answers(
        question=first.case.question[:LONGEST],
        expected=expected_of(first.run, first.case.fields),
        repeats=[beside(repeat) for repeat in zip_longest(*scores)],
        sides=[next(filter(None, side), None) for side in scores],
    )


def read_scores(sides: Sequence[Sequence[tuple[Run, int]]]) -> Mapping[tuple[int, int], Score]:
    wanted: dict[Run, list[int]] = {}
    for side in sides:
        for run, position in side:
            wanted.setdefault(run, []).append(position)
    found: dict[tuple[int, int], Score] = {}
    for run, positions in wanted.items():
        scores = run.scores.filter(position__in=positions).select_related("candidate", "case")
        for score in scores:
            score.run = run
            found[run.pk, score.position] = score
    return found


def beside(scores: Sequence[Score | None]) -> list[Answer | None]:
    base = scores[0]
    return [None if score is None else answer_of(score, base) for score in scores]


def answer_of(score: Score, base: Score | None) -> Answer:
    text = score.answer[:LONGEST]
    is_compared = base is not None and base is not score and bool(base.answer) and bool(text)
    diff = diff_words(base.answer[:LONGEST], text) if base and is_compared else None
    return Answer(score, text, len(score.answer) > LONGEST, diff)
