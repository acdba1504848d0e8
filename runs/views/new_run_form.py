"""The new-run form as it is shown: what it offers, what it says now, and what that would take."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from runs.access import (
    datasets_to_run_on,
    get_run_for,
    prompts_for,
    runs_for,
    usable_datasets_for,
    usable_endpoints_for,
)
from runs.forms.advanced import ADAPTIVE, PRIORITIES, SCHEDULES
from runs.forms.dataset_slice import HELP as SLICE_HELP
from runs.forms.filters import read_whole_number
from runs.forms.new_run import ALSO_SCORED, COMBINATIONS, NewRunInput, new_key
from runs.forms.problems import place
from runs.forms.prompts import EXAMPLES, MESSAGE_ROW
from runs.kinds import every_kind
from runs.models import Configuration, Dataset, Run
from runs.reports.curl import as_curl
from runs.selectors.datasets.pages import newest_versions
from runs.selectors.endpoints.listed import group_models
from runs.selectors.estimates.estimate import estimate
from runs.selectors.prompts import newest_prompts
from runs.selectors.quotas import quota_lines, quota_of, use_of
from runs.selectors.starting_differences import StartedFrom, differences
from runs.selectors.starting_points import (
    OlderVersion,
    configurations_for,
    document_to_repeat,
    older_version,
    recent_runs,
)
from runs.services.datasets.storing import guess_format, preview_dataset
from runs.views.people import person
from runs.views.started_from import name_to_save, started_configuration
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.documents import write_document
from workers.engine.spec.expected import USUAL_NAMES
from workers.engine.spec.presets import PRESETS

MOST_ROWS = 100_000
MOST_OFFERED = 200  # prompts of the library; others are named as YAML
LARGEST_SHOWN_ROWS = 50_000  # characters
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


def draw_document(filled: NewRunInput) -> Drawn:
    if filled.mode == "yaml":
        try:
            return Drawn(filled.yaml_document(), [])
        except ConfigurationError as error:
            return Drawn({}, error.problems)
    if filled.dataset_source != "paste" or not filled.rows.strip():
        return Drawn(filled.document(), filled.parameters.problems())
    read = preview_dataset(filled.rows, guess_format(filled.rows), limit=MOST_ROWS)
    problems = [
        Problem("dataset.rows", f"Line {problem.line}: {problem.message}")
        for problem in read.problems
    ]
    document = filled.document(read.rows)
    return Drawn(document, problems + filled.parameters.problems())


def estimate_context(request: HttpRequest, filled: NewRunInput) -> dict[str, Any]:
    user = person(request)
    quota = quota_lines(quota_of(user), use_of(user))
    drawn = draw_document(filled)
    if drawn.problems:
        return {"estimate": None, "problems": place(drawn.problems, filled), "quota": quota}
    result = estimate(drawn.document, datasets_to_run_on(user), user, prompts_for(user))
    problems = place(result.problems, filled)
    start = started_from(request)
    differs = differences(start, drawn.document) if start and not problems else None
    return {
        "estimate": result,
        "problems": problems,
        "yaml": form_as_yaml(filled, drawn),
        "curl": "" if problems else form_as_curl(request, filled, drawn),
        "quota": quota,
        "differs": differs,
    }


def started_from(request: HttpRequest) -> StartedFrom | None:
    """What the form was filled in from; it stays in the address."""
    if found := chosen_configuration(request):
        return StartedFrom(f"the configuration {found.name}", found.as_document)
    if past := past_run(request):
        document = document_to_repeat(past, datasets_to_run_on(request.user))
        return StartedFrom(f"run #{past.pk}", document)
    return None


def chosen_configuration(request: HttpRequest) -> Configuration | None:
    """404 for one that is gone, or that the person may not see."""
    found = started_configuration(request)
    if found is None and read_whole_number(request.GET.get("configuration")):
        raise Http404("There is no such configuration.")
    return found


def form_as_yaml(filled: NewRunInput, drawn: Drawn) -> str:
    """What the YAML view starts with. Pasted rows can be many; then it is left to the person."""
    if filled.mode == "yaml" or has_many_rows(filled):
        return ""
    return write_document(drawn.document)


def form_as_curl(request: HttpRequest, filled: NewRunInput, drawn: Drawn) -> str:
    """What starts the same run from a script."""
    if has_many_rows(filled):
        return ""
    return as_curl(request.build_absolute_uri("/api/v1/runs"), drawn.document)


def has_many_rows(filled: NewRunInput) -> bool:
    return filled.dataset_source == "paste" and len(filled.rows) > LARGEST_SHOWN_ROWS


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
    request: HttpRequest,
    filled: NewRunInput,
    problems: list[Problem],
    status: int = 400,
    dry: Mapping[str, Any] | None = None,
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
        "advanced": {"schedules": SCHEDULES, "adaptive": ADAPTIVE, "priorities": PRIORITIES},
        "also_scored": ALSO_SCORED,
        "combinations": COMBINATIONS,
        "configurations": configurations_for(request.user),
        "past_runs": recent_runs(runs_for(request.user)),
        "started_from": {name: request.GET.get(name, "") for name in ("configuration", "run")},
        "panel": estimate_context(request, filled),
        "start": start_of(request),
        "draft": draft_of(request),
        "save_name": name_to_save(request),
        "dry": dry,
    }
    return render(request, "runs/new/page.html", context, status=status if problems else 200)


def draft_of(request: HttpRequest) -> str:
    """The number that the browser gave to the draft that it keeps of this form."""
    sent = request.POST.get("draft", "")
    return sent if DRAFT_ID.fullmatch(sent) else ""


def past_run(request: HttpRequest) -> Run | None:
    """The run that the form was filled in from, if any; it stays in the address."""
    run_id = read_whole_number(request.GET.get("run"))
    return get_run_for(request.user, run_id) if run_id else None
