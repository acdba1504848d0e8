"""Trends: how a configuration's runs went, one point a run."""

from typing import Annotated

from django.http import HttpRequest
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import get_configuration_for, runs_for
from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.api.routes.configurations import ConfigurationName
from runs.models import Scope
from runs.selectors.trends import MOST_POINTS, TrendPoint, trend_of

routes = Routes(tags=["Configurations"])


class TrendQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=1000, description="Newest runs.")] = MOST_POINTS


class Trend(BaseModel):
    """Oldest first."""

    name: str
    points: list[TrendPoint]


@routes.get(
    "/configuration-trends/{path:name}",
    auth=needs(Scope.READ),
    response=Trend,
    summary="Show the trend of a configuration",
)
def show_trend(request: HttpRequest, name: ConfigurationName, query: Query[TrendQuery]) -> Trend:
    """Score with its 95 % interval, cost and latency of its complete runs that you may see."""
    person = caller(request)
    stored = get_configuration_for(person, name)
    return Trend(name=stored.name, points=trend_of(stored, runs_for(person), query.limit))
