"""The best candidate of each run, whose score is the run's, in few questions for many runs."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import (
    Case,
    F,
    FloatField,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
    Window,
)
from django.db.models.functions import Cast

from runs.kinds import choosing_kinds, kind_of
from runs.models import Candidate, Run, RunState
from runs.selectors.runs.board_figures import figures_of, stored_scores
from workers.engine.records import EVALUATE
from workers.engine.statistics.boards import RANKED_SHARE
from workers.engine.statistics.clusters import estimate_widely
from workers.engine.statistics.intervals import Estimate

DECIDED = (RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS)


class Leader(NamedTuple):
    candidate: Candidate
    score: Estimate | None


def find_leaders(runs: Sequence[Run]) -> dict[int, Leader]:
    """As the boards of ended runs say; of others by their counters. A kind that chooses has no
    leader before it is decided, since its candidates saw different cases until then."""
    found = {
        run_id: Leader(figures.best, figures.estimate)
        for run_id, figures in stored_scores(r for r in runs if not kind_of(r).chooses).items()
        if figures.best
    }
    asked = [run for run in runs if not kind_of(run).chooses or run.state in DECIDED]
    counted = leaders_by_counters([run for run in asked if run.pk not in found])
    return found | {one.run_id: Leader(one, leader_score(one)) for one in counted}


def leader_of(run: Run) -> Leader | None:
    """At its end what the scores say, also in the moment before that is stored."""
    if not run.is_finished or kind_of(run).chooses:
        return find_leaders([run]).get(run.pk)
    board = figures_of(run)
    if board.best is None:
        return None
    return Leader(run.candidates.get(pk=board.best), board.figures[board.best].estimate)


def leaders_by_counters(runs: Sequence[Run]) -> list[Candidate]:
    if len(runs) == 1:  # the usual question, and the quick one
        return list(for_scores(in_order(runs[0].candidates.all()))[:1])
    if not runs:
        return []
    ordered = in_order(Candidate.objects.filter(run=OuterRef("pk")))
    listed = Run.objects.filter(pk__in=[run.pk for run in runs]).order_by()
    best = listed.annotate(best=Subquery(ordered.values("pk")[:1]))
    return list(for_scores(Candidate.objects.filter(pk__in=best.values("best"))))


def in_order(candidates: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """Best first, by the lower end of what failed trials leave open; who has seen too few cases
    comes later. A kind that chooses names its winner; runs from before 0015 stored none, so the
    candidate with most cases is taken: the others were given up, or not tried."""
    total = Cast("value_sum", FloatField())
    as_unsolved = total / F("done")
    below_zero = total * F("done") / F("scored") / F("scored")  # failing does not help there, too
    chooses = Q(run__kind__in=choosing_kinds())
    return (
        candidates.filter(scored__gt=0, role=EVALUATE)
        .annotate(
            is_chosen=Case(When(position=F("run__chosen"), then=1), default=0),
            seen=Case(When(chooses, then=F("done")), default=0, output_field=IntegerField()),
            most=Window(Max("done"), partition_by=F("run_id")),
            is_early=Case(When(done__lt=RANKED_SHARE * F("most"), then=1), default=0),
            lower_end=Case(When(value_sum__lt=0, then=below_zero), default=as_unsolved),
        )
        .order_by("-is_chosen", "-seen", "is_early", "-lower_end", "position")
    )


def for_scores(candidates: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """With their runs, but for documents, which may be long."""
    read = candidates.annotate(asked_times=F("run__document__repeats")).select_related("run")
    return read.defer("document", "latency_bins", "run__document")


def leader_score(candidate: Candidate) -> Estimate | None:
    """From counters: the repeats of a case count once, as if they agreed."""
    n = candidate.done if kind_of(candidate.run).counts_failures else candidate.scored
    repeats = getattr(candidate, "asked_times", None) or 1
    return estimate_widely(n, candidate.value_sum, candidate.value_square_sum, repeats)
