"""Comparing runs, and candidates of runs, over the same cases, regressions first."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.forms.compared import LAST, MOST_COMPARED, PATTERN, find_compared, read_others
from runs.models import Scope
from runs.selectors.comparing.several import compare_all
from workers.engine.errors import EngineError

routes = Routes(tags=["Compare"])


class CompareQuery(BaseModel):
    base: Annotated[
        str,
        Field(
            pattern=rf"^({LAST}|{PATTERN})$",
            description="A run by its number, as `118`; one of its candidates by its position, as "
            "`118:3`; or `last`: the complete run of the same name and scorers before the first "
            "one in `with`.",
        ),
    ]
    others: Annotated[
        str,
        Field(
            alias="with",
            pattern=rf"^{PATTERN}(,{PATTERN})*$",
            max_length=300,
            description=f"1 to {MOST_COMPARED - 1} runs or candidates to compare with it, "
            "separated by commas.",
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=500, description="Changed trials of each.")] = 100


class ComparisonAnswer(BaseModel):
    """`verdict` says it in a sentence, `marks` why the two are not fully comparable. `overall`, the
    `difference` of candidates and of `metrics`: mean, 95 % interval and p, over cases, repeats
    folded; `p_corrected` is Holm's, for the number of sides in the request. `changed` has the
    largest fall first. `provisional`: one of them still goes on."""

    base: dict[str, Any]
    other: dict[str, Any]
    comparable: bool
    provisional: bool
    marks: list[str]
    verdict: str
    cases: dict[str, int]
    metrics: list[dict[str, Any]]
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


@routes.get(
    "/compare",
    auth=needs(Scope.READ, takes_work=True),
    response=Comparisons,
    summary="Compare runs",
)
def compare(request: HttpRequest, query: Query[CompareQuery]) -> HttpResponse:
    """The base with each of the others: candidates by name, cases by content. Failed trials are
    left out and counted in `marks`; a case that only one has is never counted as passed."""
    try:
        chosen = find_compared(caller(request), query.base, read_others(query.others))
        found = compare_all(chosen.sides())
    except EngineError as error:
        raise refuse("with", str(error)) from None
    return answer({"data": [one.as_record(query.limit) for one in found]})
