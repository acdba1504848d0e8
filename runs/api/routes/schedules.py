"""Schedules: when a configuration is launched by itself."""

from typing import Annotated

from django.http import Http404, HttpRequest
from django.utils.timezone import now
from pydantic import Field

from runs.access import get_configuration_for, runs_for
from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.api.routes.configurations import ConfigurationName
from runs.api.routes.control import Applied
from runs.models import Configuration, Schedule, Scope
from runs.roles import Permission
from runs.selectors.schedules import ScheduleAnswer, schedule_answer, schedule_of
from runs.services.schedules import (
    delete_schedule,
    pause_schedule,
    resume_schedule,
    save_schedule,
)
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Configurations"])


class ScheduleBody(Strict):
    cron: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="Minute, hour, day of the month, month, day of the week.",
        ),
    ]
    time_zone: Annotated[str, Field(max_length=60, description="As in Europe/Paris.")] = "UTC"
    catches_up: Annotated[
        bool,
        Field(strict=True, description="After an outage: one run for all that was missed."),
    ] = False


class ScheduleChanges(Strict):
    on: Annotated[bool, Field(strict=True, description="False: nothing is launched.")]


@routes.get(
    "/configuration-schedules/{path:name}",
    auth=needs(Scope.READ),
    response=ScheduleAnswer,
    summary="Show the schedule of a configuration",
)
def show_schedule(request: HttpRequest, name: ConfigurationName) -> ScheduleAnswer:
    """With what became of its last due times. 404 if it has no schedule."""
    found = stored_schedule(get_configuration_for(caller(request), name))
    return schedule_answer(found, runs_for(caller(request)))


@routes.put(
    "/configuration-schedules/{path:name}",
    auth=needs(Scope.MANAGE, Permission.LAUNCH),
    response=ScheduleAnswer,
    summary="Schedule a configuration",
)
def put_schedule(
    request: HttpRequest, name: ConfigurationName, body: ScheduleBody
) -> ScheduleAnswer:
    """For the owner of the configuration and operators. Its runs are those of the person who asks,
    by what they may do and use when it is due. At most one run for each due time."""
    person = caller(request)
    stored = get_configuration_for(person, name, write=True)
    saved = save_schedule(
        stored, person, body.cron, body.time_zone, now(), catches_up=body.catches_up
    )
    return schedule_answer(saved, runs_for(person))


@routes.patch(
    "/configuration-schedules/{path:name}",
    auth=needs(Scope.MANAGE, Permission.LAUNCH),
    response=Applied,
    summary="Pause or resume a schedule",
)
def change_schedule(
    request: HttpRequest, name: ConfigurationName, body: ScheduleChanges
) -> Applied:
    """What is due while it is paused is not missed."""
    person = caller(request)
    found = stored_schedule(get_configuration_for(person, name, write=True))
    if body.on:
        return Applied(changed=resume_schedule(found, person, now()))
    return Applied(changed=pause_schedule(found, person))


@routes.delete(
    "/configuration-schedules/{path:name}",
    auth=needs(Scope.MANAGE, Permission.LAUNCH),
    response=Applied,
    summary="Remove a schedule",
)
def remove_schedule(request: HttpRequest, name: ConfigurationName) -> Applied:
    """Its runs stay."""
    found = stored_schedule(get_configuration_for(caller(request), name, write=True))
    delete_schedule(found, caller(request))
    return Applied(changed=True)


def stored_schedule(stored: Configuration) -> Schedule:
    found = schedule_of(stored)
    if found is None:
        raise Http404(stored.name)
    return found
