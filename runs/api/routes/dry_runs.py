"""The first trials of a run, before it is started."""

from django.http import HttpRequest
from pydantic import BaseModel

from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.api.routes.runs import document_of
from runs.api.run_shapes import RunBody
from runs.models import Scope
from runs.selectors.dry_results import ShownTrial, bill_text, shown_trial
from runs.services.dry_runs import try_first

routes = Routes(tags=["Runs"])


class DryAnswer(BaseModel):
    """What the first trials of a run answered. `cost` is in dollars, by known prices, and `calls`
    are those that were sent: both count as used today. `bill` says it in words."""

    calls: int
    cost: float
    unpriced: int
    bill: str
    trials: list[ShownTrial]


@routes.post(
    "/runs/dry",
    auth=needs(Scope.RUN, takes_work=True),
    response=DryAnswer,
    summary="Try a run before its start",
)
def dry_run(request: HttpRequest, body: RunBody) -> DryAnswer:
    """Makes the first three trials, through the same limits and cache as a run, and answers with
    what came of them within half a minute. No run is started; a run that is finds the answers in
    the cache."""
    document, _ = document_of(request, body)
    result = try_first(caller(request), document)
    seconds = result.deadline_seconds
    return DryAnswer(
        calls=result.calls,
        cost=result.cost,
        unpriced=result.unpriced,
        bill=bill_text(
            result.calls,
            result.cost,
            result.unpriced,
            result.unfinished,
            result.configuration.cache,
        ),
        trials=[shown_trial(one.candidate, one.case, one.score, seconds) for one in result.trials],
    )
