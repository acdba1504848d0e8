"""What people put on a run: a star of their own, tags and a note; and taking it out of the list."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_run_for
from runs.models import Run
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.runs.organised import tags_of
from runs.services.organising import LONGEST_NOTE, read_tags, set_note, set_tags, star_run
from runs.services.removing.archiving import InUseError
from runs.services.removing.run_trash import archive_run, restore_run
from runs.views.going_back import go_back
from runs.views.people import person
from workers.engine.errors import ConfigurationError


@requires(Permission.SEE)
@require_POST
def run_star(request: HttpRequest, run_id: int) -> HttpResponse:
    """Of this person alone, so seeing the run is enough."""
    run = get_run_for(request.user, run_id)
    star_run(run, person(request), is_starred=request.POST.get("star") == "yes")
    return go_back(request, run)


@requires(Permission.LAUNCH)
@require_POST
def run_archive(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    archive = request.POST.get("archive") == "yes"
    try:
        (archive_run if archive else restore_run)(run, person(request))
    except InUseError as error:
        messages.error(request, str(error))
        return go_back(request, run)
    told = "is archived: lists show it under Archived" if archive else "is back in the list"
    messages.success(request, f"{run} {told}.")
    return go_back(request, run)


@requires(Permission.LAUNCH)
@require_http_methods(["GET", "POST"])
def run_about(request: HttpRequest, run_id: int) -> HttpResponse:
    """Its tags and its note."""
    run = get_run_for(request.user, run_id, write=True)
    if request.method != "POST":
        return show_about(request, run, ", ".join(tags_of(run)), run.note)
    tags, note = request.POST.get("tags", ""), request.POST.get("note", "")
    try:
        set_tags(run, person(request), read_tags(tags))
        set_note(run, person(request), note)
    except ConfigurationError as error:
        problem = " ".join(one.message for one in error.problems)
        return show_about(request, run, tags, note, problem)
    return redirect(run)


def show_about(
    request: HttpRequest, run: Run, tags: str, note: str, problem: str = ""
) -> HttpResponse:
    context = {
        "section": "runs",
        "run": run,
        "tags": tags,
        "note": note,
        "problem": problem,
        "longest": LONGEST_NOTE,
    }
    return render(request, "runs/about.html", context, status=400 if problem else 200)
