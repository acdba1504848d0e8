"""The people page: every account with its role."""

from typing import NamedTuple

from django.contrib.auth.models import User
from django.db.models import Count, QuerySet

from runs.roles import Role, stored_role_of

MOST_LISTED = 500


class PersonRow(NamedTuple):
    person: User
    role: Role | None
    runs: int


def list_people(people: QuerySet[User]) -> list[PersonRow]:
    """Those who may sign in first, each by name."""
    found = people.annotate(run_count=Count("runs")).prefetch_related("groups")
    listed = found.order_by("-is_active", "username")[:MOST_LISTED]
    return [PersonRow(person, stored_role_of(person), person.run_count) for person in listed]
