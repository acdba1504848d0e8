"""The new-run page and its estimate."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import (
    datasets_to_run_on,
    get_run_for,
    prompts_for,
    runs_for,
    usable_datasets_for,
    usable_endpoints_for,
)
from runs.forms.dataset_slice import HELP as SLICE_HELP
from runs.forms.filters import read_whole_number
from runs.forms.new_run import (
    ALSO_SCORED,
    COMBINATIONS,
    NewRunInput,
    blank_input,
    known_kind,
    new_key,
    read_post,
)
from runs.forms.problems import place
from runs.forms.prompts import EXAMPLES, MESSAGE_ROW
from runs.forms.starting_points import from_document
from runs.kinds import every_kind
from runs.large_bodies import refused_of, when_too_large
from runs.models import Dataset, Run
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.datasets.pages import newest_versions
from runs.selectors.endpoints.listed import group_models
from runs.selectors.estimates.estimate import estimate
from runs.selectors.prompts import newest_prompts
from runs.selectors.quotas import quota_lines, quota_of, use_of
from runs.selectors.starting_points import (
    OlderVersion,
    configurations_for,
    document_to_repeat,
    older_version,
    recent_runs,
)
from runs.services.datasets.storing import guess_format, preview_dataset
from runs.services.runs import create_run
from runs.views.people import person
from runs.views.started_from import name_to_save, source_of
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.documents import write_document
from workers.engine.spec.expected import USUAL_NAMES
from workers.engine.spec.presets import PRESETS

MOST_ROWS = 100_000
MOST_OFFERED = 200  # prompts of the library; others are named as YAML
LARGEST_SHOWN_ROWS = 50_000  # characters
LAUNCHED_DRAFT = "launched_draft"  # a cookie that the next page's script reads and deletes
DRAFT_SECONDS = 24 * 3600  # the next page may be opened much later, when the network is back
DRAFT_ID = re.compile(r"[0-9a-f-]{1,40}")
CACHE_MODES = {
    "use": "Use stored answers",
    "refresh": "Ask again and store",
    "off": "Neither read nor store",
}


DATASET_HELP = {
    "example": "question,expected\nWhat is 2 + 3?,5",
    "rows": "CSV with a header line, a JSON array of objects, or one JSON object a line.",
    "expected": "The column that scorers compare with. Blank: the one that the dataset names; of "
    f"pasted rows, a column named {', '.join(USUAL_NAMES[:-1])} or {USUAL_NAMES[-1]}.",
}


class Drawn(NamedTuple):
    """The document the form describes, or what keeps it from being one."""

    document: dict[str, Any]
    problems: list[Problem]


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


def draft_of(request: HttpRequest) -> str:
    """The number that the browser gave to the draft that it keeps of this form."""
    sent = request.POST.get("draft", "")
    return sent if DRAFT_ID.fullmatch(sent) else ""


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
    if configuration_id := read_whole_number(request.GET.get("configuration")):
        found = get_object_or_404(configurations_for(request.user), pk=configuration_id)
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


def past_run(request: HttpRequest) -> Run | None:
    """The run that the form was filled in from, if any; it stays in the address."""
    run_id = read_whole_number(request.GET.get("run"))
    return get_run_for(request.user, run_id) if run_id else None


def draw_document(filled: NewRunInput) -> Drawn:
    if filled.mode == "yaml":
        try:
            return Drawn(filled.yaml_document(), [])
        except ConfigurationError as error:
            return Drawn({}, error.problems)
    if filled.dataset_source != "paste" or not filled.rows.strip():
        return Drawn(filled.document(), [])
    read = preview_dataset(filled.rows, guess_format(filled.rows), limit=MOST_ROWS)
    problems = [
        Problem("dataset.rows", f"Line {problem.line}: {problem.message}")
        for problem in read.problems
    ]
    return Drawn(filled.document(read.rows), problems)


def estimate_context(request: HttpRequest, filled: NewRunInput) -> dict[str, Any]:
    user = person(request)
    quota = quota_lines(quota_of(user), use_of(user))
    drawn = draw_document(filled)
    if drawn.problems:
        return {"estimate": None, "problems": place(drawn.problems, filled), "quota": quota}
    result = estimate(drawn.document, datasets_to_run_on(user), user, prompts_for(user))
    problems = place(result.problems, filled)
    shown = form_as_yaml(filled, drawn)
    return {"estimate": result, "problems": problems, "yaml": shown, "quota": quota}


def form_as_yaml(filled: NewRunInput, drawn: Drawn) -> str:
    """What the YAML view starts with. Pasted rows can be many; then it is left to the person."""
    is_large = filled.dataset_source == "paste" and len(filled.rows) > LARGEST_SHOWN_ROWS
    return "" if filled.mode == "yaml" or is_large else write_document(drawn.document)


def start_of(request: HttpRequest) -> str:
    """What the script may do with a draft: restore it, or only offer it, or leave the form as it
    was sent."""
    if request.method == "POST":
        return "refused"
    return "given" if request.GET else "blank"


def columns_of(datasets: Sequence[Dataset], older: OlderVersion | None) -> dict[str, Any]:
    """By what the form calls a dataset: what prompts are offered, and what scorers compare with."""
    named = {dataset.name: dataset for dataset in datasets}
    named |= {older.choice: older.dataset} if older else {}
    return {
        name: {
            "inputs": dataset.input_columns or dataset.columns,
            "columns": dataset.columns,
            "expected": dataset.expected_column,
        }
        for name, dataset in named.items()
    }


def show_form(
    request: HttpRequest, filled: NewRunInput, problems: list[Problem], status: int = 400
) -> HttpResponse:
    placed = place(problems, filled)
    filled.key = filled.key or new_key()
    datasets = list(newest_versions(usable_datasets_for(request.user)))
    groups = group_models(usable_endpoints_for(request.user))
    offered = {model for group in groups for model in group.models}
    library = list(newest_prompts(prompts_for(request.user))[:MOST_OFFERED])
    past = past_run(request)
    older = older_version(past, datasets_to_run_on(request.user)) if past else None
    listed = {dataset.name for dataset in datasets} | ({older.choice} if older else set())
    columns = columns_of(datasets, older)
    context = {
        "section": "run_new",
        "filled": filled,
        "problems": placed,
        "datasets": datasets,
        "is_dataset_listed": filled.dataset in listed,
        "older_version": older,
        "dataset_help": DATASET_HELP,
        "dataset_columns": columns,
        "input_columns": columns.get(filled.dataset, {}).get("inputs", ()),
        "slice_help": SLICE_HELP,
        "model_groups": groups,
        "kinds": [kind for kind in every_kind() if kind.section],
        "sections": [(own, own.unlisted(offered)) for own in filled.sections.values()],
        "no_problems": (),
        "library": library,
        "library_names": {one.name for one in library},
        "message_row": MESSAGE_ROW,
        **EXAMPLES,
        "presets": PRESETS,
        "cache_modes": CACHE_MODES,
        "also_scored": ALSO_SCORED,
        "combinations": COMBINATIONS,
        "configurations": configurations_for(request.user),
        "past_runs": recent_runs(runs_for(request.user)),
        "started_from": {name: request.GET.get(name, "") for name in ("configuration", "run")},
        "panel": estimate_context(request, filled),
        "start": start_of(request),
        "draft": draft_of(request),
        "save_name": name_to_save(request),
    }
    return render(request, "runs/new/page.html", context, status=status if problems else 200)
