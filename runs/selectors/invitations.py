"""Invitations, as the people page and the API list them."""

from datetime import datetime

from django.db.models import QuerySet
from django.utils.timezone import now
from pydantic import BaseModel

from runs.models import Invitation
from runs.roles import Role

MOST_LISTED = 100


class InvitationRow(BaseModel):
    id: int
    role: Role
    note: str
    made: datetime
    made_by: str
    expires: datetime


def open_invitations(invitations: QuerySet[Invitation]) -> list[Invitation]:
    """Those that somebody may still come by, the newest first."""
    usable = invitations.filter(revoked=None, used=None, expires__gt=now())
    return list(usable.order_by("-pk")[:MOST_LISTED])


def list_invitations(invitations: QuerySet[Invitation]) -> list[InvitationRow]:
    return [row_of(one) for one in open_invitations(invitations)]


def row_of(invitation: Invitation) -> InvitationRow:
    return InvitationRow(
        id=invitation.pk,
        role=Role(invitation.role),
        note=invitation.note,
        made=invitation.made,
        made_by=invitation.made_by.get_username(),
        expires=invitation.expires,
    )
