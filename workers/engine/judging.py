"""Has the scorers of a run judge an answer: at once, in another process, or by asking a model.

Whatever a scorer raises is its trial's failure, and of nothing else. What judges ask is noted apart
from the calls of the target.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from workers.engine.asking_apart import judge_asking_apart
from workers.engine.calling.asking import Asking, AskParts, count_calls
from workers.engine.calling.call_notes import CallNotes
from workers.engine.ending_tasks import is_being_cancelled
from workers.engine.errors import CallError, ScorerFailed
from workers.engine.judgements import checked, failure_of, judge_apart, judge_if_quick
from workers.engine.lanes import ProcessShare
from workers.engine.records import Case, Judgement, Judging, Reply, Request, Trial
from workers.engine.scorers import AnyScorer, AskingScorer, Scorer, is_ours


class Judges:
    def __init__(
        self, scorers: Sequence[AnyScorer], parts: AskParts, processes: ProcessShare
    ) -> None:
        self._scorers = scorers
        self._parts = parts
        self._processes = processes
        self._quick = [one for one in scorers if isinstance(one, Scorer) and is_ours(one)]
        self.may_be_quick = len(self._quick) == len(scorers)

    def judge(self, answer: str, case: Case) -> list[Judgement] | None:
        """At once. None if that is not possible, or might take long: it needs a hearing then.
        ScorerFailed if one of them cannot judge it."""
        if not self.may_be_quick:
            return None
        judgements = []
        for scorer in self._quick:
            judgement = judge_if_quick(scorer, answer, case)
            if judgement is None:
                return None
            judgements.append(judgement)
        return judgements

    def open(self, trial: Trial, *, past_cache: bool) -> "Hearing":
        asking = Asking(self._parts, accepted=(), past_cache=past_cache)
        return Hearing(self._scorers, trial, asking, self._processes)


class Hearing:
    """The judging of one answer, with what was asked for it."""

    def __init__(
        self,
        scorers: Sequence[AnyScorer],
        trial: Trial,
        asking: Asking,
        processes: ProcessShare,
    ) -> None:
        self._scorers = scorers
        self._trial = trial
        self._asking = asking
        self._processes = processes
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
        if isinstance(scorer, AskingScorer):
            return await self._hear_asking(scorer, answer, case)
        judgement = judge_if_quick(scorer, answer, case) if is_ours(scorer) else None
        return judgement or await judge_apart(self._processes, scorer, answer, case)

    async def _hear_asking(self, scorer: AskingScorer, answer: str, case: Case) -> Judgement:
        ask = self._notes.noting(self._asking.ask)

        async def ask_as_judge(request: Request) -> Reply:
            if not self._asking.can_reach(request.endpoint):
                told = f"asks the endpoint {request.endpoint!r}, which none of its options names."
                raise ScorerFailed(f"The scorer {scorer.own_name} {told}")
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
            if not is_ours(scorer):
                return await judge_asking_apart(self._processes, scorer, answer, case, ask_as_judge)
            return checked(scorer, await scorer.judge_by_asking(answer, case, ask_as_judge))
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if is_being_cancelled():
                raise
            raise failure_of(scorer, error) from None

    @property
    def result(self) -> Judging | None:
        """None if none of them asks."""
        if not any(scorer.asks for scorer in self._scorers):
            return None
        trace, bill = self._asking.trace, self._asking.bill
        return Judging(
            calls=self._notes.calls,
            attempts=tuple(trace),
            sent=count_calls(trace),
            cost=bill.cost,
            cost_saved=bill.saved,
            unpriced=bill.count_unpriced(trace),
        )
