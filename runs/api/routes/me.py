"""Who asks, what they may use, and how they see the site."""

from django.http import HttpRequest
from pydantic import BaseModel, Field

from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.models import Scope, Theme
from runs.roles import Permission, role_of
from runs.selectors.profiles import UTC, profile_of
from runs.selectors.quotas import quota_of, use_of
from runs.services.people.profiles import change_profile
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["About"])


class QuotaAnswer(BaseModel):
    """null: no limit."""

    trials_per_run: int
    active_runs: int
    dollars_per_day: float | None
    stored_megabytes: int | None
    slots: int | None
    sockets: int


class UseAnswer(BaseModel):
    """`dollars_today` since midnight UTC, by known prices."""

    active_runs: int
    dollars_today: float
    stored_bytes: int


class Me(BaseModel):
    name: str
    role: str | None
    theme: Theme | None  # null: each browser has its own
    time_zone: str
    quota: QuotaAnswer
    used: UseAnswer


@routes.get("/me", auth=needs(Scope.READ), response=Me, summary="Who you are")
def show_me(request: HttpRequest) -> Me:
    """Your role, what you may use of this site, and what you have used of it."""
    person = caller(request)
    profile = profile_of(person)
    return Me(
        name=person.get_username(),
        role=role_of(person),
        theme=Theme(profile.theme) if profile.theme else None,
        time_zone=profile.time_zone or UTC,
        quota=QuotaAnswer(**quota_of(person)._asdict()),
        used=UseAnswer(**use_of(person)._asdict()),
    )


class ProfileChanges(Strict):
    """What is left out stays as it is."""

    theme: Theme | None = Field(None, description="How pages look, on every device.")
    time_zone: str | None = Field(
        None,
        max_length=40,
        description="Where times on pages are: UTC, or a city as in Europe/Berlin.",
        examples=["Europe/Berlin"],
    )


@routes.patch(
    "/me", auth=needs(Scope.MANAGE, Permission.SEE), response=Applied, summary="Change your profile"
)
def change_me(request: HttpRequest, body: ProfileChanges) -> Applied:
    """Theme and time zone of your pages. Times in this API and in files stay in UTC."""
    chosen = {name: str(value) for name, value in body if value is not None}
    return Applied(changed=change_profile(caller(request), **chosen))
