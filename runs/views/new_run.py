"""The new-run page and its estimate."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import datasets_to_run_on
from runs.forms.new_run import NewRunInput, blank_input, known_kind, read_post
from runs.forms.problems import place
from runs.forms.starting_points import from_document
from runs.large_bodies import refused_of, when_too_large
from runs.models import Run
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.starting_points import document_to_repeat, older_version
from runs.services.runs import create_run
from runs.views.new_run_form import (
    chosen_configuration,
    draft_of,
    draw_document,
    estimate_context,
    past_run,
    show_form,
)
from runs.views.people import person
from runs.views.started_from import source_of
from workers.engine.errors import ConfigurationError, Problem

LAUNCHED_DRAFT = "launched_draft"  # a cookie that the next page's script reads and deletes
DRAFT_SECONDS = 24 * 3600  # the next page may be opened much later, when the network is back


def refuse_large_form(request: HttpRequest) -> HttpResponse:
    filled, problem = too_large_to_read(request)
    back = Problem("", "The form could not be read. Your browser's Back button brings it back.")
    return show_form(request, filled, [problem, back], status=413)


def refuse_large_estimate(request: HttpRequest) -> HttpResponse:
    filled, problem = too_large_to_read(request)
    context = {"estimate": None, "problems": place([problem], filled)}
    return render(request, "runs/new/_estimate.html", context, status=413)


def refuse_frequent_estimate(request: HttpRequest, sentence: str) -> HttpResponse:
    context = {"refused": f"{sentence} The next change in the form asks again."}
    return render(request, "runs/new/_estimate.html", context, status=429)


def too_large_to_read(request: HttpRequest) -> tuple[NewRunInput, Problem]:
    """Only pasted rows can be that many."""
    filled = blank_input()
    filled.dataset_source = "paste"
    refused = refused_of(request)
    return filled, Problem("dataset.rows", refused.sentence if refused else "")


@requires(Permission.LAUNCH)
@when_too_often()
@when_too_large(refuse_large_form)
@require_http_methods(["GET", "POST"])
def run_new(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return show_form(request, starting_point(request), [])
    filled = read_post(request.POST)
    if filled.section.change_rows(request.POST):
        return show_form(request, filled, [])
    drawn = draw_document(filled)
    if drawn.problems:
        return show_form(request, filled, drawn.problems)
    try:
        source = source_of(request, filled.key, drawn.document)
        run = create_run(person(request), drawn.document, source=source)
    except ConfigurationError as error:
        return show_form(request, filled, error.problems)
    return forget_draft(redirect(run), draft_of(request))


def forget_draft(response: HttpResponse, draft: str) -> HttpResponse:
    """Only the server knows that a launch succeeded, and only the browser has the draft."""
    if draft:
        response.set_cookie(LAUNCHED_DRAFT, draft, max_age=DRAFT_SECONDS, samesite="Lax")
    return response


@requires(Permission.LAUNCH)
@when_too_often(refuse_frequent_estimate)
@when_too_large(refuse_large_estimate)
@require_POST
def run_estimate(request: HttpRequest) -> HttpResponse:
    """The estimate panel anew, for what the form says at this moment."""
    filled = read_post(request.POST)
    return render(request, "runs/new/_estimate.html", estimate_context(request, filled))


def starting_point(request: HttpRequest) -> NewRunInput:
    """A blank form, or one filled in from a configuration or a past run."""
    if found := chosen_configuration(request):
        return from_document(found.as_document)
    if past := past_run(request):
        return repeat(request, past)
    blank = blank_input()
    blank.kind = known_kind(request.GET.get("kind"))
    return blank


def repeat(request: HttpRequest, past: Run) -> NewRunInput:
    datasets = datasets_to_run_on(request.user)
    filled = from_document(document_to_repeat(past, datasets))
    older = older_version(past, datasets)
    if older and filled.mode == "yaml":
        filled.yaml = f"# {older}\n{filled.yaml}"  # where the form's note is not seen
    return filled
