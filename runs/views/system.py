"""The installation itself: its processes and stores, what went wrong, and maintenance."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import runs_for
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.health import forget_troubles
from runs.selectors.system.accidents import read_accidents
from runs.selectors.system.maintenance import current_maintenance
from runs.selectors.system.processes import read_processes
from runs.selectors.system.stores import read_database, read_redis, read_waiting
from runs.services.control.maintenance import begin_maintenance, end_maintenance
from runs.views.people import person


@requires(Permission.MAINTAIN)
@require_safe
def system(request: HttpRequest) -> HttpResponse:
    context = {
        "section": "system",
        "maintenance": current_maintenance(),
        "processes": read_processes(),
        "redis": read_redis(),
        "database": read_database(),
        "waiting": read_waiting(),
        "accidents": read_accidents(runs_for(request.user)),
    }
    return render(request, "system/page.html", context)


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
