"""Controlling a run: pause, resume, cancel, retry, one trial again, and its limits."""

from typing import Annotated

from django.http import HttpRequest
from pydantic import BaseModel, Field

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.problems import RequestProblem, of_problems
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.api.run_shapes import Applied as Applied
from runs.models import Run, Scope
from runs.selectors.limits.limits import configuration_now
from runs.services.control.budgets import BudgetSpent
from runs.services.control.limits import LONGEST_REASON, retune_run
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run, retune_and_resume
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.runs import cancel_run
from workers.engine.errors import ConfigurationError
from workers.engine.spec.configuration import Budget, PriorityName, Strict
from workers.engine.throttling.retuning import LimitChanges

routes = Routes(tags=["Run control"])

Position = Annotated[int, Field(ge=0, le=2**31 - 1, description="The place of a trial in its run.")]


class NoBody(Strict):
    """Nothing has to be said."""


class PauseBody(Strict):
    now: Annotated[
        bool, Field(description="Cancel the calls in flight; they are asked again.", strict=True)
    ] = False
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""


class LimitsBody(LimitChanges):
    """Only what is given is changed; null lifts a limit."""

    reason: Annotated[
        str, Field(max_length=LONGEST_REASON, description="Why, shown with the change; optional.")
    ] = ""
    resume: Annotated[
        bool,
        Field(
            description="Resume the run in the same step, as after a budget stopped it.",
            strict=True,
        ),
    ] = False


class Retried(Applied):
    trials: int


class LimitsNow(BaseModel):
    max_concurrent: int | None
    requests_per_minute: int | None
    tokens_per_minute: int | None
    priority: PriorityName
    budget: Budget


NOTHING = NoBody()
PLAIN_PAUSE = PauseBody()


@routes.post(
    "/runs/{int:run_id}/pause",
    auth=needs(Scope.RUN),
    response=Applied,
    url_name="run_pause",
    summary="Pause a run",
)
def pause(request: HttpRequest, run_id: RunId, body: PauseBody = PLAIN_PAUSE) -> Applied:
    """No more calls start; those in flight end and are stored, unless `now`."""
    run = going(request, run_id)
    return Applied(changed=pause_run(run, caller(request), body.reason, now=body.now))


@routes.post(
    "/runs/{int:run_id}/resume",
    auth=needs(Scope.RUN),
    response=Applied,
    url_name="run_resume",
    summary="Resume a run",
)
def resume(request: HttpRequest, run_id: RunId, body: NoBody = NOTHING) -> Applied:
    """409 while a budget of the run is used up: raise it first."""
    run = going(request, run_id)
    try:
        return Applied(changed=resume_run(run, caller(request)))
    except ConfigurationError as error:
        raise of_problems(error.problems, 409) from None


@routes.post(
    "/runs/{int:run_id}/cancel",
    auth=needs(Scope.RUN),
    response=Applied,
    url_name="run_cancel",
    summary="Cancel a run",
)
def cancel(request: HttpRequest, run_id: RunId, body: NoBody = NOTHING) -> Applied:
    """What is scored stays."""
    run = get_run_for(caller(request), run_id, write=True)
    return Applied(changed=cancel_run(run, caller(request)))


@routes.post(
    "/runs/{int:run_id}/retry",
    auth=needs(Scope.RUN),
    response=Retried,
    url_name="run_retry",
    summary="Retry failed trials",
)
def retry(request: HttpRequest, run_id: RunId, body: NoBody = NOTHING) -> Retried:
    """The failed trials of a run, which goes on if it had ended."""
    run = get_run_for(caller(request), run_id, write=True)
    try:
        count = retry_failed(run, caller(request))
    except ConfigurationError as error:
        raise of_problems(error.problems, 409) from None
    return Retried(changed=bool(count), trials=count)


@routes.post(
    "/runs/{int:run_id}/trials/{int:position}/rerun",
    auth=needs(Scope.RUN),
    response=Applied,
    summary="Run one trial again",
)
def rerun(
    request: HttpRequest, run_id: RunId, position: Position, body: NoBody = NOTHING
) -> Applied:
    """Past the cache. Its result is gone until the new one is there."""
    run = get_run_for(caller(request), run_id, write=True)
    try:
        return Applied(changed=rerun_trial(run, caller(request), position))
    except ConfigurationError as error:
        raise of_problems(error.problems, 409) from None


@routes.patch(
    "/runs/{int:run_id}/limits",
    auth=needs(Scope.RUN),
    response=LimitsNow,
    url_name="run_limits",
    summary="Change the limits of a run",
)
def change_limits(request: HttpRequest, run_id: RunId, body: LimitsBody) -> LimitsNow:
    """The next call keeps to them. Answers with the limits that hold then. With `resume` a paused
    run goes on: 409, and nothing is changed, while one of its budgets is still used up."""
    run = going(request, run_id)
    changes = body.model_dump(exclude_unset=True, exclude={"reason", "resume"})
    retune = retune_and_resume if body.resume else retune_run
    try:
        retune(run, caller(request), changes, body.reason)
    except BudgetSpent as error:
        raise of_problems(error.problems, 409) from None
    run.refresh_from_db(fields=["limits_now", "priority"])
    configuration = configuration_now(run)
    return LimitsNow(
        **configuration.limits.model_dump(include=set(LimitsNow.model_fields)),
        priority=configuration.priority,
        budget=configuration.budget,
    )


def going(request: HttpRequest, run_id: int) -> Run:
    """A run that has not ended, or 409."""
    run = get_run_for(caller(request), run_id, write=True)
    if run.is_finished:
        raise RequestProblem(409, "The run has finished.")
    return run
