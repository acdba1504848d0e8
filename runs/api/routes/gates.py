"""Gates: what the runs of a configuration are held to."""

from typing import Annotated, Any

from django.http import Http404, HttpRequest
from pydantic import BaseModel, Field

from runs.access import get_configuration_for, get_run_for
from runs.api.doors import caller, needs
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.api.routes.configurations import ConfigurationName
from runs.models import Configuration, Run, Scope
from runs.roles import Permission
from runs.selectors.gates import FIELDS, LONGEST_CANDIDATE
from runs.services.gating import set_gate
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Configurations"])


class GateBody(Strict):
    """What is null, or left out, is not asked for."""

    baseline: Annotated[
        int | None,
        Field(ge=1, le=2**63 - 1, description="A complete run with the same scorers."),
    ] = None
    min_score: Annotated[float | None, Field(description="Failed trials count as wrong.")] = None
    score_of: Annotated[
        str | None, Field(max_length=LONGEST_CANDIDATE, description="Whose score; null: the best.")
    ] = None
    max_error_rate: Annotated[
        float | None, Field(ge=0, le=1, description="A share of the trials. Not given: 0.05.")
    ] = None
    max_cost: Annotated[float | None, Field(ge=0, description="Dollars.")] = None
    max_regressions: Annotated[
        int | None,
        Field(ge=0, le=2**31, description="Trials that passed in the baseline and fail now."),
    ] = None
    alpha: Annotated[
        float | None,
        Field(gt=0, lt=1, description="How unlikely by chance a fall must be; null: 0.05."),
    ] = None


class GateAsked(BaseModel):
    baseline: int | None
    min_score: float | None
    score_of: str | None
    max_error_rate: float | None
    max_cost: float | None
    max_regressions: int | None
    alpha: float | None


@routes.get(
    "/configuration-gates/{path:name}",
    auth=needs(Scope.READ),
    response=GateAsked,
    summary="Show what runs of a configuration are held to",
)
def show_gate(request: HttpRequest, name: ConfigurationName) -> GateAsked:
    """What became of each run is its `gate`, as `GET /runs/{id}` shows it."""
    return asked_of(get_configuration_for(caller(request), name))


@routes.put(
    "/configuration-gates/{path:name}",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE),
    response=GateAsked,
    summary="Hold runs of a configuration to a baseline and gates",
)
def put_gate(request: HttpRequest, name: ConfigurationName, body: GateBody) -> GateAsked:
    """For its owner and operators. It holds for runs that are launched from now on; each is judged
    when it has ended."""
    stored = get_configuration_for(caller(request), name, write=True)
    baseline = run_named(request, body.baseline)
    set_gate(stored, caller(request), baseline, body.model_dump(include=set(FIELDS)))
    return asked_of(stored)


def run_named(request: HttpRequest, number: int | None) -> Run | None:
    try:
        return get_run_for(caller(request), number) if number else None
    except Http404:
        raise refuse("baseline", f"There is no run {number} that you may see.") from None


def asked_of(stored: Configuration) -> GateAsked:
    given: dict[str, Any] = {field: stored.gates.get(field) for field in FIELDS}
    return GateAsked(baseline=stored.baseline_id, **given)
