"""The people page: who has which role, for administrators."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import people_for
from runs.forms.people import RoleForm
from runs.permissions import requires
from runs.roles import Permission, Role
from runs.selectors.accounts import list_people
from runs.services.people.roles import give_role, set_active
from runs.views.people import person

WHAT_ROLES_MAY = {
    Role.VIEWER: "sees the runs that are shared, datasets, endpoints and figures",
    Role.RUNNER: "also starts runs, imports datasets, stores configurations",
    Role.AUTHOR: "may do what a runner may; kept for accounts that have this role",
    Role.OPERATOR: "also sees and controls all runs, changes endpoints and keys, clears the cache",
    Role.ADMIN: "also gives roles, closes accounts, reads the audit log and uses the admin",
}


@requires(Permission.MANAGE_PEOPLE)
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    context = {
        "section": "people",
        "people": list_people(people_for(request.user)),
        "roles": WHAT_ROLES_MAY,
    }
    return render(request, "people/list.html", context)


@requires(Permission.MANAGE_PEOPLE)
@require_POST
def person_role(request: HttpRequest, pk: int) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Choose one of: {', '.join(Role)}.")
        return redirect("people")
    changed = give_role(person(request), pk, form.chosen)
    has = f"is {form.chosen} now" if form.chosen else "has no role now, and may do nothing"
    messages.success(request, f"{changed.get_username()} {has}.")
    return redirect("people")


@requires(Permission.MANAGE_PEOPLE)
@require_POST
def person_active(request: HttpRequest, pk: int) -> HttpResponse:
    is_active = request.POST.get("active") == "yes"
    changed = set_active(person(request), pk, is_active=is_active)
    told = "may sign in again" if is_active else "is signed out and may not sign in"
    messages.success(request, f"{changed.get_username()} {told}.")
    return redirect("people")
