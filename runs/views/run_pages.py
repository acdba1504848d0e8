"""One run: its overview, scores, errors, events and configuration, in one frame."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import (
    all_configurations_for,
    can_change_run,
    can_open_dataset,
    get_run_for,
    prompts_for,
    runs_for,
)
from runs.forms.filters import (
    read_columns,
    read_trial_filters,
    read_whole_number,
    trial_query,
)
from runs.forms.limits import LimitsForm
from runs.kinds import kind_of
from runs.models import Configuration, EventLevel, Run, RunState
from runs.permissions import requires
from runs.reports.curl import as_curl
from runs.roles import Permission
from runs.selectors.gates import gate_of
from runs.selectors.limits.limits import configuration_now
from runs.selectors.prompts import prompts_used
from runs.selectors.runs.confirmation import held_out_of
from runs.selectors.runs.errors import IS_FAILING, group_errors
from runs.selectors.runs.events import list_events
from runs.selectors.runs.organised import tags_of
from runs.selectors.runs.ran_on import ran_on
from runs.selectors.runs.reruns import rerun_links
from runs.selectors.runs.snapshot import take_snapshot
from runs.selectors.scores.agreement import agreement_of
from runs.selectors.scores.folded import has_repeats, list_folded
from runs.selectors.scores.overrides import flagged_among
from runs.selectors.scores.score_records import may_have_records
from runs.selectors.scores.table import candidates_of, column_choices, folded_rows, table_rows
from runs.selectors.scores.trials import (
    MOST_COUNTED,
    SHORTEST_SEARCH,
    SORTS,
    STATUSES,
    Cursor,
    count_scores,
    list_scores,
)
from workers.engine.spec.documents import write_document

COLUMNS_COOKIE = "score_columns"  # written by static/js/columns.js


def frame(request: HttpRequest, run: Run, tab: str, *, series: bool = False) -> dict[str, Any]:
    """What the header of every tab shows."""
    return {
        "section": "runs",
        "run": run,
        "can_change": can_change_run(request.user, run),
        "tags": tags_of(run),
        "is_starred": getattr(run, "is_starred", False),
        "tab": tab,
        "snapshot": take_snapshot(run, series=series, advice=series),
        "stored": stored_of(request, run),
        "gate": gate_of(run) if run.configuration_version else None,
        **rerun_links(run, runs_for(request.user))._asdict(),
    }


def stored_of(request: HttpRequest, run: Run) -> Configuration | None:
    """The configuration that it is a run of, if the person may see it; also a deleted one."""
    if run.configuration_id is None:
        return None
    visible = all_configurations_for(request.user)
    return visible.filter(pk=run.configuration_id).only("pk", "name").first()


@requires(Permission.SEE)
@require_safe
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    return show_overview(request, get_run_for(request.user, run_id))


def show_overview(request: HttpRequest, run: Run, form: LimitsForm | None = None) -> HttpResponse:
    """With what was typed and refused as limits, if anything was."""
    context = {
        **frame(request, run, "overview", series=True),
        **board_of(run, request),
        "agreement": agreement_of(run),
        "form": form or LimitsForm.of(configuration_now(run)),
    }
    status = 400 if form else 200
    return render(request, "runs/run/overview.html", context, status=status)


@requires(Permission.SEE)
@require_safe
def run_leaderboard(request: HttpRequest, run_id: int) -> HttpResponse:
    """The rows alone, fetched again while the run goes on."""
    found = get_run_for(request.user, run_id)
    context = {"run": found, **board_of(found, request)}
    return render(request, context["board"].rows, context)


def board_of(run: Run, request: HttpRequest) -> dict[str, Any]:
    """What suits the kind of run, with what it shows."""
    board = kind_of(run).board(run, request.GET.dict())
    return {"board": board, "held_out": held_out_of(run), **board.context}


@requires(Permission.SEE)
@require_safe
def run_scores(request: HttpRequest, run_id: int) -> HttpResponse:
    found = get_run_for(request.user, run_id)
    filters = read_trial_filters(request.GET)
    total = count_scores(found, filters)
    shown = read_columns(request.GET, request.COOKIES.get(COLUMNS_COOKIE, ""))
    is_folded = has_repeats(found) and "each" not in request.GET
    page = (list_folded if is_folded else list_scores)(
        found,
        filters,
        after=Cursor.read(request.GET.get("after", "")),
        before=Cursor.read(request.GET.get("before", "")),
    )
    context = {
        **frame(request, found, "scores"),
        "filters": filters,
        "filter_query": trial_query(filters),
        "query": trial_query(filters, request.GET.getlist("show")),
        "page": page,
        "rows": folded_rows(found, page.scores, filters)
        if is_folded
        else table_rows(found, page.scores),
        "flagged": flagged_among(page.scores),
        "has_repeats": has_repeats(found),
        "is_folded": is_folded,
        "shown": shown,
        "columns": column_choices(shown),
        "total": total,
        "has_more_than_counted": total > MOST_COUNTED,
        "candidates": candidates_of(found),
        "roles": found.trial_roles,
        "statuses": STATUSES,
        "may_have_records": may_have_records(found),
        "sorts": SORTS,
        "is_search_too_short": 0 < len(filters.text) < SHORTEST_SEARCH,
    }
    return render(request, "runs/run/scores.html", context)


@requires(Permission.SEE)
@require_safe
def run_errors(request: HttpRequest, run_id: int) -> HttpResponse:
    found = get_run_for(request.user, run_id)
    context = {
        **frame(request, found, "errors"),
        "groups": group_errors(found),
        "is_failing": found.state in RunState.going() and IS_FAILING in found.reason,
    }
    return render(request, "runs/run/errors.html", context)


@requires(Permission.SEE)
@require_safe
def run_events(request: HttpRequest, run_id: int) -> HttpResponse:
    found = get_run_for(request.user, run_id)
    level = request.GET.get("level", "")
    before = read_whole_number(request.GET.get("before"))
    context = {
        **frame(request, found, "events"),
        "page": list_events(found, level, before),
        "level": level,
        "levels": EventLevel.choices,
    }
    return render(request, "runs/run/events.html", context)


@requires(Permission.SEE)
@require_safe
def run_configuration(request: HttpRequest, run_id: int) -> HttpResponse:
    found = get_run_for(request.user, run_id)
    configuration = configuration_now(found)
    context = {
        **frame(request, found, "configuration"),
        "can_open_dataset": can_open_dataset(request.user, found.dataset),
        "rows_text": ran_on(found).rows_text,
        "expected": configuration.expected_column,
        "prompts_used": prompts_used(found, prompts_for(request.user)),
        "yaml": write_document(found.document),
        "curl": as_curl(request.build_absolute_uri("/api/v1/runs"), found.document),
        "facts": write_document(found.snapshot_of),
    }
    return render(request, "runs/run/configuration.html", context)
