"""Datasets: the list, one version's rows, and importing a new one."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from runs.access import (
    datasets_for,
    get_dataset_for,
    runs_for,
)
from runs.formatting import counted
from runs.forms.datasets import ImportForm, RolesForm, SplitForm
from runs.forms.filters import read_whole_number
from runs.large_bodies import refused_of, when_too_large
from runs.models import Case
from runs.models.dataset import ColumnRole
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.datasets.pages import (
    RowFilters,
    list_cases,
    newest_versions,
    recent_runs,
    versions_of,
)
from runs.services.datasets.storing import (
    DatasetError,
    LineProblem,
    NameTakenError,
    NoColumnError,
    Preview,
    guess_format,
    import_dataset,
    preview_dataset,
    refuse_taken,
    settle_expected,
)
from runs.services.people.sharing import share_dataset
from runs.views.dataset_pages import head_of
from runs.views.people import person
from runs.views.sharing import sharing

PREVIEW_ROWS = 20
# What is put back into the paste box, so that a checked file need not be chosen again. In bytes.
LARGEST_ECHO = 1024 * 1024


Upload = UploadedFile[bytes]


class TableRow(NamedTuple):
    number: int
    cells: list[str]


@requires(Permission.SEE)
@require_safe
def datasets(request: HttpRequest) -> HttpResponse:
    found, shows_archived = newest_versions(datasets_for(request.user)), "archived" in request.GET
    context = {
        "section": "datasets",
        "datasets": found.filter(archived__isnull=not shows_archived),
        "shows_archived": shows_archived,
        "archived": found.filter(archived__isnull=False).count(),
    }
    return render(request, "datasets/list.html", context)


@requires(Permission.SEE)
@require_safe
def dataset(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_dataset_for(request.user, pk)
    filters = RowFilters(request.GET.get("tag", "").strip(), request.GET.get("part", "").strip())
    page = list_cases(
        found,
        after=read_whole_number(request.GET.get("after")),
        before=read_whole_number(request.GET.get("before")),
        filters=filters,
    )
    context = {
        **head_of(request, found, "rows"),
        "page": page,
        "filters": filters,
        "filter_query": urlencode({name: text for name, text in filters._asdict().items() if text}),
        "has_parts": bool(found.column_for(ColumnRole.SPLIT)),
        "has_tags": bool(found.column_for(ColumnRole.TAGS)),
        "rows": [row_of(case, found.columns) for case in page.cases],
        "last_number": page.cases[-1].position + 1 if page.cases else 0,
        "versions": versions_of(datasets_for(request.user), found),
        "runs": recent_runs(runs_for(request.user), found),
        "roles_form": RolesForm(None, found),
        "roles": [(column, found.role_of(column)) for column in found.columns],
        "split_form": SplitForm(),
    }
    return render(request, "datasets/detail.html", context)


@requires(Permission.IMPORT)
@require_http_methods(["GET", "POST"])
def dataset_share(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_dataset_for(request.user, pk, write=True)
    return sharing(request, "datasets", found, share_dataset)


def row_of(case: Case, columns: list[str]) -> TableRow:
    """A case in the order of its dataset's columns."""
    return TableRow(case.position + 1, [case.fields.get(column, "") for column in columns])


def refuse_large_import(request: HttpRequest) -> HttpResponse:
    refused = refused_of(request)
    problem = LineProblem(0, refused.sentence if refused else "")
    return show_import(request, ImportForm(), problems=[problem], status=413)


def refuse_frequent_import(request: HttpRequest, sentence: str) -> HttpResponse:
    return show_import(request, ImportForm(), problems=[LineProblem(0, sentence)], status=429)


@requires(Permission.IMPORT)
@when_too_often(refuse_frequent_import)
@when_too_large(refuse_large_import)
@require_http_methods(["GET", "POST"])
def dataset_import(request: HttpRequest) -> HttpResponse:
    initial = {"name": request.GET.get("name", "")}
    form = ImportForm(request.POST or None, request.FILES or None, initial=initial)
    if request.method != "POST" or not form.is_valid():
        return show_import(request, form)
    try:
        source = source_of(form)
        if form.errors:
            return show_import(request, form)
        preview = preview_dataset(source, guess_format(source), limit=PREVIEW_ROWS)
        if preview.problems:
            return show_import(request, form, source=source, preview=preview)
        name, expected = form.cleaned_data["name"], form.cleaned_data["expected"]
        refuse_taken(person(request), name)
        preview.expected = settle_expected(name, preview.columns, expected)
        if request.POST.get("step") != "import":
            return show_import(request, form, source=source, preview=preview)
        saved = import_dataset(
            person(request),
            name,
            source,
            guess_format(source),
            expected,
            share=form.cleaned_data["share"],
        )
    except NameTakenError as error:
        form.add_error("name", error.problems[0].message)
        return show_import(request, form, source=source)
    except NoColumnError as error:
        form.add_error("expected", error.problems[0].message)
        return show_import(request, form, source=source)
    except DatasetError as error:
        return show_import(request, form, problems=error.problems)
    if saved.is_new:
        messages.success(request, f"Imported {saved} ({counted(saved.rows, 'row')}).")
    else:
        messages.info(request, f"These rows are {saved} already.")
    return redirect(saved)


def source_of(form: ImportForm) -> str | Upload:
    """The rows: of the file if there is one, else of the box. Other rows in both are an error."""
    file, pasted = form.cleaned_data["file"], form.cleaned_data["text"]
    if not isinstance(file, UploadedFile):
        return str(pasted)
    if pasted.strip() and plain_lines(pasted) != plain_lines(echo_of(file)):
        form.add_error("file", "You chose a file and pasted rows. Remove one of them.")
    return file


def echo_of(source: str | Upload) -> str:
    """The text for the box; none of a large file, which is only read piece by piece."""
    if isinstance(source, str):
        return source
    if (source.size or 0) > LARGEST_ECHO:
        return ""
    source.seek(0)
    try:
        return str(source.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        return ""


def plain_lines(text: str) -> str:
    """For comparing: a browser sends the text of a box with other line ends than the file's."""
    return text.strip("\ufeff \t\r\n").replace("\r\n", "\n").replace("\r", "\n")


def show_import(
    request: HttpRequest,
    form: ImportForm,
    *,
    source: str | Upload = "",
    preview: Preview | None = None,
    problems: Sequence[LineProblem] = (),
    status: int = 400,
) -> HttpResponse:
    found = problems or (preview.problems if preview else ())
    if text := echo_of(source):
        form.data = request.POST.copy()
        form.data["text"] = text  # a file that was read need not be chosen again
    # A script asks for the part below the form only, so that the chosen file stays chosen.
    is_part = request.headers.get("X-Part") == "preview"
    context = {
        "section": "datasets",
        "form": form,
        "preview": preview,
        "problems": found,
        "is_part": is_part,
        "can_import": preview is not None and not found,
        "must_choose_again": not is_part and bool(source) and not text,
    }
    template = "datasets/_preview.html" if is_part else "datasets/import.html"
    return render(request, template, context, status=status if found or form.errors else 200)
