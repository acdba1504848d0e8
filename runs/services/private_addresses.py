"""Private addresses that an admin allows one endpoint to call; a webhook never calls one.

A tick names a place (host and port), so that an endpoint which moves to another private place is
asked about again.
"""

from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.utils.timezone import now

from runs.models import AuditAction, Endpoint
from runs.outbound import BY_THE_HOST, NEEDS_A_TICK, admins_may_allow, places_of
from runs.roles import Permission, Person, may, refusal
from runs.services.audit import record
from workers.engine.errors import PrivateAddress


class Change(NamedTuple):
    allowed: list[str]
    revoked: list[str]


def stored_places(endpoint: Endpoint) -> list[str]:
    """What is allowed at the moment, whatever was ticked on this object."""
    found = Endpoint.objects.filter(pk=endpoint.pk).values_list("private_addresses", flat=True)
    return list(found.first() or ()) if endpoint.pk else []


def as_problem(error: PrivateAddress) -> ValidationError:
    """Tells a form which place a tick would open."""
    told = {"told": str(error), "place": error.place}
    return ValidationError("%(told)s", code=NEEDS_A_TICK if admins_may_allow() else "", params=told)


def settle(user: Person, endpoint: Endpoint) -> Change:
    """Keep of what was ticked what the endpoint has as an address, and who changed it when."""
    before = stored_places(endpoint)
    own = places_of(endpoint.called_urls)
    ticked = {place.strip().lower() for place in endpoint.private_addresses}
    endpoint.private_addresses = [place for place in own if place in ticked]
    change = Change(
        allowed=[place for place in endpoint.private_addresses if place not in before],
        revoked=[place for place in before if place not in endpoint.private_addresses],
    )
    if change.allowed and not admins_may_allow():
        told = BY_THE_HOST.replace("{place}", change.allowed[0])
        raise ValidationError({"private_addresses": told})
    if change.allowed and not may(user, Permission.ALLOW_PRIVATE):
        raise ValidationError({"private_addresses": refusal(user, Permission.ALLOW_PRIVATE)})
    if any(change):
        endpoint.private_set_at, endpoint.private_set_by_id = now(), user.pk
    return change


def tell(user: Person, endpoint: Endpoint, change: Change) -> None:
    """A row of the audit table for each place."""
    for place in change.allowed:
        record(AuditAction.PRIVATE_ALLOWED, endpoint, place, actor=user)
    for place in change.revoked:
        record(AuditAction.PRIVATE_REVOKED, endpoint, place, actor=user)
