"""A person changes their password; somebody who has none chooses it at a one-time link."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from runs.access import tokens_for
from runs.forms.accounts import ChangePasswordForm, NewPasswordForm, add_reasons
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.quotas import quota_lines, quota_of, use_of
from runs.selectors.tokens import active_tokens
from runs.services.people.passwords import (
    PasswordLinkUsed,
    change_password,
    choose_password,
    person_of_link,
)
from runs.services.people.sign_in import address_of
from runs.services.people.throttle import TooManyTries
from runs.views.accounts import let_in, remember_device, wait_for
from runs.views.people import person


@requires(Permission.SIGNED_IN)
@never_cache
@sensitive_post_parameters("old_password", "password", "password_again")
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    form = ChangePasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and try_to_change(request, form):
        return changed(request)
    context = {
        "section": "profile",
        "form": form,
        "tokens": active_tokens(tokens_for(request.user)),
        "quota": quota_lines(quota_of(person(request)), use_of(person(request))),
    }
    return render(request, "accounts/password.html", context, status=400 if form.errors else 200)


def try_to_change(request: HttpRequest, form: ChangePasswordForm) -> bool:
    """Whether it worked; else the reasons are on the form's fields."""
    old, new = form.cleaned_data["old_password"], form.cleaned_data["password"]
    try:
        change_password(account(request), old, new, address_of(request))
    except TooManyTries as refused:
        form.add_error(None, wait_for(refused))
        return False
    except ValidationError as error:
        add_reasons(form, error)
        return False
    return True


def changed(request: HttpRequest) -> HttpResponse:
    """This session goes on, with another key, and this browser stays known; all others do not."""
    update_session_auth_hash(request, account(request))
    messages.success(request, "Your password is changed. You are signed out everywhere else.")
    response = redirect("password")
    remember_device(request, response, account(request))
    return response


def account(request: HttpRequest) -> User:
    found = person(request)
    if not isinstance(found, User):
        raise PermissionDenied("Sign in first.")
    return found


@requires(Permission.PUBLIC)
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "POST"])
def password_link(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    owner = person_of_link(pk, token)
    if owner is None:
        raise Http404("This link is used up or too old. Ask an administrator for a new one.")
    form = NewPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        chosen = try_to_choose(form, pk, token)
        if chosen is not None:
            return let_in(request, chosen, reverse("home"))
    context = {"form": form, "owner": owner}
    return render(request, "accounts/choose.html", context, status=400 if form.errors else 200)


def try_to_choose(form: NewPasswordForm, pk: int, token: str) -> User | None:
    """Who chose it, or None with the reasons on the form's fields."""
    try:
        return choose_password(pk, token, form.cleaned_data["password"])
    except PasswordLinkUsed as error:
        form.add_error(None, str(error))
    except ValidationError as error:
        add_reasons(form, error)
    return None
