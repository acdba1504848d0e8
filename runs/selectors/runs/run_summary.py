"""A run in numbers, for programs: what the API answers, in a fixed number of queries."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils import timezone
from pydantic import BaseModel

from runs.kinds import kind_of
from runs.models import Run, RunSample, RunState
from runs.selectors.gates import GateAnswer, gate_answer, gate_of
from runs.selectors.limits.calls_now import read_now
from runs.selectors.limits.limited_by import LimitedBy, limit_of
from runs.selectors.limits.limits import WAITING
from runs.selectors.limits.rates import mean_rate, read_newest
from runs.selectors.pickable import Pickable
from runs.selectors.runs.best_candidates import Leader, find_leaders
from runs.selectors.runs.confirmation import ConfirmationFacts, held_out_of
from runs.selectors.runs.events import list_advice
from runs.selectors.runs.organised import tags_of
from runs.selectors.runs.ran_on import RanOn, ran_on
from runs.selectors.runs.run_list import RunRow, describe_one, own_headlines
from runs.selectors.runs.trial_roles import RoleLine, role_lines
from workers.engine.records import EVALUATE
from workers.engine.statistics.intervals import percentile

SAMPLED_SECONDS = 5  # how old the newest sample may be to tell what is in flight


class Counts(BaseModel):
    """Trials that evaluate; `roles` of the run has those of other roles."""

    planned: int
    done: int
    ok: int
    failed: int
    cached: int
    in_flight: int
    waiting: int


class ScoreSummary(BaseModel):
    """Of the best candidate: the mean with its 95 % interval, over its trials that have a score.
    `value_failures_wrong` counts its failed trials as wrong; null where a score is a reward, as in
    runs of kind mutate and rollout. `failed_share` is that of the whole run."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    failed_share: float | None
    value_failures_wrong: float | None


class Rates(BaseModel):
    """Trials a second: just now (at least the last 5 seconds and the last 10 answers), null while
    it is paused or waits, or the mean when it is over. Latencies in milliseconds, of the calls
    made in this run: cached answers do not count."""

    trials_per_second: float | None
    cache_hit_rate: float | None
    latency_p50: float | None
    latency_p95: float | None


class RoleCalls(BaseModel):
    """Of trials of one role, or of the judges; dollars, as far as prices are known."""

    sent: int
    cost: float


class CallCounts(BaseModel):
    sent: int
    retried: int
    throttled: int
    saved: int
    by_role: dict[str, RoleCalls]


class Best(BaseModel):
    """The candidate that stands first if failed trials count as wrong. Of a choice: null until it
    is decided, then what its strategy chose, with failures counted as wrong."""

    candidate: str
    name: str
    value: float
    low: float
    high: float
    n: int


class RunSummary(Pickable):
    id: int
    name: str
    owner: str
    shared: bool  # with everybody on this site
    team: str | None  # whose members see it, too
    tags: list[str]
    starred: bool | None  # by whoever asks; null where nobody does, as in a webhook
    kind: str
    state: RunState
    reason: str
    dataset: str
    counts: Counts
    score: ScoreSummary
    rates: Rates
    calls: CallCounts
    limited_by: LimitedBy | None
    roles: dict[str, RoleLine]  # by role, where not all trials evaluate; else empty
    cost: float | None  # dollars; null: the price of no answer is known
    eta_seconds: float | None
    best: Best | None
    peak_in_flight: int
    created: datetime
    started: datetime | None
    ended: datetime | None
    archived: datetime | None  # since then out of lists
    remove_after: datetime | None  # of a deleted one: until then it can be brought back


class RunDetail(RunSummary):
    """One run, also with what it is a run of, what it ran on, and of which run it reran which
    trials."""

    note: str
    configuration: str | None  # the stored one that it is a run of
    configuration_version: int | None
    gate: GateAnswer | None  # what its configuration asked of it, and whether it holds
    rerun_of: int | None
    rerun_what: str
    ran_on: RanOn
    advice: list[str]  # what was seen to slow it down, and what a person could do about it
    confirmation: ConfirmationFacts | None  # of the best, where the run holds cases out


def run_detail(run: Run) -> RunDetail:
    (found,) = summarise([run])
    held_out = held_out_of(run)
    confirmation = held_out.confirmation if held_out else None
    return RunDetail(
        **found.model_dump(),
        note=run.note,
        configuration=run.configuration.name if run.configuration else None,
        configuration_version=run.configuration_version,
        gate=gate_answer(gate_of(run)) if run.configuration_version else None,
        rerun_of=run.rerun_of_id,
        rerun_what=run.rerun_what,
        ran_on=ran_on(run),
        advice=list_advice(run),
        confirmation=confirmation.as_facts() if confirmation else None,
    )


