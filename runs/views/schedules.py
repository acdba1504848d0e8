"""When a configuration is launched by itself: set, paused and removed on its page."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.timezone import now
from django.views.decorators.http import require_POST

from runs.access import open_configuration_for
from runs.forms.schedule import ScheduleForm
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.schedules import schedule_of
from runs.services.schedules import (
    delete_schedule,
    pause_schedule,
    resume_schedule,
    save_schedule,
)
from runs.views.configurations import show_configuration
from runs.views.people import person
from workers.engine.errors import ConfigurationError


@requires(Permission.LAUNCH)
@require_POST
def configuration_schedule(request: HttpRequest, pk: int) -> HttpResponse:
    """Runs of it will be those of the person who saves it."""
    stored = open_configuration_for(request.user, pk, write=True)
    form = ScheduleForm(request.POST)
    if form.is_valid():
        try:
            save_schedule(stored, person(request), now=now(), **form.cleaned_data)
        except ConfigurationError as error:
            form.take_problems(error.problems)
    if form.errors:
        return show_configuration(request, stored, schedule_form=form)
    messages.success(request, "Scheduled. Its runs will be yours.")
    return redirect(stored)


@requires(Permission.LAUNCH)
@require_POST
def configuration_schedule_change(request: HttpRequest, pk: int) -> HttpResponse:
    stored = open_configuration_for(request.user, pk, write=True)
    schedule, wanted = schedule_of(stored), request.POST.get("do", "")
    if schedule is None:
        raise Http404("schedule")
    if wanted == "remove":
        delete_schedule(schedule, person(request))
        messages.success(request, "No longer scheduled. Its runs stay.")
    elif wanted == "resume" and resume_schedule(schedule, person(request), now()):
        messages.success(request, "Scheduled again. Its runs will be yours.")
    elif wanted == "pause" and pause_schedule(schedule, person(request)):
        messages.success(request, "Paused: nothing is launched until it is resumed.")
    return redirect(stored)
