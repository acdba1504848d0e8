"""The people page: every account with its role."""

from typing import NamedTuple

from django.contrib.auth.models import User
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone

from runs.roles import Role, stored_role_of

MOST_LISTED = 500


class PersonRow(NamedTuple):
    person: User
    role: Role | None
    runs: int
    dollars_today: float


def list_people(people: QuerySet[User]) -> list[PersonRow]:
    """Those who may sign in first, each by name."""
    is_today = Q(runs__cost_day=timezone.now().date())
    spent = Sum(F("runs__cost") - F("runs__cost_before_day"), filter=is_today)
    found = people.annotate(run_count=Count("runs"), spent=spent).prefetch_related("groups")
    listed = found.order_by("-is_active", "username")[:MOST_LISTED]
    return [
        PersonRow(person, stored_role_of(person), person.run_count, person.spent or 0.0)
        for person in listed
    ]
