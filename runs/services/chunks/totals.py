"""Keeps the running totals of a run, its candidates and its seconds in step with its scores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import NamedTuple, Protocol

from runs.models import Candidate, Run, RunSample
from workers.engine.errors import RateLimited
from workers.engine.records import EVALUATE, JOINED, Attempt, Score
from workers.engine.statistics.intervals import add_to_bins, merge_bins


class Scored(Protocol):
    """What is counted of a score, fresh from a worker or stored."""

    @property
    def value(self) -> float | None: ...
    @property
    def cached(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def tokens_in(self) -> int | None: ...
    @property
    def tokens_out(self) -> int | None: ...
    @property
    def latency_ms(self) -> float | None: ...


@dataclass
class Tally:
    """What a run and a candidate count alike: fields of the same names in both models.

    Only latencies differ. A run shows how its calls go, so it counts those that it made; candidates
    are compared, so a cached answer counts with the latency of its original call.
    """

    role: str = EVALUATE
    done: int = 0
    failed: int = 0
    cached: int = 0
    truncated: int = 0
    scored: int = 0
    value_sum: float = 0.0
    value_square_sum: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    latency_bins: dict[str, int] = field(default_factory=dict)
    called_bins: dict[str, int] = field(default_factory=dict)

    def add(self, score: Scored) -> None:
        self.done += 1
        self.tokens_in += score.tokens_in or 0
        self.tokens_out += score.tokens_out or 0
        self.truncated += score.truncated
        if score.value is None:
            self.failed += 1
            return
        self.scored += 1
        self.cached += score.cached
        self.value_sum += score.value
        self.value_square_sum += score.value**2
        if score.latency_ms is not None:
            add_to_bins(self.latency_bins, score.latency_ms)
            if not score.cached:
                add_to_bins(self.called_bins, score.latency_ms)

    def add_to(self, totals: Run | Candidate) -> None:
        self._change(totals, 1)

    def take_from(self, totals: Run | Candidate) -> None:
        """Scores were taken out, to be run again."""
        self._change(totals, -1)

    def _change(self, totals: Run | Candidate, sign: int) -> None:
        if isinstance(totals, Run) and self.role != EVALUATE:
            self._change_role(totals, sign)
            return
        for name in self.names():
            if name != "latency_bins":
                setattr(totals, name, getattr(totals, name) + sign * getattr(self, name))
        bins = self.called_bins if isinstance(totals, Run) else self.latency_bins
        merge_bins(totals.latency_bins, bins, sign)

    def _change_role(self, run: Run, sign: int) -> None:
        """Of the run's own columns only tokens and latencies are of all roles."""
        merge_bins(run.latency_bins, self.called_bins, sign)
        tokens_in, tokens_out = sign * self.tokens_in, sign * self.tokens_out
        run.tokens_in += tokens_in
        run.tokens_out += tokens_out
        counts = RoleCounts(
            done=sign * self.done,
            failed=sign * self.failed,
            cached=sign * self.cached,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
        )
        add_to_role(run, self.role, counts)

    @classmethod
    def names(cls) -> list[str]:
        return [one.name for one in fields(cls) if one.name not in {"role", "called_bins"}]


class RoleCounts(NamedTuple):
    """What a run counts of each role but `evaluate`, whose numbers are the run's own columns."""

    done: int = 0
    failed: int = 0
    sent: int = 0  # it and the cost stay when a trial is retried: they were paid
    cached: int = 0
    cost: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0


def add_to_role(run: Run, role: str, counts: RoleCounts, **more: float) -> None:
    """Under the lock on the run's row. The caller saves `by_role`, and adds to the run's own
    columns what they count of all roles."""
    sums = run.by_role.setdefault(role, RoleCounts()._asdict())
    for name, count in {**counts._asdict(), **more}.items():
        sums[name] = sums.get(name, 0) + count


