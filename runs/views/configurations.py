"""Stored configurations: the list, one with its versions and runs, saving, launching, sharing."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import (
    all_configurations_for,
    can_change_configuration,
    open_configuration_for,
    runs_for,
)
from runs.forms.filters import read_whole_number
from runs.forms.gate import GateForm
from runs.forms.new_run import new_key, read_post
from runs.forms.problems import SAVE_NAME
from runs.forms.schedule import ScheduleForm
from runs.large_bodies import when_too_large
from runs.models import Configuration, ConfigurationVersion, RunGate
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.configurations import (
    configuration_versions,
    find_configuration,
    listed_configurations,
    newest_runs_of,
)
from runs.selectors.gates import asked_by, gate_states
from runs.selectors.runs.baselines import COMPARABLE
from runs.selectors.runs.run_list import RunRow
from runs.selectors.schedules import schedule_answer, schedule_of
from runs.selectors.trends import as_columns, trend_of
from runs.services.configurations import save_configuration
from runs.services.people.sharing import share_configuration
from runs.services.runs import Source, create_run
from runs.views.new_run import forget_draft, refuse_large_form
from runs.views.new_run_form import draft_of, draw_document, show_form
from runs.views.people import person
from runs.views.sharing import sharing
from runs.word_diff import diff_words
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.documents import write_document

MOST_LISTED = 500
LONGEST_KEY = 80  # characters, as in the table
TREND_CHARTS = {"score": "Score, 95 % interval", "cost": "Cost of a run", "latency": "Latency"}


@requires(Permission.SEE)
@require_safe
def configurations(request: HttpRequest) -> HttpResponse:
    every, shows_deleted = all_configurations_for(request.user), "deleted" in request.GET
    visible = every.filter(remove_after__isnull=not shows_deleted)
    found = listed_configurations(visible, runs_for(request.user), MOST_LISTED + 1)
    context = {
        "section": "configurations",
        "configurations": found[:MOST_LISTED],
        "is_cut": len(found) > MOST_LISTED,
        "most": MOST_LISTED,
        "shows_deleted": shows_deleted,
        "deleted": every.filter(remove_after__isnull=False).count(),
    }
    return render(request, "configurations/list.html", context)


@requires(Permission.SEE)
@require_safe
def configuration(request: HttpRequest, pk: int) -> HttpResponse:
    stored = open_configuration_for(request.user, pk, even_deleted=True)
    return show_configuration(request, stored)


def show_configuration(
    request: HttpRequest,
    stored: Configuration,
    problems: list[Problem] | None = None,
    *,
    gate_form: GateForm | None = None,
    schedule_form: ScheduleForm | None = None,
) -> HttpResponse:
    """With what kept a launch from being one, or a form that was refused."""
    versions = configuration_versions(stored)
    shown = asked_version(request, "version", versions) or versions[0]
    other = asked_version(request, "against", versions)
    text = write_document(shown.document)
    is_theirs = can_change_configuration(request.user, stored)
    points = trend_of(stored, runs_for(request.user))
    context = {
        "section": "configurations",
        "stored": stored,
        "versions": versions,
        "shown": shown,
        "other": other,
        "yaml": text,
        "diff": diff_words(write_document(other.document), text) if other else None,
        "can_change": is_theirs and not stored.remove_after,
        "can_restore": is_theirs and stored.remove_after is not None,
        **schedule_context(request, stored, schedule_form),
        "asked": asked_by(stored),
        "comparable": COMPARABLE,
        "sees_baseline": runs_for(request.user).filter(pk=stored.baseline_id or 0).exists(),
        "gate_form": gate_form or GateForm.of(stored),
        "rows": with_gates(newest_runs_of(stored, runs_for(request.user))),
        "trend": as_columns(points) if len(points) > 1 else None,
        "trend_charts": TREND_CHARTS,
        "launch_key": new_key(),
        "problems": problems or [],
    }
    status = 400 if problems or gate_form or schedule_form else 200
    return render(request, "configurations/detail.html", context, status=status)


def schedule_context(
    request: HttpRequest, stored: Configuration, form: ScheduleForm | None
) -> dict[str, Any]:
    found = schedule_of(stored)
    shown = schedule_answer(found, runs_for(request.user)) if found else None
    due = shown.next_due if shown else None
    return {
        "schedule": shown,
        "next_due_text": f"{due:%A, {due.day} %B %Y, %H:%M}" if due else "",
        "schedule_form": form or ScheduleForm.of(found),
    }


def with_gates(rows: list[RunRow]) -> list[tuple[RunRow, RunGate | None]]:
    gates = gate_states([row.run.pk for row in rows])
    return [(row, gates.get(row.run.pk)) for row in rows]


def asked_version(
    request: HttpRequest, name: str, versions: list[ConfigurationVersion]
) -> ConfigurationVersion | None:
    """One that is not there is no page: a link to it may be old."""
    if name not in request.GET:
        return None
    number = read_whole_number(request.GET.get(name))
    found = next((one for one in versions if one.version == number), None)
    if found is None:
        raise Http404(name)
    return found


@requires(Permission.LAUNCH)
@when_too_often()
@require_POST
def configuration_launch(request: HttpRequest, pk: int) -> HttpResponse:
    """As it is stored; the same press of the button starts one run, however often it is sent."""
    stored = open_configuration_for(request.user, pk)
    key = request.POST.get("key", "")[:LONGEST_KEY]
    try:
        made_from = Source(key, configuration=stored)
        run = create_run(person(request), stored.as_document, source=made_from)
    except ConfigurationError as error:
        return show_configuration(request, stored, error.problems)
    return redirect(run)


@requires(Permission.CONFIGURE)
@when_too_often()
@when_too_large(refuse_large_form)
@require_POST
def configuration_save(request: HttpRequest) -> HttpResponse:
    """What the new-run form says, under a name."""
    filled = read_post(request.POST)
    drawn = draw_document(filled)
    if drawn.problems:
        return show_form(request, filled, drawn.problems)
    name = request.POST.get(SAVE_NAME, "").strip() or filled.name.strip()
    before = find_configuration(name)
    try:
        saved = save_configuration(
            person(request),
            name,
            drawn.document,
            description=before.description if before else "",
            is_preset=bool(before and before.is_preset),
        )
    except ConfigurationError as error:
        return show_form(request, filled, [to_save_field(problem) for problem in error.problems])
    messages.success(request, saved_text(saved, before))
    return forget_draft(redirect(saved), draft_of(request))


def saved_text(saved: Configuration, before: Configuration | None) -> str:
    if before is not None and before.version == saved.version:
        return f"It is version {saved.version} already; nothing differs."
    return f"Saved {saved.name}, version {saved.version}."


def to_save_field(problem: Problem) -> Problem:
    """The name of what is saved is another field than the name of the run."""
    return Problem(SAVE_NAME, problem.message) if problem.path == "name" else problem


@requires(Permission.CONFIGURE)
@require_http_methods(["GET", "POST"])
def configuration_share(request: HttpRequest, pk: int) -> HttpResponse:
    stored = open_configuration_for(request.user, pk, write=True)
    return sharing(request, "configurations", stored, share_configuration)
