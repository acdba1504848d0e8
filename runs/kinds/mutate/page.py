"""The page of a mutation: how the reward grows, what the operators do, whether it was worth it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Avg
from django.utils import timezone

from runs.forms.filters import read_whole_number
from runs.kinds.mutate.charts import (
    OperatorLine,
    RewardChart,
    SmallChart,
    draw_operators,
    draw_reward,
    draw_small,
)
from runs.kinds.mutate.comparing import failures_of, sentences_of
from runs.kinds.mutate.standing import Standing, configuration_of, mutation_of
from runs.kinds.mutate.transitions import Part, Shown, sample
from runs.kinds.scales import Scale
from runs.models import Run
from runs.selectors.limits.limits import read_slots
from workers.engine.kinds.mutate.goals import GOALS
from workers.engine.kinds.mutate.report import MutationReport, Rival, UpdateRow

MOST_ROUNDS = 50  # of the data table
MOST_FAILURES = 3  # sorts of failures that the tile names
SHARES = Scale((0.0, 1.0))
SHOWS = {"": "All", "successes": "Successes", "excluded": "Excluded"}
HELD_OUT = "held_out"  # in the address, instead of the number of an update


class Wanted(NamedTuple):
    """What the address of the page asks for."""

    update: int | None  # whose transitions are shown; None: the last one that is whole
    is_held_out: bool
    show: str

    @property
    def query(self) -> str:
        chosen = HELD_OUT if self.is_held_out else self.update
        parts = [f"update={chosen}"] if chosen else []
        parts += [f"show={self.show}"] if self.show else []
        return f"?{'&'.join(parts)}" if parts else ""


def read_wanted(given: Mapping[str, str]) -> Wanted:
    chosen, show = given.get("update", ""), given.get("show", "")
    return Wanted(read_whole_number(chosen), chosen == HELD_OUT, show if show in SHOWS else "")


class RivalLine(NamedTuple):
    """A policy on held-out queries, in percent of a picture."""

    rival: Rival
    place: float | None
    low: float | None
    width: float | None
    is_trained: bool


class Looked(NamedTuple):
    """The transitions that are shown, and which others can be."""

    transitions: list[Shown]
    part: Part
    show: str
    shows: list[tuple[str, str]]
    last: int  # the last update of which there are any

    @property
    def before(self) -> int | None:
        return self.part.update - 1 if self.part.update > 1 else None

    @property
    def after(self) -> int | None:
        return self.part.update + 1 if self.part.update < self.last else None

    @property
    def chosen(self) -> str:
        return HELD_OUT if self.part.is_held_out else str(self.part.update)


@dataclass(frozen=True)
class MutationPage:
    standing: Standing
    goal: str
    success_above: float
    reward: RewardChart | None  # None: no segment was played yet
    small: list[SmallChart]
    operators: list[OperatorLine]
    rivals: list[RivalLine]
    sentences: list[str]
    failures: list[str]
    failed_segments: int
    per_second: float | None  # transitions
    in_flight: float | None  # calls, on average
    at_once: int  # calls in training, at most: an environment makes one at a time
    looked: Looked | None  # None: there is no transition yet
    phase: str  # what is going on, in words; empty: it has ended

    @property
    def report(self) -> MutationReport:
        return self.standing.report

    @property
    def last(self) -> UpdateRow | None:
        return self.report.updates[-1] if self.report.updates else None

    @property
    def success_rate(self) -> float | None:
        return self.last.success_rate if self.last else None

    @property
    def rounds(self) -> Sequence[UpdateRow]:
        """The newest first."""
        return self.report.updates[: -MOST_ROUNDS - 1 : -1]

    @property
    def is_measured(self) -> bool:
        """Whether something of the comparison is there."""
        return any(one.rival.reward for one in self.rivals)


def mutation_page(run: Run, wanted: Wanted) -> MutationPage:
    standing, configuration = mutation_of(run), configuration_of(run)
    report, at_once = standing.report, min(read_slots(configuration), standing.environments)
    seconds = run.running_seconds(run.ended or timezone.now()) if run.started else 0.0
    return MutationPage(
        standing=standing,
        goal=GOALS[configuration.goal].summary,
        success_above=configuration.success_above,
        reward=draw_reward(report.updates) if report.updates else None,
        small=draw_small(report.updates, at_once),
        operators=draw_operators(report.operators, report.updates),
        rivals=[rival_line(one, place == 0) for place, one in enumerate(report.held_out)],
        sentences=sentences_of(report),
        failures=failures_of(report.failures)[:MOST_FAILURES],
        failed_segments=sum(row.failed for row in report.updates),
        per_second=report.transitions / seconds if seconds else None,
        in_flight=run.samples.aggregate(mean=Avg("in_flight"))["mean"],
        at_once=at_once,
        looked=look_at(run, standing, wanted),
        phase="" if run.is_finished else phase_of(standing),
    )


def phase_of(standing: Standing) -> str:
    """As in `Update 3: 12 of 16 segments`."""
    if standing.is_comparing:
        played = f"{standing.compared:,} of {standing.to_compare:,} episodes"
        return f"Training is done. The policies play held-out queries: {played}"
    if not standing.update:
        return "The first policy is being made"
    if standing.segments >= standing.environments:
        return f"Update {standing.update:,}: all segments are played, and the policy learns"
    played = f"{standing.segments:,} of {standing.environments:,} segments"
    return f"Update {standing.update:,}: {played}"


def look_at(run: Run, standing: Standing, wanted: Wanted) -> Looked | None:
    """While it goes on, of the last update that is whole: so that what somebody reads stays."""
    rows = standing.report.updates
    whole = [row for row in rows if run.is_finished or row.segments >= standing.environments]
    known = [row.update for row in whole or rows if row.segments > row.failed]
    if not known:
        return None
    is_held_out = wanted.is_held_out and standing.compared > 0
    update = wanted.update if wanted.update in known else known[-1]
    part = Part(update or known[-1], is_held_out)
    return Looked(sample(run, part, wanted.show), part, wanted.show, list(SHOWS.items()), known[-1])


def rival_line(rival: Rival, is_trained: bool) -> RivalLine:
    if rival.reward is None:
        return RivalLine(rival, None, None, None, is_trained)
    low, high = SHARES.place(rival.reward.low), SHARES.place(rival.reward.high)
    place = SHARES.place(rival.reward.value)
    return RivalLine(rival, place, low, round(high - low, 2), is_trained)
