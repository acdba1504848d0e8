"""How well the judges of a run's panels agree."""

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.models import Scope
from runs.selectors.scores.agreement import PanelAgreement, agreement_of

routes = Routes(tags=["Results"])


class Agreement(BaseModel):
    panels: list[PanelAgreement]


@routes.get(
    "/runs/{int:run_id}/agreement",
    auth=needs(Scope.READ),
    response=Agreement,
    summary="How well the judges of a panel agree",
)
def show_agreement(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """Of each scorer with a panel of judges, in the order of the scorers; empty without one. Of a
    large run a sample of its trials is looked at."""
    run = get_run_for(caller(request), run_id)
    return answer(Agreement(panels=agreement_of(run)).model_dump())
