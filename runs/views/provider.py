"""Signing in through a provider: the way there, and back."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evalsite.sign_in_provider import SignInProvider
from runs.forms.accounts import SignInForm
from runs.permissions import requires
from runs.roles import Permission
from runs.services.people.provider import NotAdmitted, sign_in_with
from runs.services.people.provider_protocol import (
    ATTEMPT_SECONDS,
    ProviderProblem,
    address_to_sign_in,
    as_cookie,
    new_attempt,
    read_attempt,
)
from runs.services.people.sign_in import address_of
from runs.services.people.throttle import TooManyTries
from runs.views.accounts import let_in, safe_next, sign_in_page, wait_for

LONGEST_CODE = 4096  # characters


def provider_here() -> SignInProvider:
    provider: SignInProvider | None = settings.SIGN_IN_PROVIDER
    if provider is None:
        raise Http404("No sign-in provider is set up here.")
    return provider


def come_back_to(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("provider_done"))


@requires(Permission.PUBLIC)
@never_cache
@require_safe
def provider_begin(request: HttpRequest) -> HttpResponse:
    """Off to the provider. Who is signed in connects the own account with it."""
    provider = provider_here()
    person = request.user.pk if request.user.is_authenticated else 0
    invitation = request.GET.get("invitation", "")[:100]
    attempt = new_attempt(safe_next(request, "/"), invitation, person or 0)
    try:
        there = address_to_sign_in(provider, attempt, come_back_to(request))
    except ProviderProblem as problem:
        return refused(request, str(problem))
    response = redirect(there)
    response.set_cookie(
        settings.PROVIDER_COOKIE_NAME,
        as_cookie(attempt),
        max_age=ATTEMPT_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


@requires(Permission.PUBLIC)
@never_cache
@require_safe
def provider_done(request: HttpRequest) -> HttpResponse:
    """Back from the provider, with a code or a refusal. An attempt works once."""
    provider = provider_here()
    try:
        cookie = request.COOKIES.get(settings.PROVIDER_COOKIE_NAME, "")
        attempt = read_attempt(cookie, request.GET.get("state", ""))
        if attempt.person not in {0, request.user.pk}:
            raise ProviderProblem("somebody else is signed in")
        code = request.GET.get("code", "")[:LONGEST_CODE]
        user = sign_in_with(provider, attempt, code, come_back_to(request), address_of(request))
    except TooManyTries as wait:
        return refused(request, wait_for(wait))
    except (ProviderProblem, NotAdmitted) as problem:
        return refused(request, str(problem))
    response = let_in(request, user, attempt.next)
    response.delete_cookie(settings.PROVIDER_COOKIE_NAME)
    return response


def refused(request: HttpRequest, why: str) -> HttpResponse:
    """On the sign-in page; a stranger's refusal leaves no session behind."""
    if request.user.is_authenticated:
        messages.error(request, why)
        response: HttpResponse = redirect("profile")
    else:
        form = SignInForm({})
        form.errors.clear()  # nothing was typed yet
        form.add_error(None, why)
        response = sign_in_page(request, form, status=403)
    response.delete_cookie(settings.PROVIDER_COOKIE_NAME)
    return response
