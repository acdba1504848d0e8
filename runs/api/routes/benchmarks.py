"""Benchmarks: what was measured on this machine. They are started on the command line."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import benchmarks_for, get_benchmark_for
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Page, PageQuery, answer
from runs.api.router import Routes
from runs.models import Benchmark, Scope
from runs.selectors.api_lists import list_benchmarks_from
from runs.selectors.benchmarks import export_of

routes = Routes(tags=["Benchmarks"])

BenchmarkId = Annotated[int, Field(ge=1, le=2**63 - 1)]


class BenchmarkRow(BaseModel):
    id: int
    created: datetime
    code_version: str


class BenchmarkAnswer(BaseModel):
    id: int
    conditions: dict[str, Any]
    results: dict[str, Any]


BENCHMARKS = ApiList("benchmarks", BenchmarkRow, "id")


@routes.get(
    "/benchmarks", auth=needs(Scope.READ), response=Page[BenchmarkRow], summary="List benchmarks"
)
def list_all_benchmarks(request: HttpRequest, query: Query[PageQuery]) -> HttpResponse:
    """Newest first."""
    start = BENCHMARKS.place(query.cursor)
    found = list_benchmarks_from(benchmarks_for(caller(request)), query.limit + 1, start)
    return BENCHMARKS.page([row_of(benchmark) for benchmark in found], query)


@routes.get(
    "/benchmarks/{int:benchmark_id}",
    auth=needs(Scope.READ),
    response=BenchmarkAnswer,
    summary="Show a benchmark",
)
def show_benchmark(request: HttpRequest, benchmark_id: BenchmarkId) -> HttpResponse:
    """With its conditions; the same document that `manage.py benchmark --json` prints."""
    return answer(export_of(get_benchmark_for(caller(request), benchmark_id)))


def row_of(benchmark: Benchmark) -> BenchmarkRow:
    return BenchmarkRow(
        id=benchmark.pk,
        created=benchmark.created,
        code_version=benchmark.code_version,
    )
