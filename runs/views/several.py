"""One action on the runs that were ticked: asked by a link it says what would happen; only the
confirmed form acts."""

from collections.abc import Callable, Iterable

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods

from runs.access import runs_to_change
from runs.formatting import counted
from runs.forms.filters import read_whole_number
from runs.models import Run
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.erasures import in_words
from runs.selectors.runs.several import (
    ACTIONS,
    MOST_AT_ONCE,
    Chosen,
    answers_kept,
    goes_along,
    sort_out,
)
from runs.services.control.retrying import retry_failed
from runs.services.organising import change_tags, read_tags
from runs.services.removing.archiving import InUseError
from runs.services.removing.run_trash import archive_run, delete_run, restore_run
from runs.services.runs import cancel_run
from runs.views.people import person
from runs.views.run_control import tell_why
from workers.engine.errors import ConfigurationError

DID = {
    "tag": "Tagged",
    "retry": "Retried",
    "cancel": "Cancelled",
    "archive": "Archived",
    "restore": "Brought back",
    "delete": "Deleted",
}


@requires(Permission.LAUNCH)
@require_http_methods(["GET", "POST"])
def runs_several(request: HttpRequest) -> HttpResponse:
    given = request.POST if request.method == "POST" else request.GET
    name = given.get("do", "archive")
    if name not in ACTIONS:
        raise Http404("There is no such action.")
    visible = runs_to_change(request.user, read_numbers(given))
    chosen = sort_out(ACTIONS[name], visible.runs, visible.refusals)
    if request.method == "POST" and chosen.runs:
        return act(request, name, chosen.runs)
    return show(request, name, chosen)


def read_numbers(given: QueryDict) -> list[int]:
    numbers = (read_whole_number(text) for text in given.getlist("run")[:MOST_AT_ONCE])
    return [number for number in numbers if number is not None]


def show(request: HttpRequest, name: str, chosen: Chosen) -> HttpResponse:
    is_delete = name == "delete"
    context = {
        "section": "runs",
        "do": name,
        "action": ACTIONS[name],
        "chosen": chosen,
        "along": in_words(goes_along(chosen.runs)) if is_delete and chosen.runs else [],
        "kept": answers_kept(chosen.runs) if is_delete else 0,
        "days": settings.TRASH_DAYS,
    }
    return render(request, "runs/several.html", context)


def act(request: HttpRequest, name: str, runs: Iterable[Run]) -> HttpResponse:
    """Each on its own: what one refuses does not hold up the others."""
    do, done = action_of(request, name), list[Run]()
    for run in runs:
        try:
            if do(run):
                done.append(run)
        except ConfigurationError as error:
            tell_why(request, error)
        except InUseError as error:  # since the page was opened
            messages.error(request, str(error))
    if done:
        context = {"told": f"{DID[name]} {counted(len(done), 'run')}.", "do": name, "runs": done}
        messages.success(request, render_to_string("runs/_did.html", context))
    return redirect("runs")


def action_of(request: HttpRequest, name: str) -> Callable[[Run], object]:
    user = person(request)
    add, remove = (read_tags(request.POST.get(field, "")) for field in ("add", "remove"))
    does: dict[str, Callable[[Run], object]] = {
        "tag": lambda run: change_tags(run, user, add, remove),
        "retry": lambda run: retry_failed(run, user),
        "cancel": lambda run: cancel_run(run, user),
        "archive": lambda run: archive_run(run, user),
        "restore": lambda run: restore_run(run, user),
        "delete": lambda run: delete_run(run, user),
    }
    return does[name]
