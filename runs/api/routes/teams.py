"""Teams: who sees what is shared with them."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel, Field

from runs.access import find_team_for, teams_for
from runs.api.doors import caller, needs
from runs.api.pages import answer, as_of
from runs.api.router import Routes
from runs.api.routes.control import NOTHING, Applied, NoBody
from runs.models import Scope
from runs.roles import Permission
from runs.selectors.teams import TeamRow, list_teams
from runs.services.people.teams import (
    LONGEST_NAME,
    add_member,
    create_team,
    remove_member,
    remove_team,
    rename_team,
)
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["People"])

TeamName = Annotated[str, Field(max_length=LONGEST_NAME, description="The name of a team.")]
PersonName = Annotated[str, Field(max_length=150, description="The name of an account.")]


class TeamBody(Strict):
    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class Teams(BaseModel):
    data: list[TeamRow]
    next_cursor: None = None
    as_of: datetime


@routes.get("/teams", auth=needs(Scope.READ), response=Teams, summary="List teams")
def list_my_teams(request: HttpRequest) -> Teams:
    """Those that you are in, with their members; operators see all."""
    return Teams(data=list_teams(teams_for(caller(request))), as_of=as_of())


@routes.post(
    "/teams",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response={201: TeamRow},
    summary="Make a team",
)
def make_team(request: HttpRequest, body: TeamBody) -> HttpResponse:
    """Nobody is in it yet."""
    made = create_team(caller(request), body.name)
    return answer({"id": made.pk, "name": made.name, "members": []}, 201)


@routes.patch(
    "/teams/{name}",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response=Applied,
    summary="Rename a team",
)
def rename_a_team(request: HttpRequest, name: TeamName, body: TeamBody) -> Applied:
    """To the `name` of the body. Its members and what is shared with it stay."""
    team = find_team_for(caller(request), name)
    return Applied(changed=rename_team(caller(request), team, body.name))


@routes.delete(
    "/teams/{name}",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response=Applied,
    summary="Remove a team",
)
def remove_a_team(request: HttpRequest, name: TeamName) -> Applied:
    """What was shared with it is its owner's alone."""
    remove_team(caller(request), find_team_for(caller(request), name))
    return Applied(changed=True)


@routes.put(
    "/teams/{name}/members/{person}",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response=Applied,
    summary="Add somebody to a team",
)
def join_team(
    request: HttpRequest, name: TeamName, person: PersonName, body: NoBody = NOTHING
) -> Applied:
    """They see what is shared with it from then on."""
    team = find_team_for(caller(request), name)
    return Applied(changed=add_member(caller(request), team, person))


@routes.delete(
    "/teams/{name}/members/{person}",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response=Applied,
    summary="Take somebody out of a team",
)
def leave_team(request: HttpRequest, name: TeamName, person: PersonName) -> Applied:
    """They see nothing of it any more, from the next request on; live pages end."""
    team = find_team_for(caller(request), name)
    return Applied(changed=remove_member(caller(request), team, person))
