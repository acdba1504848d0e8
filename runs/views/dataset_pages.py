"""One version of a dataset beyond its rows: what its columns are for, its report, what changed
since another version, its files."""

from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import can_change_dataset, can_erase_dataset, datasets_for, get_dataset_for
from runs.forms.datasets import RolesForm, SplitForm
from runs.forms.filters import read_whole_number
from runs.models import AuditAction, Dataset
from runs.permissions import requires
from runs.rates import when_too_often
from runs.reports.dataset_files import send_rows
from runs.reports.export import Format
from runs.roles import Permission
from runs.selectors.datasets.changes import KINDS, ChangedRow, Kind, changes_between, read_changed
from runs.selectors.datasets.pages import versions_of
from runs.selectors.datasets.report import DatasetReport, report_on
from runs.services.audit import Subject, record
from runs.services.datasets.roles import RoleError, describe_columns
from runs.services.datasets.splitting import SplitError, split_dataset
from runs.services.datasets.storing import DatasetError
from runs.views.people import person
from runs.word_diff import WordDiff, diff_words

CHANGES_ON_PAGE = 25
LONGEST_SHOWN = 2_000  # characters of a cell whose words are compared


class Bar(NamedTuple):
    label: str
    rows: int
    width: float  # percent of the longest


class CellChange(NamedTuple):
    column: str
    diff: WordDiff


class ShownChange(NamedTuple):
    before: int | None  # the number of the row there
    after: int | None
    question: str
    cells: list[CellChange]


def head_of(request: HttpRequest, dataset: Dataset, tab: str) -> dict[str, Any]:
    """What all pages of a dataset show above their own."""
    return {
        "section": "datasets",
        "dataset": dataset,
        "tab": tab,
        "can_change": can_change_dataset(request.user, dataset),
        "can_erase": can_erase_dataset(request.user, dataset),
    }


@requires(Permission.IMPORT)
@require_POST
def dataset_columns(request: HttpRequest, pk: int) -> HttpResponse:
    """Its rows never change; what its columns are for may."""
    found = get_dataset_for(request.user, pk, write=True)
    form = RolesForm(request.POST, found)
    try:
        if not form.is_valid():
            raise RoleError("That is no role of a column. Choose one of the list.")
        describe_columns(found, form.roles())
    except RoleError as error:
        messages.error(request, str(error))
    else:
        now = f"the column {found.expected_column}" if found.expected_column else "no column"
        messages.success(request, f"Saved. The expected answer is {now}. Past runs keep theirs.")
    return redirect(found)


@requires(Permission.IMPORT)
@when_too_often()
@require_POST
def dataset_split(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_dataset_for(request.user, pk, write=True)
    form = SplitForm(request.POST)
    if not form.is_valid():
        messages.error(request, str(next(iter(form.errors.values()))[0]))
        return redirect(found)
    try:
        shares, seed = form.cleaned_data["parts"], form.cleaned_data["seed"]
        stored = split_dataset(person(request), found, shares, seed)
    except (SplitError, DatasetError) as error:
        messages.error(request, str(error))
        return redirect(found)
    messages.success(request, f"{stored} has a part for each row. Choose one by its name in a run.")
    return redirect(stored)


@requires(Permission.SEE)
@when_too_often(also_reading=True)
@require_safe
def dataset_report(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_dataset_for(request.user, pk)
    report = report_on(found)
    context = {**head_of(request, found, "report"), "report": report, "bars": bars_of(report)}
    return render(request, "datasets/report.html", context)


def bars_of(report: DatasetReport) -> list[Bar]:
    most = max((bin.rows for bin in report.lengths.bins), default=1)
    return [
        Bar(
            f"{bin.low:,}" if bin.low == bin.high else f"{bin.low:,} to {bin.high:,}",
            bin.rows,
            100 * bin.rows / most,
        )
        for bin in report.lengths.bins
    ]


@requires(Permission.SEE)
@when_too_often(also_reading=True)
@require_safe
def dataset_changes(request: HttpRequest, pk: int) -> HttpResponse:
    """Since the version before, or another one that the person may see."""
    found = get_dataset_for(request.user, pk)
    others = [one for one in versions_of(datasets_for(request.user), found) if one.pk != found.pk]
    base = base_among(others, found, read_whole_number(request.GET.get("base")))
    context = {**head_of(request, found, "changes"), "others": others, "base": base}
    if base is not None:
        context |= changes_context(request, base, found)
    return render(request, "datasets/changes.html", context)


def base_among(others: list[Dataset], found: Dataset, wanted: int | None) -> Dataset | None:
    """The version asked for, else the one before, else the next one."""
    by_number = {one.version: one for one in others}
    if wanted in by_number:
        return by_number[wanted]
    earlier = [number for number in by_number if number < found.version]
    return by_number[max(earlier)] if earlier else next(iter(others), None)


def changes_context(request: HttpRequest, base: Dataset, found: Dataset) -> dict[str, Any]:
    changes = changes_between(base, found)
    asked = request.GET.get("show", "")
    first = next((kind for kind in KINDS if changes.count(kind)), KINDS[0])
    kind: Kind = next((kind for kind in KINDS if kind == asked), first)
    start = min(read_whole_number(request.GET.get("start")) or 0, changes.count(kind))
    pairs = changes.pairs[kind][start : start + CHANGES_ON_PAGE]
    end = start + len(pairs)
    return {
        "changes": changes,
        "counts": [(name, changes.count(name)) for name in KINDS],
        "kind": kind,
        "rows": [shown(row, found.columns, base) for row in read_changed(base, found, pairs)],
        "total": changes.count(kind),
        "first_number": start + 1,
        "end": end,
        "previous": max(start - CHANGES_ON_PAGE, 0) if start else None,
        "next": end if end < changes.count(kind) else None,
    }


def shown(row: ChangedRow, columns: list[str], base: Dataset) -> ShownChange:
    case = row.after or row.before
    old, new = row.before, row.after
    both = [column for column in columns if column in base.columns]
    cells = row.changed_columns(both) if old and new else []
    return ShownChange(
        old.position + 1 if old else None,
        new.position + 1 if new else None,
        case.question if case else "",
        [
            CellChange(
                column,
                diff_words(
                    old.fields.get(column, "")[:LONGEST_SHOWN] if old else "",
                    new.fields.get(column, "")[:LONGEST_SHOWN] if new else "",
                ),
            )
            for column in cells
        ],
    )


@requires(Permission.SEE)
@require_safe
def dataset_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return send(request, pk, "csv")


@requires(Permission.SEE)
@require_safe
def dataset_jsonl(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return send(request, pk, "jsonl")


def send(request: HttpRequest, pk: int, form: Format) -> StreamingHttpResponse:
    found = get_dataset_for(request.user, pk)
    record(AuditAction.EXPORTED, Subject("dataset", found.name), f"v{found.version}, rows.{form}")
    return send_rows(request, found, form)
