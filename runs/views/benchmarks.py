"""Benchmarks: the history, one of them, and its data. They are started on the command line."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from runs.access import benchmarks_for, get_benchmark_for
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.benchmarks import (
    curve_of,
    export_of,
    has_bars,
    list_benchmarks,
    list_older,
)


@requires(Permission.SEE)
@require_safe
def benchmarks(request: HttpRequest) -> HttpResponse:
    visible = benchmarks_for(request.user)
    context = {
        "section": "benchmarks",
        "rows": list_benchmarks(visible),
        "older": list_older(visible),
    }
    return render(request, "benchmarks/list.html", context)


@requires(Permission.SEE)
@require_safe
def benchmark(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_benchmark_for(request.user, pk)
    if has_bars(found):
        return redirect("benchmark_export", pk)
    context = {
        "section": "benchmarks",
        "benchmark": found,
        "conditions": found.conditions,
        "results": found.results,
        "curve": curve_of(found),
    }
    return render(request, "benchmarks/detail.html", context)


@requires(Permission.SEE)
@require_safe
def benchmark_export(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_benchmark_for(request.user, pk)
    answer = JsonResponse(export_of(found), json_dumps_params={"indent": 2})
    answer["Content-Disposition"] = f'attachment; filename="benchmark-{found.pk}.json"'
    return answer
