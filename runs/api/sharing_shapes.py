"""What the API takes and tells of sharing: with everybody, with a team, or with nobody."""

from typing import Annotated, NamedTuple

from django.http import Http404
from pydantic import Field

from runs.access import find_team_for
from runs.api.problems import refuse
from runs.models import Team
from runs.roles import Person
from workers.engine.spec.configuration import Strict

IsShared = Annotated[
    bool,
    Field(description="Whether everybody on this site sees it. False: its owner, operators, team."),
]
SharedTeam = Annotated[str | None, Field(description="The team whose members see it, too.")]


class Asked(NamedTuple):
    is_shared: bool
    team: Team | None


class SharingChanges(Strict):
    """Either of them: one takes the place of the other."""

    shared: Annotated[
        bool | None, Field(strict=True, description="With everybody; false: with nobody.")
    ] = None
    team: Annotated[
        str | None, Field(max_length=80, description="With the members of a team that you are in.")
    ] = None

    @property
    def is_about_sharing(self) -> bool:
        return self.shared is not None or self.team is not None

    def asked_by(self, person: Person) -> Asked:
        if (self.shared is None) == (self.team is None):
            raise refuse("", "Give either shared or team.")
        return asked(person, self.shared, self.team)


def asked(person: Person, shared: bool | None, team: str | None) -> Asked:
    if team is None:
        return Asked(bool(shared), None)
    try:
        return Asked(False, find_team_for(person, team))
    except Http404:
        raise refuse("team", "You are in no team of this name. GET /teams lists yours.") from None
