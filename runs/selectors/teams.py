"""Teams with their members, for the page and the API."""

from django.db.models import QuerySet
from pydantic import BaseModel

from runs.models import Team, TeamMember
from runs.roles import Person

MOST_LISTED = 200


class TeamRow(BaseModel):
    id: int
    name: str
    members: list[str]


def team_numbers(person: Person) -> QuerySet[TeamMember, int]:
    """Of the teams that somebody is in, for a subquery."""
    return TeamMember.objects.filter(person_id=person.pk).values_list("team", flat=True)


def list_teams(teams: QuerySet[Team]) -> list[TeamRow]:
    found = teams.order_by("name").prefetch_related("members__person")[:MOST_LISTED]
    return [
        TeamRow(
            id=team.pk,
            name=team.name,
            members=sorted(member.person.get_username() for member in team.members.all()),
        )
        for team in found
    ]
