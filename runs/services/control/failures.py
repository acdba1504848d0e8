"""Pauses a run in which more trials fail than its configuration allows, or all in the same way."""

from collections.abc import Sequence

from django.db.models import QuerySet

from runs.models import Candidate, EventLevel, Run, RunEvent, RunState
from runs.models import Score as ScoreRow
from runs.selectors.limits.limits import configuration_now
from runs.services.control.pauses import hold_run
from workers.engine.errors import BadCredentials
from workers.engine.records import Score
from workers.engine.spec.configuration import Configuration
from workers.engine.streaks import (
    has_too_many_failures,
    hopeless_text,
    is_permanent,
    longest_row,
)

KIND = "failures"


def watch_failures(run: Run) -> None:
    """With every write, under the lock on the run's row. Once: who resumes it has seen them."""
    allowed = run.document.get("fail_on_error")
    if not allowed or run.state not in RunState.going():
        return
    if not has_too_many_failures(allowed, run.failed, run.done):
        return
    if run.events.filter(kind=KIND).exists():
        return
    most = f"{allowed:g}" if allowed >= 1 else f"{100 * allowed:g} %"
    told = f"{run.failed:,} of {run.done:,} trials failed, and fail_on_error allows {most}"
    RunEvent.objects.create(run=run, kind=KIND, level=EventLevel.ERROR, message=f"{told}.")
    hold_run(run.pk, f"{told}: see Errors, then resume or cancel", level=EventLevel.ERROR)


def watch_row(run: Run, scores: Sequence[Score]) -> None:
    """The same permanent error, trial after trial, whichever worker they were with. The database is
    asked only when all that is written now failed in that way."""
    errors = {score.error for score in scores}
    if len(errors) != 1 or run.state not in RunState.going():
        return
    error = errors.pop()
    if not is_permanent(error):
        return
    row = row_of(run, error)
    count = row.count()
    if count >= longest_row(error) and (error == BadCredentials.name or has_all_models(run, row)):
        reason = hopeless_text(count, "trials", error, scores[-1].message)
        hold_run(run.pk, reason, level=EventLevel.ERROR)


def row_of(run: Run, error: str) -> QuerySet[ScoreRow]:
    """The scores with this error since one without it, or since the run was resumed."""
    scores = run.scores.all()
    if run.going_since is not None:
        scores = scores.filter(finished__gte=run.going_since)
    other = scores.exclude(error_class=error).order_by("-pk").values_list("pk", flat=True).first()
    return scores.filter(pk__gt=other or 0)


def has_all_models(run: Run, row: QuerySet[ScoreRow]) -> bool:
    """Refusals come sooner than answers: one model that is refused must not stop the others."""
    configuration = configuration_now(run)
    refused = run.candidates.filter(pk__in=row.values("candidate"))
    if configuration.grows:
        wanted = {(model.endpoint, model.model) for model in configuration.called}
        return wanted <= set().union(*ways_to_call(configuration, refused))
    return ways_to_call(configuration, refused) == ways_to_call(configuration, run.candidates.all())


def ways_to_call(
    configuration: Configuration, candidates: QuerySet[Candidate]
) -> set[frozenset[tuple[str, str]]]:
    documents = candidates.values_list("document", flat=True)
    return {
        frozenset((model["endpoint"], model["model"]) for model in configuration.models_called(one))
        for one in documents
    }
