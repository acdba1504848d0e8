"""Running chosen trials again: as a new run, or in place."""

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel, Field

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.problems import of_problems
from runs.api.router import Routes
from runs.api.routes.control import Position
from runs.api.routes.runs import RunId
from runs.api.routes.scores import ScoresQuery, Status, read_filters
from runs.models import Scope
from runs.selectors.scores.chosen import MOST_TICKED, TrialChoice
from runs.selectors.scores.trials import LARGEST_POSITION
from runs.services.control.rerunning import rerun_as_new, rerun_in_place
from workers.engine.errors import ConfigurationError
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Run control"])


class RerunBody(Strict):
    """Which trials, by number or by what scores are filtered by, and how. At least one of them is
    needed: to run everything again, start a run."""

    trials: Annotated[list[Position], Field(max_length=MOST_TICKED)] = []
    status: Status | None = None
    candidate: Annotated[str, Field(max_length=64, description="The key of one candidate.")] = ""
    case: Annotated[
        int | None, Field(ge=0, le=LARGEST_POSITION, description="One row of the dataset.")
    ] = None
    error: Annotated[str, Field(max_length=40, description="A class of errors.")] = ""
    in_place: Annotated[
        bool,
        Field(description="In this run: the new results replace the old ones.", strict=True),
    ] = False
    cache: Annotated[
        Literal["refresh", "use"],
        Field(description="Of a new run: ask again, or use what is known."),
    ] = "refresh"


class Rerun(BaseModel):
    """`id` is the run that has the trials now: the same one where they are run in place. A new run
    has all repeats of its cases; `trials` are those that were chosen."""

    id: int
    in_place: bool
    trials: int


@routes.post(
    "/runs/{int:run_id}/rerun",
    auth=needs(Scope.RUN),
    response={202: Rerun},
    summary="Run chosen trials again",
)
def rerun_trials(request: HttpRequest, run_id: RunId, body: RerunBody) -> HttpResponse:
    """As a new run: the same configuration on exactly the cases of these trials, and with their
    candidates only if they were chosen by number or candidate. In place: the models are asked
    again, past the cache, and the old results are gone; runs that decide by their trials take only
    `status: failed` alone in place. 409 if nothing fits, or the run cannot go on."""
    run = get_run_for(caller(request), run_id, write=True)
    given = ScoresQuery(
        status=body.status, candidate=body.candidate, case=body.case, error=body.error
    )
    choice = TrialChoice(read_filters(run, given), tuple(body.trials))
    try:
        if body.in_place:
            count = rerun_in_place(run, caller(request), choice)
            return answer({"id": run.pk, "in_place": True, "trials": count}, 202)
        new = rerun_as_new(run, caller(request), choice, cache=body.cache)
    except ConfigurationError as error:
        raise of_problems(error.problems, 409) from None
    chosen = choice.scores(run).count()
    location = f"/api/v1/runs/{new.pk}"
    return answer({"id": new.pk, "in_place": False, "trials": chosen}, 202, Location=location)
