"""The runs list, and the demo that starts from it."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import can_change_run, endpoints_for, runs_for, views_for
from runs.forms.filters import (
    read_run_columns,
    read_run_filters,
    read_view_query,
    read_whole_number,
)
from runs.kinds import every_demo, every_kind
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.runs.attention import find_alerts
from runs.selectors.runs.organised import filter_choices, with_marks
from runs.selectors.runs.run_filters import STATE_FILTERS, RunFilters
from runs.selectors.runs.run_list import (
    COLUMNS,
    PAGE_SIZE,
    Counters,
    RunRow,
    count_runs,
    list_runs,
    read_news,
)
from runs.selectors.runs.several import ACTIONS
from runs.services.demo import start_demo
from runs.views.people import person
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import DEFAULT_KIND

COLUMNS_COOKIE = "run_columns"  # written by static/js/columns.js


@requires(Permission.SEE)
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("runs")


@requires(Permission.SEE)
@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    visible, counters = runs_for(request.user), count_runs(runs_for(request.user))
    shown, filters = shown_columns(request), read_run_filters(request.GET, request.user.pk)
    older = read_whole_number(request.GET.get("before"))
    newer = read_whole_number(request.GET.get("after"))
    page = list_runs(with_marks(visible, request.user), filters, older, newer)
    context = {
        "section": "runs",
        "counters": counters,
        **rows_context(request, page.rows, shown),
        **alerts_context(request, filters, counters, is_first=older is None and newer is None),
        "filters": filters,
        "page": page,
        "columns": COLUMNS,
        "actions": actions_for(filters),
        "is_chosen": "show" in request.GET or COLUMNS_COOKIE in request.COOKIES,
        "choices": filter_choices(visible, endpoints_for(request.user), views_for(request.user)),
        "view_query": read_view_query(request.META.get("QUERY_STRING", "")),
        "states": STATE_FILTERS,
        "demos": every_demo(),
        "kinds": {kind.name: kind.title for kind in every_kind()},
    }
    return render(request, "runs/list.html", context)


def actions_for(filters: RunFilters) -> dict[str, str]:
    """Each where it makes sense: what is in the list is not brought back."""
    is_away = filters.state in {"archived", "deleted"}
    hidden = {"archive"} if is_away else {"restore"}
    return {name: action.title for name, action in ACTIONS.items() if name not in hidden}


def shown_columns(request: HttpRequest) -> tuple[str, ...]:
    return read_run_columns(request.GET, request.COOKIES.get(COLUMNS_COOKIE, ""))


def rows_context(
    request: HttpRequest, rows: list[RunRow], shown: tuple[str, ...]
) -> dict[str, object]:
    changeable = {row.run.pk for row in rows if can_change_run(request.user, row.run)}
    return {"rows": rows, "shown": shown, "changeable": changeable}


def alerts_context(
    request: HttpRequest, filters: RunFilters, counters: Counters, *, is_first: bool
) -> dict[str, object]:
    """What needs a person stands above the first page of all runs: who filters looks for other
    things."""
    if filters.are_set or not is_first or not (counters.attention or counters.running):
        return {"alerts": []}
    alerts = find_alerts(runs_for(request.user))
    able = {one.run.pk for one in alerts if can_change_run(request.user, one.run)}
    return {"alerts": alerts, "able": able}


@requires(Permission.SEE)
@require_safe
def runs_news(request: HttpRequest) -> HttpResponse:
    """The counters and the rows that a page asks for by number, fetched again while it is open."""
    visible = runs_for(request.user)
    shown_now, filters = shown_columns(request), read_run_filters(request.GET, request.user.pk)
    numbers = (read_whole_number(text) for text in request.GET.getlist("run")[:PAGE_SIZE])
    shown = [number for number in numbers if number is not None]
    newest, counters = read_whole_number(request.GET.get("newest")), count_runs(visible)
    marked = with_marks(visible, request.user)
    news = read_news(marked, filters, shown, newest)
    context = {
        "counters": counters,
        "filters": filters,
        **rows_context(request, news.rows, shown_now),
        **alerts_context(request, filters, counters, is_first=newest is not None),
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
