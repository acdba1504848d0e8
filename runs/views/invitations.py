"""Invitations: administrators make and take them back, invited people come by them."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_invitation_for
from runs.forms.accounts import SetupForm, add_reasons
from runs.forms.people import AddPersonForm, InviteForm
from runs.permissions import requires
from runs.roles import Permission, Role
from runs.services.people.invitations import (
    InvitationUsed,
    accept_invitation,
    invite,
    open_invitation,
    revoke_invitation,
)
from runs.services.people.sign_in import address_of
from runs.services.people.throttle import TooManyTries
from runs.views.accounts import let_in, wait_for
from runs.views.people import person
from runs.views.people_page import people_list


@requires(Permission.MANAGE_PEOPLE)
@never_cache
@require_POST
def person_invite(request: HttpRequest) -> HttpResponse:
    """Shows the link once, on the answer itself: only its hash is stored."""
    form = InviteForm(request.POST)
    if not form.is_valid():
        return people_list(request, AddPersonForm(), invite_form=form)
    given = form.cleaned_data
    try:
        made = invite(person(request), Role(given["role"]), given["days"], given["note"])
    except ValidationError as error:
        add_reasons(form, error)
        return people_list(request, AddPersonForm(), invite_form=form)
    return people_list(request, AddPersonForm(), invited=made)


@requires(Permission.MANAGE_PEOPLE)
@require_POST
def invitation_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    if revoke_invitation(person(request), get_invitation_for(request.user, pk)):
        messages.success(request, "The invitation is taken back. Its link leads nowhere now.")
    return redirect("people")


@requires(Permission.PUBLIC)
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    found = open_invitation(token)
    if found is None:
        raise Http404("This link is used up, too old or taken back. Ask for a new one.")
    form = SetupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = try_to_accept(request, form, token)
        if user is not None:
            return let_in(request, user, reverse("home"))
    provider = settings.SIGN_IN_PROVIDER
    context = {"form": form, "invitation": found, "token": token, "provider": provider}
    return render(request, "accounts/invitation.html", context, status=400 if form.errors else 200)


def try_to_accept(request: HttpRequest, form: SetupForm, token: str) -> User | None:
    """The new account, or None with the reasons on the form's fields."""
    username, password = form.cleaned_data["username"], form.cleaned_data["password"]
    try:
        return accept_invitation(token, username, password, address_of(request))
    except TooManyTries as refused:
        form.add_error(None, wait_for(refused))
    except InvitationUsed as error:
        form.add_error(None, str(error))
    except ValidationError as error:
        add_reasons(form, error)
    return None
