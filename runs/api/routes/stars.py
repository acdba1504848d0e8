"""Stars: a person's own, on any run that they see."""

from django.http import HttpRequest

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.api.routes.control import NOTHING, NoBody
from runs.api.routes.runs import RunId
from runs.api.run_shapes import Applied
from runs.models import Scope
from runs.roles import Permission
from runs.services.organising import star_run

routes = Routes(tags=["Runs"])


@routes.put(
    "/runs/{int:run_id}/star",
    auth=needs(Scope.RUN, Permission.SEE),
    response=Applied,
    summary="Star a run",
)
def star(request: HttpRequest, run_id: RunId, body: NoBody = NOTHING) -> Applied:
    """For yourself: seeing the run is enough."""
    user = caller(request)
    return Applied(changed=star_run(get_run_for(user, run_id), user, is_starred=True))


@routes.delete(
    "/runs/{int:run_id}/star",
    auth=needs(Scope.RUN, Permission.SEE),
    response=Applied,
    summary="Remove your star",
)
def unstar(request: HttpRequest, run_id: RunId) -> Applied:
    """Those of others stay."""
    user = caller(request)
    return Applied(changed=star_run(get_run_for(user, run_id), user, is_starred=False))
