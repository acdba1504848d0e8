"""The runs list, and the demo that starts from it."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import runs_for
from runs.forms.filters import read_run_filters, read_whole_number
from runs.kinds import every_demo, every_kind
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.runs.run_list import PAGE_SIZE, STATE_FILTERS, count_runs, list_runs, read_news
from runs.services.demo import start_demo
from runs.views.people import person
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import DEFAULT_KIND


@requires(Permission.SEE)
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("runs")


@requires(Permission.SEE)
@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    visible = runs_for(request.user)
    filters = read_run_filters(request.GET)
    page = list_runs(
        visible,
        filters,
        older_than=read_whole_number(request.GET.get("before")),
        newer_than=read_whole_number(request.GET.get("after")),
    )
    context = {
        "section": "runs",
        "counters": count_runs(visible),
        "filters": filters,
        "page": page,
        "states": STATE_FILTERS,
        "demos": every_demo(),
        "kinds": {kind.name: kind.title for kind in every_kind()},
    }
    return render(request, "runs/list.html", context)


@requires(Permission.SEE)
@require_safe
def runs_news(request: HttpRequest) -> HttpResponse:
    """The counters and the rows that a page asks for by number, fetched again while it is open."""
    visible = runs_for(request.user)
    filters = read_run_filters(request.GET)
    numbers = (read_whole_number(text) for text in request.GET.getlist("run")[:PAGE_SIZE])
    shown = [number for number in numbers if number is not None]
    news = read_news(visible, filters, shown, read_whole_number(request.GET.get("newest")))
    context = {
        "counters": count_runs(visible),
        "filters": filters,
        "rows": news.rows,
        "new": news.new,
    }
    return render(request, "runs/_news.html", context)


@requires(Permission.LAUNCH)
@require_POST
def run_demo(request: HttpRequest) -> HttpResponse:
    kind = request.POST.get("kind", DEFAULT_KIND)
    if kind not in every_demo():
        raise Http404("There is no such demo.")
    try:
        return redirect(start_demo(person(request), kind))
    except ConfigurationError as error:  # too many runs, or somebody's own dataset has its name
        messages.error(request, " ".join(problem.message for problem in error.problems))
        return redirect("runs")
