"""Deleting configurations, bringing them back, and removing them for good before their time."""

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import open_configuration_for
from runs.models import Configuration
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.takes import takes_of_configuration
from runs.services.removing.configuration_trash import (
    delete_configuration,
    remove_configuration,
    restore_configuration,
)
from runs.views.people import person
from runs.views.removing import Deletion, undo_text


@requires(Permission.CONFIGURE)
@require_http_methods(["GET", "POST"])
def configuration_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete it; of a deleted one, remove it for good."""
    stored = open_configuration_for(request.user, pk, write=True, even_deleted=True)
    deletion = deletion_of(stored, person(request))
    problem = problem_with(request, deletion) if request.method == "POST" else ""
    if request.method == "POST" and not problem:
        deletion.act()
        messages.success(request, f"Deleted {deletion.typed}. {deletion.undo}")
        return redirect("configurations")
    context = {
        "section": "configurations",
        "stored": stored,
        "takes": takes_of_configuration(stored),
        "deletion": deletion,
        "problem": problem,
    }
    return render(request, "configurations/remove.html", context, status=400 if problem else 200)


def deletion_of(stored: Configuration, user: AbstractBaseUser) -> Deletion:
    name = stored.name
    if stored.remove_after:
        label = f"Remove {name}, for good now"
        return Deletion("remove", label, name, lambda: remove_configuration(stored, user))
    undo = undo_text("Deleted")
    return Deletion(
        "delete", f"Delete {name}", name, lambda: delete_configuration(stored, user), undo
    )


def problem_with(request: HttpRequest, deletion: Deletion) -> str:
    """A form that is sent twice must not remove for good what it deleted."""
    if request.POST.get("action") != deletion.action:
        return "Choose what to do."
    return deletion.problem_with(request)


@requires(Permission.CONFIGURE)
@require_POST
def configuration_restore(request: HttpRequest, pk: int) -> HttpResponse:
    stored = open_configuration_for(request.user, pk, write=True, even_deleted=True)
    if restore_configuration(stored, person(request)):
        messages.success(request, f"{stored.name} is back, with its schedule and gates.")
    return redirect(stored)
