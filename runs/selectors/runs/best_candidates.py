"""The leading candidate of each run, in one question for many runs."""

from collections.abc import Mapping, Sequence

from django.db.models import (
    Case,
    F,
    FloatField,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Cast

from runs.kinds import choosing_kinds, kind_of
from runs.models import Candidate, Run, RunState
from workers.engine.records import EVALUATE
from workers.engine.statistics.clusters import estimate_widely
from workers.engine.statistics.intervals import Estimate

DECIDED = (RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS)


def find_leaders(runs: Sequence[Run]) -> Mapping[int, Candidate]:
    """In the leaderboard's order: failures counted as wrong break ties. A kind that chooses has
    no leader before it is decided, since its candidates saw different cases until then."""
    asked = [run for run in runs if not kind_of(run).chooses or run.state in DECIDED]
    if len(asked) == 1:  # the usual question, and the quick one
        leader = in_order(asked[0].candidates.all()).first()
        return {asked[0].pk: leader} if leader else {}
    if not asked:
        return {}
    ordered = in_order(Candidate.objects.filter(run=OuterRef("pk")))
    listed = Run.objects.filter(pk__in=[run.pk for run in asked]).order_by()
    leaders = listed.annotate(best=Subquery(ordered.values("pk")[:1]))
    found = dict(leaders.values_list("pk", "best"))
    wanted = [pk for pk in found.values() if pk is not None]
    candidates = for_scores(Candidate.objects.all()).in_bulk(wanted)
    return {run_id: candidates[pk] for run_id, pk in found.items() if pk is not None}


def in_order(candidates: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """Best first. A kind that chooses names its winner; runs from before 0015 stored none, so the
    candidate with most cases is taken: the others were given up, or not tried."""
    total = Cast("value_sum", FloatField())
    chooses = Q(run__kind__in=choosing_kinds())
    return (
        for_scores(candidates.filter(scored__gt=0, role=EVALUATE))
        .annotate(
            is_chosen=Case(When(position=F("run__chosen"), then=1), default=0),
            with_failures=total / F("done"),
            seen=Case(When(chooses, then=F("done")), default=0, output_field=IntegerField()),
            mean=Case(When(chooses, then=total / F("done")), default=total / F("scored")),
        )
        .order_by("-is_chosen", "-seen", "-mean", "-with_failures", "position")
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
