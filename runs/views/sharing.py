"""Who sees a run, a dataset, a prompt or a configuration: its owner says so, by a click or on a
page of its own."""

from typing import Any, Protocol

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from runs.access import get_team_for, teams_for
from runs.forms.filters import read_whole_number
from runs.models import Team
from runs.selectors.teams import list_teams
from runs.views.people import person


class Share(Protocol):
    def __call__(
        self, thing: Any, user: AbstractBaseUser, /, *, is_shared: bool, team: Team | None
    ) -> bool: ...


def sharing(request: HttpRequest, section: str, thing: Any, share: Share) -> HttpResponse:
    """`share` is `yes`, `no`, or `team` with the number of one of the person's teams."""
    if request.method == "GET":
        teams = list_teams(teams_for(request.user))
        context = {"section": section, "thing": thing, "teams": teams}
        return render(request, "parts/sharing.html", context)
    wanted, team = request.POST.get("share"), None
    if wanted == "team":
        team = get_team_for(request.user, read_whole_number(request.POST.get("team")) or 0)
    share(thing, person(request), is_shared=wanted == "yes", team=team)
    messages.success(request, told(wanted == "yes", team))
    return redirect(thing)


def told(is_shared: bool, team: Team | None) -> str:
    if is_shared:
        return "Shared: everybody on this site may see it."
    if team is not None:
        return f"Shared with {team.name}: its members may see it."
    return "No longer shared: only its owner and operators see it."
