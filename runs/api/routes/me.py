"""Who asks, and what they may use."""

from django.http import HttpRequest
from pydantic import BaseModel

from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.models import Scope
from runs.roles import role_of
from runs.selectors.quotas import quota_of, use_of

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
    quota: QuotaAnswer
    used: UseAnswer


@routes.get("/me", auth=needs(Scope.READ), response=Me, summary="Who you are")
def show_me(request: HttpRequest) -> Me:
    """Your role, what you may use of this site, and what you have used of it."""
    person = caller(request)
    return Me(
        name=person.get_username(),
        role=role_of(person),
        quota=QuotaAnswer(**quota_of(person)._asdict()),
        used=UseAnswer(**use_of(person)._asdict()),
    )
