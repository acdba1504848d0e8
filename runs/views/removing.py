"""Deleting, archiving and bringing back datasets and endpoints, with what uses them said first."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import (
    all_configurations_for,
    datasets_for,
    get_dataset_for,
    get_endpoint_for,
    runs_for,
)
from runs.models import Configuration, Dataset, Endpoint, Run
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.datasets.pages import versions_of
from runs.selectors.dependents import (
    Dependents,
    dependents_of_dataset,
    dependents_of_endpoint,
    dependents_of_version,
)
from runs.services.removing.archiving import (
    InUseError,
    archive_dataset,
    archive_endpoint,
    delete_dataset,
    delete_endpoint,
    delete_version,
    remove_dataset,
    remove_endpoint,
    restore_dataset,
    restore_endpoint,
)
from runs.views.people import person

MOST_SHOWN = 10  # runs and configurations that are named; the others are counted


class Shown(NamedTuple):
    """Of what uses a thing: what the person may see, the newest runs first."""

    text: str
    runs: list[Run]
    configurations: list[Configuration]


class Deletion(NamedTuple):
    """Something that can be deleted, once its name was typed."""

    action: str
    label: str
    typed: str
    act: Callable[[], object]
    undo: str = "This cannot be undone."

    def problem_with(self, request: HttpRequest) -> str:
        """Empty if the name was typed."""
        is_typed = request.POST.get("typed", "").strip() == self.typed
        return "" if is_typed else f"Type {self.typed} to delete it. Nothing was deleted."


@requires(Permission.IMPORT)
@require_http_methods(["GET", "POST"])
def dataset_remove(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_dataset_for(request.user, pk, write=True)
    if request.POST.get("action") == "archive":
        archive_dataset(person(request), found.name)
        messages.success(request, f"{found.name} is archived: new runs cannot choose it.")
        return redirect("datasets")
    used = dependents_of_dataset(found.name)
    context = {
        "section": "datasets",
        "thing": found,
        "kind": "dataset",
        "list": reverse("datasets"),
        "deletions": dataset_deletions(request, found, used),
        "used": shown(request, used),
    }
    return delete_or_show(request, context)


def dataset_deletions(request: HttpRequest, found: Dataset, used: Dependents) -> list[Deletion]:
    user, versions = person(request), len(versions_of(datasets_for(request.user), found))
    possible, name = [], found.name
    whole = f"{name}, all {versions} versions" if versions > 1 else name
    if not used and found.remove_after:
        label = f"Remove {whole}, for good now"
        possible.append(Deletion("remove", label, name, lambda: remove_dataset(user, name)))
    elif not used:
        undo = undo_text("Archived")
        act = Deletion("delete", f"Delete {whole}", name, lambda: delete_dataset(user, name), undo)
        possible.append(act)
    if versions > 1 and not dependents_of_version(found):
        label = f"Delete only version {found.version}"
        possible.append(
            Deletion("delete_version", label, str(found), lambda: delete_version(user, found))
        )
    return possible


@requires(Permission.IMPORT)
@require_POST
def dataset_restore(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_dataset_for(request.user, pk, write=True)
    if restore_dataset(person(request), found.name):
        messages.success(request, f"{found.name} is back: new runs can choose it.")
    return redirect(found)


@requires(Permission.EDIT_ENDPOINTS)
@require_http_methods(["GET", "POST"])
def endpoint_remove(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_endpoint_for(request.user, pk, write=True)
    if request.POST.get("action") == "archive":
        archive_endpoint(person(request), found)
        messages.success(request, f"{found.name} is archived: new runs cannot choose its models.")
        return redirect("endpoints")
    used = dependents_of_endpoint(found)
    context = {
        "section": "endpoints",
        "thing": found,
        "kind": "endpoint",
        "list": reverse("endpoints"),
        "deletions": [] if used else [endpoint_deletion(request, found)],
        "used": shown(request, used),
    }
    return delete_or_show(request, context)


def endpoint_deletion(request: HttpRequest, found: Endpoint) -> Deletion:
    user, whole = person(request), found.name + (" and its key" if found.has_key else "")
    if found.remove_after:
        label = f"Remove {whole}, for good now"
        return Deletion("remove", label, found.name, lambda: remove_endpoint(user, found))
    undo = undo_text("Archived")
    act: Callable[[], object] = lambda: delete_endpoint(user, found)  # noqa: E731
    return Deletion("delete", f"Delete {whole}", found.name, act, undo)


@requires(Permission.EDIT_ENDPOINTS)
@require_POST
def endpoint_restore(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_endpoint_for(request.user, pk, write=True)
    if restore_endpoint(person(request), found):
        messages.success(request, f"{found.name} is back: new runs can choose its models.")
    return redirect(found)


def undo_text(where: str) -> str:
    days = settings.TRASH_DAYS
    return f"It can be brought back for {days} days, under {where}; then it is removed for good."


def shown(request: HttpRequest, used: Dependents) -> Shown:
    return Shown(
        used.text,
        used.runs_among(runs_for(request.user), MOST_SHOWN),
        used.configurations_among(all_configurations_for(request.user), MOST_SHOWN),
    )


def delete_or_show(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Delete what was asked for if its name was typed; else the page, with what is wrong."""
    if request.method != "POST":
        return render(request, "parts/remove.html", context)
    asked = [one for one in context["deletions"] if one.action == request.POST.get("action")]
    problem = "Choose what to do."
    if context["used"].text:
        problem = f"{context['thing']} is used by {context['used'].text}. Archive it instead."
    for deletion in asked:
        if problem := deletion.problem_with(request):
            continue
        try:
            deletion.act()
        except InUseError as error:  # since the page was opened
            problem = str(error)
            continue
        messages.success(request, f"Deleted {deletion.typed}. {deletion.undo}")
        return redirect(context["list"])
    return render(request, "parts/remove.html", {**context, "problem": problem}, status=400)
