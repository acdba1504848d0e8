"""Has the scorers of a run judge an answer: at once, or by asking a model.

Whatever a scorer raises is its trial's failure, and of nothing else. What judges ask is noted apart
from the calls of the target.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from workers.engine.calling.asking import Asking, AskParts, count_calls
from workers.engine.calling.call_notes import CallNotes
from workers.engine.ending_tasks import is_being_cancelled
from workers.engine.errors import CallError, ScorerFailed
from workers.engine.providers.answers import clean_text
from workers.engine.records import Case, Judgement, Judging, Reply, Request, Trial
from workers.engine.scorers import AnyScorer, AskingScorer, BaseScorer, Scorer

LONGEST_MESSAGE = 400  # characters of what went wrong


class Judges:
    def __init__(self, scorers: Sequence[AnyScorer], parts: AskParts) -> None:
        self._scorers = scorers
        self._parts = parts
        self._quick = [scorer for scorer in scorers if isinstance(scorer, Scorer)]
        self.ask = len(self._quick) < len(scorers)

    def judge(self, answer: str, case: Case) -> list[Judgement]:
        """Where nobody asks. ScorerFailed if one of them cannot judge it."""
        return [judge_at_once(scorer, answer, case) for scorer in self._quick]

    def open(self, trial: Trial, *, past_cache: bool) -> "Hearing":
        asking = Asking(self._parts, accepted=(), past_cache=past_cache)
        return Hearing(self._scorers, trial, asking)


class Hearing:
    """The judging of one answer, with what was asked for it."""

    def __init__(self, scorers: Sequence[AnyScorer], trial: Trial, asking: Asking) -> None:
        self._scorers = scorers
        self._trial = trial
        self._asking = asking
        self._notes = CallNotes(asking.bill)
        self._broken: Exception | None = None

    async def judge(self, answer: str, case: Case) -> list[Judgement]:
        """In the order of the scorers. When one fails, the others' calls are waited for: they are
        paid."""
        found = await asyncio.gather(
            *(self._hear(scorer, answer, case) for scorer in self._scorers),
            return_exceptions=True,
        )
        if self._broken is not None:
            raise self._broken
        judgements = []
        for one in found:
            if isinstance(one, BaseException):
                raise one
            judgements.append(one)
        return judgements

    async def _hear(self, scorer: AnyScorer, answer: str, case: Case) -> Judgement:
        if not isinstance(scorer, AskingScorer):
            return judge_at_once(scorer, answer, case)
        ask = self._notes.noting(self._asking.ask)

        async def ask_as_judge(request: Request) -> Reply:
            try:
                return await ask(
                    replace(request, candidate=self._trial.candidate, step=scorer.own_name)
                )
            except CallError:
                raise
            except Exception as error:  # the cache's database is away: no judge's fault
                self._broken = error
                raise

        try:
            return checked(scorer, await scorer.judge_by_asking(answer, case, ask_as_judge))
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if is_being_cancelled():
                raise
            raise failure_of(scorer, error) from None

    @property
    def result(self) -> Judging:
        trace, bill = self._asking.trace, self._asking.bill
        return Judging(
            calls=self._notes.calls,
            attempts=tuple(trace),
            sent=count_calls(trace),
            cost=bill.cost,
            cost_saved=bill.saved,
            unpriced=bill.count_unpriced(trace),
        )


def judge_at_once(scorer: Scorer, answer: str, case: Case) -> Judgement:
    try:
        return scorer.judge(answer, case)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a scorer's failure is data
        raise failure_of(scorer, error) from None


def checked(scorer: AskingScorer, judgement: object) -> Judgement:
    """What it made of a model's words must not spoil the counters of the run."""
    who = f"The scorer {scorer.own_name}"
    if not isinstance(judgement, Judgement):
        raise ScorerFailed(f"{who} gave {type(judgement).__name__}, no verdict.")
    if not 0 <= judgement.value <= 1:  # nor is NaN
        raise ScorerFailed(f"{who} gave {judgement.value}. A score is a number from 0 to 1.")
    return judgement


def failure_of(scorer: BaseScorer, error: BaseException) -> CallError:
    if isinstance(error, MemoryError):
        raise error  # the whole process is in trouble, and its supervisor must know
    if isinstance(error, ScorerFailed):
        return error
    what = error.name.replace("_", " ") if isinstance(error, CallError) else type(error).__name__
    told = f"The scorer {scorer.own_name} failed: {what}: {error}"[:LONGEST_MESSAGE]
    return ScorerFailed(clean_text(told))
