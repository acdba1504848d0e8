"""Comparing runs over the same cases, regressions first."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.models import Scope
from runs.selectors.runs.compare import compare_runs

routes = Routes(tags=["Compare"])

MOST_RUNS = 10
LARGEST_ID = 2**63 - 1


class CompareQuery(BaseModel):
    base: RunId
    others: Annotated[
        str,
        Field(
            alias="with",
            pattern=r"^[0-9]{1,19}(,[0-9]{1,19})*$",
            max_length=200,
            description="Runs to compare with it, separated by commas.",
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=500, description="Changed trials of each.")] = 100


class ComparisonAnswer(BaseModel):
    """`overall` and the `difference` of candidates: mean, 95 % interval and p, over cases.
    `changed` has the largest fall first. `marks` say why the runs are not fully comparable."""

    base: dict[str, Any]
    other: dict[str, Any]
    comparable: bool
    marks: list[str]
    overall: dict[str, Any] | None
    candidates: list[dict[str, Any]]
    only_before: list[str]
    only_after: list[str]
    pairs: int
    regressions: int
    improvements: int
    changed: list[dict[str, Any]]
    changed_total: int


class Comparisons(BaseModel):
    data: list[ComparisonAnswer]


@routes.get("/compare", auth=needs(Scope.READ), response=Comparisons, summary="Compare runs")
def compare(request: HttpRequest, query: Query[CompareQuery]) -> HttpResponse:
    """The baseline with each of the others, trial by trial: candidates by name, cases by content.
    Failed trials are left out and counted in `marks`."""
    numbers = list(dict.fromkeys(int(number) for number in query.others.split(",")))
    if len(numbers) > MOST_RUNS or max(numbers) > LARGEST_ID:
        raise refuse("with", f"Name 1 to {MOST_RUNS} runs by their numbers.")
    base = get_run_for(caller(request), query.base)
    others = [get_run_for(caller(request), number) for number in numbers]
    found = [compare_runs(base, other).as_record(query.limit) for other in others]
    return answer({"data": found})
