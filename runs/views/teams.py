"""Teams: who is in which, for everybody in them; administrators make them."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_team_for, teams_for
from runs.forms.accounts import add_reasons
from runs.forms.people import TeamForm
from runs.models import Team
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.teams import list_teams
from runs.services.people.teams import (
    add_member,
    create_team,
    remove_member,
    remove_team,
    rename_team,
)
from runs.views.people import person


@requires(Permission.SEE, to_change=Permission.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def teams(request: HttpRequest) -> HttpResponse:
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = create_team(person(request), form.cleaned_data["name"])
        except ValidationError as error:
            add_reasons(form, error)
        else:
            messages.success(request, f"The team {made.name} is made. Add people to it.")
            return redirect("teams")
    context = {"section": "teams", "teams": list_teams(teams_for(request.user)), "form": form}
    return render(request, "people/teams.html", context, status=400 if form.errors else 200)


@requires(Permission.MANAGE_PEOPLE)
@require_POST
def team(request: HttpRequest, pk: int) -> HttpResponse:
    """`do` is `add` or `leave`, of the account `person`, or `remove` or `rename`, of the
    team itself, to `name`."""
    found = get_team_for(request.user, pk)
    try:
        messages.success(request, change(request, found))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("teams")


def change(request: HttpRequest, team: Team) -> str:
    """What is so now."""
    admin, name = person(request), request.POST.get("person", "")
    if request.POST.get("do") == "remove":
        remove_team(admin, team)
        return f"The team {team.name} is gone. What was shared with it is its owner's alone."
    if request.POST.get("do") == "rename":
        rename_team(admin, team, request.POST.get("name", ""))
        return f"The team is called {team.name} now."
    if request.POST.get("do") == "leave":
        remove_member(admin, team, name)
        return f"{name} is not in {team.name} any more."
    add_member(admin, team, name)
    return f"{name} is in {team.name}."
