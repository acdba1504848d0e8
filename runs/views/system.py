"""The installation itself: its processes and stores, what went wrong, and maintenance."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs.access import runs_for
from runs.forms.retention import RetentionForm
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.health import forget_troubles
from runs.selectors.system.accidents import read_accidents
from runs.selectors.system.maintenance import current_maintenance
from runs.selectors.system.processes import read_processes
from runs.selectors.system.retention import forecast, read_trash
from runs.selectors.system.stores import read_database, read_redis, read_waiting
from runs.services.control.maintenance import begin_maintenance, end_maintenance
from runs.services.removing.rules import set_retention
from runs.views.people import person


@requires(Permission.MAINTAIN)
@require_safe
def system(request: HttpRequest) -> HttpResponse:
    return show_system(request)


def show_system(request: HttpRequest, problem: str = "") -> HttpResponse:
    context = {
        "section": "system",
        "maintenance": current_maintenance(),
        "processes": read_processes(),
        "redis": read_redis(),
        "database": read_database(),
        "waiting": read_waiting(),
        "accidents": read_accidents(runs_for(request.user)),
        "retention": forecast(),
        "retention_problem": problem,
        "trash": read_trash(),
    }
    return render(request, "system/page.html", context, status=400 if problem else 200)


@requires(Permission.SET_RETENTION)
@require_POST
def retention(request: HttpRequest) -> HttpResponse:
    """Says what the site removes by itself."""
    form = RetentionForm(request.POST)
    if not form.is_valid():
        told = "Give whole numbers from 1 on, 0 to keep for ever, or nothing. Nothing was saved."
        return show_system(request, told)
    set_retention(person(request), form.values)
    messages.success(request, "Saved. What is due now is said below.")
    return redirect(f"{reverse('system')}#retention")


@requires(Permission.MAINTAIN)
@require_POST
def maintenance(request: HttpRequest) -> HttpResponse:
    """Begins it, or ends it: the form says which, so that a second click changes nothing."""
    if request.POST.get("do") == "end":
        for sentence in end_maintenance(person(request)):
            messages.info(request, sentence)
    elif not begin_maintenance(person(request), request.POST.get("reason", "")):
        messages.info(request, "Maintenance had begun already.")
    forget_troubles()
    return redirect("system")
