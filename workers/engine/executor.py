"""Runs the trials of a chunk: cache, throttle, call, score. Failures become scores with errors."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from workers.engine.calling.asking import CACHE_HIT, Asking, AskParts, Known, as_cached
from workers.engine.calling.call_notes import CallNotes
from workers.engine.calling.flaws import check_whole
from workers.engine.calling.prices import Bill
from workers.engine.ending_tasks import is_being_cancelled
from workers.engine.errors import (
    CallError,
    EngineError,
    FlawedAnswer,
    Refused,
    ScorerFailed,
)
from workers.engine.judging import Judges, OwnJudging
from workers.engine.lanes import ProcessShare
from workers.engine.records import (
    JUDGED,
    Candidate,
    Case,
    Facts,
    KeptAnswer,
    Outcome,
    Reply,
    Request,
    Score,
    Slice,
    Trial,
)
from workers.engine.score_records import encode_record
from workers.engine.scorers import AnyScorer, build_scorer
from workers.engine.spec.configuration import Configuration
from workers.engine.targets import Target, TargetParts
from workers.engine.verdicts import (
    Combination,
    Use,
    Verdict,
    answer_to_keep,
    failed_score,
    good_score,
    judged_score,
    use_of,
    use_of_kept,
)

OnScore = Callable[[Score], None]
NO_FACTS = Facts()
ANSWERED = 1.0  # the value of a trial that is not judged: its answer is told to the strategy


@dataclass(frozen=True, slots=True)
class Opening:
    """A trial with its first request, ready to be looked up or sent."""

    trial: Trial
    candidate: Candidate
    case: Case
    request: Request | None  # None: only the asking will tell
    key: str
    is_anew: bool  # whatever the cache holds
    unjudged: dict[Trial, KeptAnswer]


class Executor:
    """Executes chunks of one run."""

    def __init__(
        self,
        target: Target,
        scorers: Sequence[AnyScorer],
        combination: Combination,
        parts: AskParts,
        processes: ProcessShare,
    ) -> None:
        self._target = target
        self._combination = combination
        self._parts = parts
        self._judges = Judges(scorers, parts, processes)
        # A hit is then the whole trial, and needs no task.
        self._scores_hits_at_once = target.is_one_call and self._judges.may_be_quick

    async def run(
        self, work: Slice, on_score: OnScore, hits: Mapping[str, Reply] | None = None
    ) -> None:
        """Score every trial of the chunk that has no score yet, in whatever order they end.
        `hits` are the cached replies where the caller has looked for them."""
        openings = [o for t in work.trials if (o := self._open(t, work, on_score)) is not None]
        if hits is None and self._parts.cache_mode == "use":
            wanted = [o.key for o in openings if o.key and not o.is_anew]
            hits = await self._parts.cache.get_many(wanted)
        hits = hits or {}
        async with asyncio.TaskGroup() as group:
            for opening in openings:
                hit = None if opening.is_anew else hits.get(opening.key)
                score = self._score_hit(opening, hit) if hit is not None else None
                if score is not None:
                    on_score(score)
                    continue
                group.create_task(self._run_trial(opening, on_score, hit))
            for trial in work.trials:
                if trial.position in work.kept and trial.position not in work.done:
                    group.create_task(self._judge_again(trial, work, on_score))

    def keys(self, work: Slice) -> list[str]:
        """Under what the first calls of the trials are cached; nothing where the cache is not read.
        May be called on any thread."""
        if self._parts.cache_mode != "use":
            return []
        found = [self._open(trial, work, lambda score: None) for trial in work.trials]
        return [one.key for one in found if one is not None and one.key and not one.is_anew]

    def _open(self, trial: Trial, work: Slice, on_score: OnScore) -> Opening | None:
        """Prepare a trial. One that cannot be prepared is scored as refused at once."""
        if trial.position in work.done or trial.position in work.kept:
            return None
        candidate, case = work.candidates[trial.candidate], work.cases[trial.case]
        try:
            request = self._target.opening(candidate, case, trial.repeat)
            key = self._parts.key(request) if request else ""
            is_anew = trial.position in work.anew
            return Opening(trial, candidate, case, request, key, is_anew, work.unjudged)
        except EngineError as error:
            on_score(Score(trial, error=Refused.name, message=str(error)))
            return None

    async def _run_trial(self, opening: Opening, on_score: OnScore, hit: Reply | None) -> None:
        request, trial = opening.request, opening.trial
        known = Known(request, opening.key, hit) if request else None
        has_steps = not self._target.is_one_call
        accepted = self._parts.accepted if has_steps else None
        asking = Asking(self._parts, known, accepted=accepted, past_cache=opening.is_anew)
        notes = CallNotes(asking.bill) if has_steps else None
        judging = OwnJudging(self._parts, notes.noting(asking.ask)) if notes else None
        try:
            found = await self._target.answer(
                request,
                opening.candidate,
                opening.case,
                trial.repeat,
                judging.ask if judging else asking.ask,
            )
        except FlawedAnswer as error:  # of a step: its time and tokens are not those of the trial
            failed = failed_score(trial, error, use_of(asking.trace, asking.bill))
            score = replace(failed, answer=error.reply.text, truncated=error.reply.truncated)
        except CallError as error:
            score = failed_score(trial, error, use_of(asking.trace, asking.bill))
        except (SystemExit, asyncio.CancelledError) as error:
            if is_being_cancelled():
                raise
            # The one would end the worker, the other leave the trial without a score.
            raise RuntimeError(f"The target raised {error!r}.") from error
        else:
            use = use_of(asking.trace, asking.bill)
            if notes:
                use["calls"] = notes.calls
            score = await self._score(opening, found, use)
        if notes and judging:
            score = replace(score, calls=notes.calls, judging=judging.result or score.judging)
        on_score(score)

    def _score_hit(self, opening: Opening, reply: Reply) -> Score | None:
        """None if it takes more than the answer, or judging it takes time."""
        if not self._scores_hits_at_once:
            return None
        hit = as_cached(reply)
        bill = Bill(self._parts.prices)
        assert opening.request is not None  # it was looked up
        bill.add(opening.request, hit)
        return self._score_at_once(opening, hit, use_of([CACHE_HIT], bill))

    async def _judge_again(self, trial: Trial, work: Slice, on_score: OnScore) -> None:
        """Past the cache where judging it failed: what the judge said may be why."""
        kept = work.kept[trial.position]
        candidate, case = work.candidates[trial.candidate], work.cases[trial.case]
        opening = Opening(trial, candidate, case, None, "", False, work.unjudged)
        use, has_failed = use_of_kept(kept), kept.is_counted
        on_score(await self._score(opening, kept.reply, use, past_cache=has_failed))

    async def _score(
        self, opening: Opening, found: Reply | Outcome, use: Use, *, past_cache: bool = False
    ) -> Score:
        score = self._score_at_once(opening, found, use)
        if score is not None:
            return score
        hearing = self._judges.open(opening.trial, past_cache=past_cache)
        reply = found.reply if isinstance(found, Outcome) else found
        opening.unjudged[opening.trial] = answer_to_keep(reply, use)
        try:
            facts = self._facts(reply, use)
            judgements = await hearing.judge(reply.text, opening.case, facts)
        except CallError as error:
            use["judging"] = hearing.result
            del opening.unjudged[opening.trial]
            return failed_score(opening.trial, error, use, reply, is_unjudged=True)
        use["judging"] = hearing.result
        del opening.unjudged[opening.trial]
        return judged_score(opening.trial, judgements, self._combination, reply, use)

    def _score_at_once(self, opening: Opening, found: Reply | Outcome, use: Use) -> Score | None:
        """None if judging it takes time."""
        outcome = found if isinstance(found, Outcome) else Outcome(found)
        begun = self._score_without_scorers(opening, outcome, use)
        if begun is not None:
            return begun
        reply = outcome.reply
        try:
            facts = self._facts(reply, use)
            judgements = self._judges.judge(reply.text, opening.case, facts)
        except CallError as error:
            return failed_score(opening.trial, error, use, reply, is_unjudged=True)
        if judgements is None:
            return None
        return judged_score(opening.trial, judgements, self._combination, reply, use)

    def _facts(self, reply: Reply, use: Use) -> Facts:
        """What the answer took. Most runs have no scorer that asks for it."""
        if not self._judges.want_facts:
            return NO_FACTS
        return Facts(reply.latency_ms, use["full_cost"])

    def _score_without_scorers(self, opening: Opening, outcome: Outcome, use: Use) -> Score | None:
        """Where the target gave a value itself, the answer is only told to the strategy, or cannot
        be judged. None: it is the scorers' turn; the record is in `use`."""
        reply = outcome.reply
        try:
            if outcome.record is not None:
                use["record"] = encode_record(outcome.record)
            if outcome.value is not None:
                verdict = Verdict(checked_value(outcome.value), outcome.passed)
                return good_score(opening.trial, verdict, reply, use)
            parameters = opening.request.body if opening.request else {}
            check_whole(reply, self._parts.accepted, parameters)
        except CallError as error:
            use.pop("record", None)
            return failed_score(opening.trial, error, use, reply)
        if opening.candidate.role not in JUDGED:
            return good_score(opening.trial, Verdict(ANSWERED, None), reply, use)
        return None


def executor_of(configuration: Configuration, parts: AskParts, target: TargetParts) -> Executor:
    scorers = [build_scorer(scorer.name, scorer.options) for scorer in configuration.scorers]
    combination = Combination(
        tuple(scorer.counts for scorer in scorers), needs_all=configuration.combine == "all"
    )
    return Executor(configuration.target(target), scorers, combination, parts, target.processes)


def checked_value(value: float) -> float:
    if not math.isfinite(value):
        raise ScorerFailed(f"The target gave the value {value}. A score is a finite number.")
    return float(value)