def summarise(runs: Sequence[Run]) -> list[RunSummary]:
    """In the order given. The runs come with their datasets, owners and teams."""
    now = timezone.now()
    calls = read_now(runs)
    newest, flying, best = read_newest(runs, now), read_in_flight(runs, now), find_leaders(runs)
    scores = own_headlines(runs)
    return [
        summary_of(
            describe_one(
                run, newest.get(run.pk, ()), now, best.get(run.pk), scores.get(run.pk)
            )._replace(tags=tags_of(run)),
            in_flight_of(run, flying.get(run.pk, 0)),
            best.get(run.pk),
            limit_of(run, calls.get(run.pk)),
            now,
        )
        for run in runs
    ]


def summary_of(
    row: RunRow,
    in_flight: int,
    best: Leader | None,
    limited_by: LimitedBy | None,
    now: datetime,
) -> RunSummary:
    run = row.run
    return RunSummary(
        id=run.pk,
        name=run.name,
        owner=run.owner.get_username(),
        shared=run.is_shared,
        team=run.team.name if run.team else None,
        tags=list(row.tags),
        starred=getattr(run, "is_starred", None),
        kind=run.kind,
        state=RunState(run.state),
        reason=run.reason,
        dataset=f"{run.dataset.name}@{run.dataset.version}",
        counts=counts_of(run, in_flight),
        score=score_of(row),
        rates=Rates(
            trials_per_second=row.rate,
            cache_hit_rate=row.cached_share,
            latency_p50=percentile(run.latency_bins, 0.5),
            latency_p95=percentile(run.latency_bins, 0.95),
        ),
        calls=CallCounts(
            sent=run.calls_sent,
            retried=run.calls_retried,
            throttled=run.calls_throttled,
            saved=run.cached,
            by_role=calls_by_role(run),
        ),
        limited_by=limited_by,
        roles=role_lines(run),
        cost=None if run.unpriced and not run.cost else run.cost,
        eta_seconds=eta_of(run, row.rate, now),
        best=best_of(best),
        peak_in_flight=run.peak_in_flight,
        created=run.created,
        started=run.started,
        ended=run.ended,
        archived=run.archived,
        remove_after=run.remove_after,
    )


def calls_by_role(run: Run) -> dict[str, RoleCalls]:
    found = role_lines(run) or {EVALUATE: RoleLine(sent=run.calls_sent, cost=run.cost)}
    return {role: RoleCalls(sent=line.sent, cost=line.cost) for role, line in found.items()}


def counts_of(run: Run, in_flight: int) -> Counts:
    return Counts(
        planned=run.planned,
        done=run.done,
        ok=run.scored,
        failed=run.failed,
        cached=run.cached,
        in_flight=in_flight,
        waiting=max(0, run.planned - run.done - in_flight),
    )


def score_of(row: RunRow) -> ScoreSummary:
    found = row.score
    return ScoreSummary(
        value=found.value if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        n=found.n if found else 0,
        failed_share=row.failed_share,
        value_failures_wrong=value_failures_wrong(row),
    )


def value_failures_wrong(row: RunRow) -> float | None:
    if not kind_of(row.run).can_be_wrong or row.best is None:
        return None
    return row.best.value_sum / row.best.done


def eta_of(run: Run, rate: float | None, now: datetime) -> float | None:
    """None while nobody can tell: nothing is done yet, or it waits for somebody."""
    is_going = run.state in RunState.going() and not run.reason.startswith(WAITING)
    speed = rate or mean_rate(run, now)
    if not is_going or not run.done or not speed:
        return None
    return (run.planned - run.done) / speed


def read_in_flight(runs: Iterable[Run], now: datetime) -> Mapping[int, int]:
    """As sampled last, a few seconds ago at most; one question for all runs that go on."""
    windows = [
        Q(run_id=run.pk, second__gte=run.running_seconds(now) - SAMPLED_SECONDS)
        for run in runs
        if run.started and not run.is_finished
    ]
    if not windows:
        return {}
    samples = RunSample.objects.filter(reduce(or_, windows)).order_by("second")
    return dict(samples.values_list("run_id", "in_flight"))  # the newest stays


def in_flight_of(run: Run, sampled: int) -> int:
    """Nothing flies in a run that is over or paused."""
    if run.is_finished or run.state == RunState.PAUSED:
        return 0
    return min(sampled, run.planned - run.done)


def best_of(leader: Leader | None) -> Best | None:
    candidate, found = leader or (None, None)
    if candidate is None or found is None:
        return None
    return Best(
        candidate=candidate.key,
        name=candidate.name,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
    )
