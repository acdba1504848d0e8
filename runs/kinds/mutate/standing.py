"""What a mutation has come to: from its policies and the scores that are stored, at any time."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db.models import Max, Q

from runs.kinds.warm import Warm, standing_of
from runs.models import Candidate, Run
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import configuration_now
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.report import (
    MutationReport,
    PolicyFacts,
    SegmentScore,
    report_of,
)
from workers.engine.kinds.mutate.training import HELD_OUT
from workers.engine.records import EVALUATE
from workers.engine.statistics.intervals import Estimate, estimate_mean

LAST_UPDATES = 3  # that the headline is the mean of: one alone is a matter of luck
FACTS = ("key", "name", "role", "document__update", "document__weights", "document__learned")
STEPS = "document__rules__num_steps"
COUNTERS = ("role", "done", "scored", "value_sum", "value_square_sum")


class Tally(NamedTuple):
    """Of the segments that one policy played."""

    role: str
    done: int
    scored: int
    total: float
    squares: float


class Standing(NamedTuple):
    report: MutationReport
    environments: int  # segments of an update
    update: int  # the one under way, or the last one; 0: nothing was planned yet
    segments: int  # of it that are done
    latest: Estimate | None  # the mean reward of the last updates, over their segments
    latest_updates: int
    to_compare: int  # episodes on held-out queries that there will be
    compared: int  # of them that are done

    @property
    def is_comparing(self) -> bool:
        return bool(self.report.held_out) and self.to_compare > 0


def configuration_of(run: Run) -> Mutation:
    configuration = configuration_now(run)
    assert isinstance(configuration, Mutation)  # the caller has looked at the kind
    return configuration


def mutation_of(run: Run) -> Standing:
    return _standings.of(run)


def make_standing(run: Run) -> Standing:
    configuration = configuration_of(run)
    segments = segments_of(run)  # before the policies: there is none of a policy that is not known
    rows = run.candidates.order_by("position").values_list("pk", *COUNTERS)
    tallies = {pk: Tally(*counters) for pk, *counters in rows}
    policies = policies_of(run, tallies)
    count, took = configuration.options.count_updates, seconds_of(run)
    report = report_of(policies, segments, count, took)
    training = [one for one in tallies.values() if one.role == EVALUATE]
    latest = last_updates(training, configuration.options.num_processes, run.is_finished)
    return Standing(
        report=report,
        environments=configuration.options.num_processes,
        update=len(training),
        segments=training[-1].done if training else 0,
        latest=pooled(latest),
        latest_updates=len(latest),
        to_compare=configuration.count_confirming(len(positions_of(run))),
        compared=sum(one.done for one in tallies.values() if one.role == HELD_OUT),
    )


def policies_of(run: Run, stored: Mapping[int, object]) -> list[PolicyFacts]:
    """In the order of their birth. A policy never changes, and its document is long, so that only
    those are read that were born since."""
    known = _policies.of(run)
    newest = max(known, default=0)
    rows = run.candidates.filter(pk__gt=newest).values_list("pk", *FACTS, STEPS)
    known |= {pk: PolicyFacts(*facts) for pk, *facts in rows}
    return [known[pk] for pk in stored if pk in known]


def seconds_of(run: Run) -> dict[str, float]:
    """What each update took, by the key of its policy: from the last segment of the one before it
    to its own last one, pauses included."""
    rows = run.scores.filter(candidate__role=EVALUATE).order_by("candidate__position")
    ends = rows.values_list("candidate__key", "candidate__position").annotate(Max("finished"))
    begun, found = run.started, {}
    for key, _, ended in ends:
        if begun is not None and ended > begun:
            found[key] = (ended - begun).total_seconds()
        begun = ended
    return found


def segments_of(run: Run) -> list[SegmentScore]:
    names = ("candidate__key", "case_id", "value", "answer")
    rows = run.scores.order_by("position").values_list(*names)
    return [SegmentScore(*row) for row in rows.iterator(chunk_size=2000)]


def last_updates(training: Sequence[Tally], environments: int, is_finished: bool) -> list[Tally]:
    """Those that are whole; of a run that was stopped also the one that it stopped in."""
    whole = [one for one in training if one.done >= (1 if is_finished else environments)]
    return whole[-LAST_UPDATES:]


def pooled(tallies: Sequence[Tally]) -> Estimate | None:
    scored = sum(one.scored for one in tallies)
    total = sum(one.total for one in tallies)
    return estimate_mean(scored, total, sum(one.squares for one in tallies))


def headlines(runs: Sequence[Run]) -> dict[int, Estimate]:
    """What lists show, in two questions for all: on held-out queries where the comparison has
    begun, else of the last updates."""
    if not runs:
        return {}
    trained = Candidate.objects.filter(run__in=runs, scored__gt=0)
    names = ("run_id", "position", *COUNTERS)
    first: dict[int, list[Tally]] = {}
    for run_id, _, *counters in (
        trained.filter(role=HELD_OUT).order_by("position").values_list(*names)
    ):
        first.setdefault(run_id, [Tally(*counters)])  # what was trained stands first
    rest = trained.filter(role=EVALUATE, run__in=[run for run in runs if run.pk not in first])
    newest = dict(rest.values_list("run_id").annotate(Max("position")).order_by())
    if newest:
        near = [Q(run=pk, position__gt=last - LAST_UPDATES) for pk, last in newest.items()]
        for run_id, _, *counters in rest.filter(reduce(or_, near)).values_list(*names):
            first.setdefault(run_id, []).append(Tally(*counters))
    found = {run_id: pooled(tallies) for run_id, tallies in first.items()}
    return {run_id: one for run_id, one in found.items() if one is not None}


def nothing_known(run: Run) -> dict[int, PolicyFacts]:
    return {}


_standings = Warm(make_standing, standing_of)
_policies = Warm(nothing_known)
