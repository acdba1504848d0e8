"""The prompt library: the list, one version beside another, and writing the next one."""

from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from runs.access import (
    can_change_prompt,
    get_prompt_for,
    get_run_for,
    prompts_for,
    runs_for,
    stored_configurations_for,
)
from runs.forms.filters import read_whole_number
from runs.forms.prompts import (
    EXAMPLES,
    MESSAGE_ROW,
    PromptFields,
    filled_prompt,
    posted_prompt,
)
from runs.models import Prompt
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.prompts import (
    Origin,
    configurations_naming,
    newest_prompts,
    origin_in,
    origin_of,
    prompt_text,
    prompt_versions,
)
from runs.services.people.sharing import share_prompt
from runs.services.prompts import PromptTakenError, delete_prompt, save_prompt
from runs.views.people import person
from runs.views.sharing import sharing
from runs.word_diff import diff_words
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.documents import write_document
from workers.engine.spec.prompts import Prompt as WrittenPrompt

MOST_LISTED = 500
FIELD_LABELS = {"name": "Name: ", "note": "What this version changes: "}


class FormProblem(NamedTuple):
    """A problem, and the field that it stands under."""

    field: str
    label: str
    message: str


@requires(Permission.SEE)
@require_safe
def prompts(request: HttpRequest) -> HttpResponse:
    found = list(newest_prompts(prompts_for(request.user))[: MOST_LISTED + 1])
    context = {
        "section": "prompts",
        "prompts": [(one, prompt_text(one.content)) for one in found[:MOST_LISTED]],
        "is_cut": len(found) > MOST_LISTED,
        "most": MOST_LISTED,
    }
    return render(request, "prompts/list.html", context)


@requires(Permission.SEE)
@require_safe
def prompt(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_prompt_for(request.user, pk)
    versions = prompt_versions(prompts_for(request.user), found)
    against = read_whole_number(request.GET.get("against"))
    other = next((one for one in versions if one.version == against), None)
    text = prompt_text(found.content)
    example = {"prompts": [{"library": found.name, "version": found.version}]}
    context = {
        "section": "prompts",
        "prompt": found,
        "text": text,
        "versions": versions,
        "other": other,
        "diff": diff_words(prompt_text(other.content), text) if other else None,
        "example": write_document(example),
        "can_change": can_change_prompt(request.user, found),
        "origin": origin_of(found, runs_for(request.user)),
    }
    return render(request, "prompts/detail.html", context)


@requires(Permission.CONFIGURE)
@when_too_often()
@require_http_methods(["GET", "POST"])
def prompt_new(request: HttpRequest) -> HttpResponse:
    """Blank, or with the words of a candidate that a run found."""
    origin = asked_origin(request)
    if request.method == "POST":
        return save_or_show(request, None, origin)
    if origin is None:
        return show_form(request, PromptFields(0, user="{{question}}"), None)
    read = WrittenPrompt.model_validate({"name": "prompt", **origin.content})
    filled = PromptFields(0, **{**filled_prompt(read, "prompt", 0), "name": ""})
    return show_form(request, filled, None, origin=origin)


def asked_origin(request: HttpRequest) -> Origin | None:
    run_id = read_whole_number(request.GET.get("run"))
    if run_id is None:
        return None
    found = origin_in(get_run_for(request.user, run_id), request.GET.get("candidate", ""))
    if found is None:
        raise Http404("This run has no such prompt.")
    return found


@requires(Permission.CONFIGURE)
@when_too_often()
@require_http_methods(["GET", "POST"])
def prompt_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts from the version that the person looked at."""
    stored = get_prompt_for(request.user, pk, write=True)
    if request.method == "POST":
        return save_or_show(request, stored)
    read = WrittenPrompt.model_validate({"name": "prompt", **stored.content})
    return show_form(request, PromptFields(0, **filled_prompt(read, "prompt", 0)), stored)


def save_or_show(
    request: HttpRequest, stored: Prompt | None, origin: Origin | None = None
) -> HttpResponse:
    filled = PromptFields(0, **posted_prompt(request.POST, "prompt", 0))
    filled.library = filled.kept = ""
    if filled.change_messages(request.POST):
        return show_form(request, filled, stored, origin=origin)
    name = stored.name if stored else filled.name
    note, share = request.POST.get("note", ""), stored is None and "share" in request.POST
    try:
        words = filled.words()
        saved = save_prompt(person(request), name, words, note, share=share, origin=origin)
    except ConfigurationError as error:
        return show_form(request, filled, stored, error.problems, origin)
    except PromptTakenError as error:
        return show_form(request, filled, stored, [Problem("name", str(error))], origin)
    if saved.is_new:
        messages.success(request, f"Saved {saved}.")
    else:
        messages.info(request, f"These words are {saved} already.")
    return redirect(saved)


def show_form(
    request: HttpRequest,
    filled: PromptFields,
    stored: Prompt | None,
    problems: list[Problem] | None = None,
    origin: Origin | None = None,
) -> HttpResponse:
    context = {
        "section": "prompts",
        "stored": stored,
        "prompt": filled,
        "origin": origin,
        "own_names": [one.name for one in own_prompts(request)] if stored is None else [],
        "note": request.POST.get("note", ""),
        "share": "share" in request.POST,
        "problems": [placed(problem, filled) for problem in problems or ()],
        "message_row": MESSAGE_ROW,
        "no_problems": (),
        **EXAMPLES,
    }
    return render(request, "prompts/edit.html", context, status=400 if problems else 200)


def own_prompts(request: HttpRequest) -> list[Prompt]:
    """Those that may get another version by their name."""
    found = newest_prompts(prompts_for(request.user))[:MOST_LISTED]
    return [one for one in found if can_change_prompt(request.user, one)]


def placed(problem: Problem, filled: PromptFields) -> FormProblem:
    """Leads a problem of what is stored back to the field of the form."""
    first, *rest = problem.path.split(".")
    if first == "content":
        return FormProblem(filled.find_part(rest), "", problem.message)
    field = "id_note" if first == "note" else f"{filled.field}-name"
    return FormProblem(field, FIELD_LABELS.get(first, ""), problem.message)


@requires(Permission.CONFIGURE)
@require_http_methods(["GET", "POST"])
def prompt_share(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_prompt_for(request.user, pk, write=True)
    return sharing(request, "prompts", found, share_prompt)


@requires(Permission.CONFIGURE)
@require_http_methods(["GET", "POST"])
def prompt_remove(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_prompt_for(request.user, pk, write=True)
    context: dict[str, Any] = {
        "section": "prompts",
        "prompt": found,
        "versions": len(prompt_versions(prompts_for(request.user), found)),
        "configurations": configurations_naming(found, stored_configurations_for(request.user)),
    }
    if request.method != "POST":
        return render(request, "prompts/remove.html", context)
    if request.POST.get("typed", "").strip() != found.name:
        problem = f"Type {found.name} to delete it. Nothing was deleted."
        return render(request, "prompts/remove.html", {**context, "problem": problem}, status=400)
    delete_prompt(found, person(request))
    messages.success(request, f"Deleted {found.name}.")
    return redirect("prompts")
