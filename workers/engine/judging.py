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
from workers.engine.records import (
    JUDGE,
    Case,
    Facts,
    Judgement,
    Judging,
    Reply,
    Request,
    Trial,
)
from workers.engine.scorers import AnyScorer, AskingScorer, PostingScorer, Scorer, is_ours
from workers.engine.scorers.base import Ask, Post


class Judges:
    def __init__(
        self, scorers: Sequence[AnyScorer], parts: AskParts, processes: ProcessShare
    ) -> None:
        self._scorers = scorers
        self._parts = parts
        self._processes = processes
        self._quick = [one for one in scorers if isinstance(one, Scorer) and is_ours(one)]
        self.may_be_quick = len(self._quick) == len(scorers)
        self.want_facts = any(scorer.wants_facts for scorer in scorers)

    def judge(self, answer: str, case: Case, facts: Facts) -> list[Judgement] | None:
        """At once. None if that is not possible, or might take long: it needs a hearing then.
        ScorerFailed if one of them cannot judge it."""
        if not self.may_be_quick:
            return None
        judgements = []
        for scorer in self._quick:
            judgement = judge_if_quick(scorer, answer, case, facts)
            if judgement is None:
                return None
            judgements.append(judgement)
        return judgements

    def open(self, trial: Trial, *, past_cache: bool) -> "Hearing":
        asking = Asking(self._parts, accepted=(), past_cache=past_cache)
        return Hearing(self._scorers, trial, asking, self._processes, self._parts.outside.post)


class Hearing:
    """The judging of one answer, with what was asked for it."""

    def __init__(
        self,
        scorers: Sequence[AnyScorer],
        trial: Trial,
        asking: Asking,
        processes: ProcessShare,
        post: Post,
    ) -> None:
        self._scorers = scorers
        self._trial = trial
        self._post = post
        self._asking = asking
        self._processes = processes
        self._notes = CallNotes(asking.bill)
        self._broken: Exception | None = None

    async def judge(self, answer: str, case: Case, facts: Facts) -> list[Judgement]:
        """In the order of the scorers. When one fails, the others' calls are waited for: they are
        paid."""
        found = await asyncio.gather(
            *(self._hear(scorer, answer, case, facts) for scorer in self._scorers),
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

    async def _hear(self, scorer: AnyScorer, answer: str, case: Case, facts: Facts) -> Judgement:
        if isinstance(scorer, AskingScorer):
            return await self._hear_asking(scorer, answer, case)
        if isinstance(scorer, PostingScorer):
            return await self._hear_posting(scorer, answer, case)
        judgement = judge_if_quick(scorer, answer, case, facts) if is_ours(scorer) else None
        return judgement or await judge_apart(self._processes, scorer, answer, case, facts)

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

    async def _hear_posting(self, scorer: PostingScorer, answer: str, case: Case) -> Judgement:
        try:
            return checked(scorer, await scorer.judge_by_posting(answer, case, self._post))
        except Exception as error:  # noqa: BLE001 - a scorer's failure is data
            raise failure_of(scorer, error) from None

    @property
    def result(self) -> Judging | None:
        """None if none of them asks."""
        if not any(scorer.asks for scorer in self._scorers):
            return None
        return judging_of(self._asking, self._notes)


def judging_of(asking: Asking, notes: CallNotes) -> Judging:
    trace, bill = asking.trace, asking.bill
    return Judging(
        calls=notes.calls,
        attempts=tuple(trace),
        sent=count_calls(trace),
        cost=bill.cost,
        cost_saved=bill.saved,
        unpriced=bill.count_unpriced(trace),
    )


class OwnJudging:
    """The calls of a target that judges on its way, apart from its others: their role says which
    they are."""

    def __init__(self, parts: AskParts, ask: Ask) -> None:
        self._others = ask
        self._asking = Asking(parts, accepted=())
        self._notes = CallNotes(self._asking.bill)
        self._ask = self._notes.noting(self._asking.ask)

    async def ask(self, request: Request) -> Reply:
        return await (self._ask if request.role == JUDGE else self._others)(request)

    @property
    def result(self) -> Judging | None:
        """None if it did not judge."""
        return judging_of(self._asking, self._notes) if self._notes.calls else None
