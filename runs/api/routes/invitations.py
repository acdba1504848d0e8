"""Invitations: links at which people make their accounts."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel, Field

from runs.access import get_invitation_for, invitations_for
from runs.api.doors import caller, needs
from runs.api.pages import answer, as_of
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.forms.people import LONGEST_DAYS, LONGEST_NOTE
from runs.models import Scope
from runs.roles import Permission, Role
from runs.selectors.invitations import InvitationRow, list_invitations, row_of
from runs.services.people.invitations import invite, revoke_invitation
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["People"])

InvitationId = Annotated[int, Field(ge=1, le=2**63 - 1)]


class InvitationBody(Strict):
    role: Annotated[Role, Field(description="Of the account that is made by it.")]
    days: Annotated[
        int, Field(strict=True, ge=1, le=LONGEST_DAYS, description="How long the link works.")
    ] = 7
    note: Annotated[
        str, Field(max_length=LONGEST_NOTE, description="For whom it is; for administrators.")
    ] = ""


class InvitationMade(InvitationRow):
    """The link is shown now and never again: only its hash is stored."""

    link: str


class Invitations(BaseModel):
    data: list[InvitationRow]
    next_cursor: None = None
    as_of: datetime


@routes.post(
    "/invitations",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response={201: InvitationMade},
    summary="Invite somebody",
)
def invite_somebody(request: HttpRequest, body: InvitationBody) -> HttpResponse:
    """Whoever opens the link first chooses a name and a password, and has the role. It works once,
    and as long as you may invite."""
    made = invite(caller(request), body.role, body.days, body.note)
    link = request.build_absolute_uri(made.path)
    return answer({**row_of(made.invitation).model_dump(), "link": link}, 201)


@routes.get(
    "/invitations",
    auth=needs(Scope.READ, Permission.MANAGE_PEOPLE),
    response=Invitations,
    summary="List open invitations",
)
def list_open_invitations(request: HttpRequest) -> Invitations:
    """Those that nobody has used yet, the newest first."""
    return Invitations(data=list_invitations(invitations_for(caller(request))), as_of=as_of())


@routes.delete(
    "/invitations/{int:invitation_id}",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response=Applied,
    summary="Take an invitation back",
)
def take_back(request: HttpRequest, invitation_id: InvitationId) -> Applied:
    """Its link leads nowhere from then on."""
    found = get_invitation_for(caller(request), invitation_id)
    return Applied(changed=revoke_invitation(caller(request), found))
