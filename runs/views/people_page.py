"""The people page: who has which role, for administrators."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from runs.access import invitations_for, people_for
from runs.forms.accounts import add_reasons
from runs.forms.people import AddPersonForm, InviteForm, RoleForm
from runs.permissions import requires
from runs.roles import Permission, Role
from runs.selectors.accounts import list_people
from runs.selectors.invitations import open_invitations
from runs.services.people.invitations import InvitationLink
from runs.services.people.passwords import PasswordLink
from runs.services.people.roles import add_person, give_role, make_password_link, set_active
from runs.views.people import person

WHAT_ROLES_MAY = {
    Role.VIEWER: "sees the runs that are shared, datasets, endpoints and figures",
    Role.RUNNER: "also starts runs, imports datasets, stores configurations",
    Role.AUTHOR: "also runs scorers written as code, which a sandbox keeps apart",
    Role.OPERATOR: "also sees and controls all runs, changes endpoints and keys, clears the cache",
    Role.ADMIN: "also gives roles, closes accounts, reads the audit log and uses the admin",
}


@requires(Permission.MANAGE_PEOPLE)
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    return people_list(request, AddPersonForm())


def people_list(
    request: HttpRequest,
    form: AddPersonForm,
    link: PasswordLink | None = None,
    *,
    invite_form: InviteForm | None = None,
    invited: InvitationLink | None = None,
) -> HttpResponse:
    invite_form, shown = invite_form or InviteForm(), link or invited
    context = {
        "section": "people",
        "people": list_people(people_for(request.user)),
        "invitations": open_invitations(invitations_for(request.user)),
        "roles": WHAT_ROLES_MAY,
        "form": form,
        "invite_form": invite_form,
        "link": link,
        "invited": invited,
        "link_address": request.build_absolute_uri(shown.path) if shown else "",
    }
    is_wrong = form.errors or invite_form.errors
    return render(request, "people/list.html", context, status=400 if is_wrong else 200)


@requires(Permission.MANAGE_PEOPLE)
@never_cache
@require_POST
def person_add(request: HttpRequest) -> HttpResponse:
    form = AddPersonForm(request.POST)
    if not form.is_valid():
        return people_list(request, form)
    try:
        given = form.cleaned_data
        link = add_person(person(request), given["username"], form.chosen, given.get("email", ""))
    except ValidationError as error:
        add_reasons(form, error)
        return people_list(request, form)
    return people_list(request, AddPersonForm(), link)


@requires(Permission.MANAGE_PEOPLE)
@never_cache
@require_POST
def person_password(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the link once, on the answer itself: it is stored nowhere."""
    return people_list(request, AddPersonForm(), make_password_link(person(request), pk))


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
