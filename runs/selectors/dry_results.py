"""What a dry run found, as pages and programs show it."""

from collections.abc import Sequence

from pydantic import BaseModel

from runs import formatting
from runs.selectors.runs.errors import advice_for
from runs.selectors.scores.prompts import messages_sent
from workers.engine.records import Candidate, Case, Judgement, Score, StepCall

LONGEST = 4_000  # characters of a text: this is a look, not an archive


class ShownText(BaseModel):
    """A message as it was sent, or the answer of a step."""

    title: str
    text: str


class ShownJudgement(BaseModel):
    name: str
    value: float | None
    passed: bool | None
    told: str


class ShownTrial(BaseModel):
    """One trial of a dry run: an answer with its score, or an error with what to do."""

    candidate: str
    case: int  # from 1 on, as in the dataset
    sent: list[ShownText]
    answer: str
    is_shortened: bool
    expected: str | None
    value: float | None
    passed: bool | None
    judgements: list[ShownJudgement]
    error: str
    message: str
    advice: str
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: str
    cached: bool


def shown_trial(
    candidate: Candidate, case: Case, score: Score | None, seconds: float
) -> ShownTrial:
    if score is None:
        return unfinished(candidate, case, seconds)
    return ShownTrial(
        candidate=candidate.name,
        case=case.position + 1,
        sent=texts_of(candidate, case, score.calls),
        answer=score.answer[:LONGEST],
        is_shortened=len(score.answer) > LONGEST,
        expected=case.expected[:LONGEST] if case.expected else case.expected,
        value=score.value,
        passed=score.passed,
        judgements=[judgement_shown(one) for one in score.judgements],
        error=score.error,
        message=score.message[:LONGEST],
        advice=advice_for(score.error) if score.error else "",
        latency_ms=score.latency_ms,
        tokens_in=score.tokens_in,
        tokens_out=score.tokens_out,
        cost=cost_shown(score),
        cached=score.cached,
    )


def unfinished(candidate: Candidate, case: Case, seconds: float) -> ShownTrial:
    return ShownTrial(
        candidate=candidate.name,
        case=case.position + 1,
        sent=texts_of(candidate, case, ()),
        answer="",
        is_shortened=False,
        expected=None,
        value=None,
        passed=None,
        judgements=[],
        error="unfinished",
        message=f"There was no answer within {seconds:g} seconds.",
        advice="The endpoint may be slow, busy with other runs, or pausing after failures. Look at "
        "its page under Endpoints. A call that was under way may have cost something.",
        latency_ms=None,
        tokens_in=None,
        tokens_out=None,
        cost="unknown",
        cached=False,
    )


def texts_of(candidate: Candidate, case: Case, calls: Sequence[StepCall]) -> list[ShownText]:
    """What one call was sent; of several calls what each of them answered."""
    if calls:
        return [
            ShownText(title=f"{one.step}: {one.model}", text=(one.answer or one.error)[:LONGEST])
            for one in calls
        ]
    return [
        ShownText(title=message.title, text=message.content[:LONGEST])
        for message in messages_sent(candidate, case)
    ]


def judgement_shown(one: Judgement) -> ShownJudgement:
    return ShownJudgement(name=one.name, value=one.value, passed=one.passed, told=one.told)


def cost_shown(score: Score) -> str:
    if score.unpriced_in_all:
        return "price unknown"
    return formatting.dollars(score.spent)


def bill_text(calls: int, cost: float, unpriced: int, unfinished: int, cache: str) -> str:
    """What it took, and what of that the launch need not pay again. `unfinished`: trials."""
    late = f"{formatting.counted(unfinished, 'trial')} did not end in time." if unfinished else ""
    if not calls:
        return late or "Nothing was sent: every answer is in the cache."
    told = f"{formatting.counted(calls, 'call')} sent, {formatting.dollars(cost)}"
    if unpriced:
        told += f" and {formatting.counted(unpriced, 'answer')} of unknown price"
    return f"{told}, counted as used today. {AGAIN[cache]} {late}".strip()


AGAIN = {
    "use": "The launch finds these answers in the cache and does not pay for them again.",
    "refresh": "The launch asks for them again, as its cache mode says.",
    "off": "The launch asks for them again, since its cache is off.",
}