@dataclass
class RunTally:
    """What a run counts of its calls, and only a run; fields of the same names in the model."""

    calls_sent: int = 0
    calls_retried: int = 0
    calls_throttled: int = 0
    calls_joined: int = 0
    cost: float = 0.0
    cost_saved: float = 0.0
    unpriced: int = 0

    def add(self, score: Score) -> None:
        if score.is_kept:
            return  # it was counted when it came
        self.calls_sent += score.calls_sent
        self.calls_retried += count_retries(score)
        self.add_use(score.cost, score.cost_saved, score.unpriced, score.attempts)

    def add_use(
        self, cost: float | None, saved: float, unpriced: int, attempts: Iterable[Attempt]
    ) -> None:
        self.cost += cost or 0.0
        self.cost_saved += saved
        self.unpriced += unpriced
        for attempt in attempts:
            self.calls_joined += attempt.what == JOINED
            self.calls_throttled += attempt.what == "call" and attempt.outcome == RateLimited.name

    def add_to(self, run: Run, role: str) -> None:
        for name in RUN_COUNTS:
            setattr(run, name, getattr(run, name) + getattr(self, name))
        if role != EVALUATE:
            add_to_role(run, role, RoleCounts(sent=self.calls_sent, cost=self.cost))


def count_retries(score: Score) -> int:
    """Calls beyond the first for each answer wanted: a trial may want several."""
    if score.calls_sent < 2:
        return 0
    if score.calls:  # of a pipeline: it may go on after one that failed
        return max(0, score.calls_sent - sum(not call.cached for call in score.calls))
    return score.calls_sent - 1


RUN_COUNTS = [one.name for one in fields(RunTally)]
ROW_BYTES = 400  # of a score beside its answer, about
USED = ["cost_day", "cost_before_day", "stored_bytes"]  # of the owner's quota
TALLIED = [*Tally.names(), "by_role"]  # of a run


def tally_by_candidate(found: Iterable[tuple[int, str, Scored]]) -> dict[int, Tally]:
    """Counted once, for the candidates and, added up, for the run. Each score comes with the id
    and the role of its candidate."""
    tallies: dict[int, Tally] = {}
    for candidate_id, role, score in found:
        tally = tallies.get(candidate_id)
        if tally is None:
            tally = tallies[candidate_id] = Tally(role)
        tally.add(score)
    return tallies


def tally_calls(found: Iterable[tuple[str, Score]]) -> dict[str, RunTally]:
    """By role."""
    tallies: dict[str, RunTally] = {}
    for role, score in found:
        tally = tallies.get(role)
        if tally is None:
            tally = tallies[role] = RunTally()
        tally.add(score)
    return tallies


def add_to_run(
    run: Run, tallies: Mapping[int, Tally], calls: Mapping[str, RunTally], in_flight: int
) -> None:
    for tally in tallies.values():
        tally.add_to(run)
    for role, of_calls in calls.items():
        of_calls.add_to(run, role)
    run.peak_in_flight = max(run.peak_in_flight, in_flight)
    run.version += 1
    run.save(update_fields=[*TALLIED, *RUN_COUNTS, *USED, "peak_in_flight", "version"])


def begin_day(run: Run, today: date) -> None:
    """Before the first cost of a day is added: what was spent on it is the difference."""
    if run.cost_day != today:
        run.cost_day, run.cost_before_day = today, run.cost


def add_stored(run: Run, scores: Iterable[Score]) -> None:
    """A retry counts again: of what failed there is hardly anything to store."""
    for score in scores:
        run.stored_bytes += ROW_BYTES + len(score.answer) + len(score.record or b"")


def add_to_candidates(tallies: Mapping[int, Tally]) -> None:
    for candidate in Candidate.objects.filter(pk__in=list(tallies)):
        tallies[candidate.pk].add_to(candidate)
        candidate.save(update_fields=Tally.names())


def add_to_sample(run: Run, scores: Iterable[Score], in_flight: int) -> None:
    """Add to the second we are in, by the database's clock. Pauses are not on the chart."""
    if run.started is None or run.is_finished:
        return
    seconds = run.running_seconds(run.clock)  # type: ignore[attr-defined]  # by the caller
    second = int(seconds)
    known = RunSample.objects.filter(run=run, second=second).first()  # the caller locks the run
    sample = known or RunSample(run=run, second=second)
    for score in scores:
        if score.value is None:
            sample.failed += 1
        elif score.cached:
            sample.cached += 1
        else:
            sample.fresh += 1
            if score.latency_ms is not None:
                add_to_bins(sample.latency_bins, score.latency_ms)
    sample.in_flight = max(sample.in_flight, in_flight)
    sample.save()
