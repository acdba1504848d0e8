"""Who may come in: a token or a session whose person has the permission that the route declares;
a token also needs the scope."""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from ninja.errors import AuthenticationError, ConfigError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from runs.api.problems import RequestProblem, refuse
from runs.models import ApiToken, Scope
from runs.rates import take_request
from runs.roles import Permission, check_permission
from runs.services.people.accounts import person_of_session
from runs.services.people.sign_in import address_of
from runs.services.people.tokens import authenticate_token, owner_now
from workers.engine.errors import Problem

FAILURES_PER_MINUTE = 60  # from one address; nobody guesses 256 bits, but a loop costs us time
USUAL_PERMISSIONS = {Scope.READ: Permission.SEE, Scope.RUN: Permission.LAUNCH}


class Door:
    """What both ways in have in common, once they know who asks."""

    query: Collection[str] = ()  # the parameters that the route takes

    def __init__(
        self, scope: Scope, permission: Permission, *, takes_work: bool = False, **options: Any
    ) -> None:
        self.scope, self.permission, self.takes_work = scope, permission, takes_work
        super().__init__(**options)

    def admit(self, request: HttpRequest, who: str) -> None:
        """Raises RequestProblem: too many requests, or a parameter that is not known here.
        PermissionDenied: the role of the person does not do."""
        count(request, who, settings.API_REQUESTS_PER_MINUTE)
        check_permission(request.user, self.permission)
        if self.takes_work:  # counted together with the pages that do the same
            count(request, f"work:{request.user.pk}", settings.WORK_REQUESTS_PER_MINUTE)
        unknown = [name for name in request.GET if name not in self.query]
        if unknown:
            names = ", ".join(self.query)
            allowed = f"Allowed here: {names}." if names else "This route takes no parameters."
            raise RequestProblem(
                422,
                f"Unknown parameter {unknown[0]!r}. {allowed}",
                [Problem(name, f"Unknown parameter. {allowed}") for name in unknown],
            )
        for name, value in request.GET.items():
            if "\x00" in value:
                raise refuse(name, "A text holds no NUL character.")


class BearerToken(Door, HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        found = authenticate_token(token.strip())
        if found is None:
            count(request, f"nobody:{address_of(request)}", FAILURES_PER_MINUTE)
            raise AuthenticationError
        request.user = found.owner
        if self.scope not in found.scopes:
            has = ", ".join(found.scopes)
            raise RequestProblem(403, f"This needs the scope {self.scope}; the token has: {has}.")
        self.admit(request, f"token:{found.pk}")
        return found


class SessionCookie(Door, APIKeyCookie):
    """The site's own pages. What changes something needs the CSRF token besides."""

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self, scope: Scope, permission: Permission, *, takes_work: bool) -> None:
        # CSRF is checked by ours, below, which tells what to do.
        super().__init__(scope, permission, takes_work=takes_work, csrf=False)

    def authenticate(self, request: HttpRequest, key: str | None) -> AbstractBaseUser | None:
        user = request.user
        if not isinstance(user, AbstractBaseUser) or not user.is_active:
            return None
        if check_csrf(request):
            told = "Send the CSRF token as X-CSRFToken, or use an API token instead of a session."
            raise RequestProblem(403, told)
        self.admit(request, f"user:{user.pk}")
        return user


def count(request: HttpRequest, who: str, limit: int) -> None:
    rate = take_request(who, limit)
    request.rate = rate  # type: ignore[attr-defined]  # its headers go out with the answer
    if rate.is_over:
        raise RequestProblem(429, rate.sentence, headers={"Retry-After": str(rate.reset_seconds)})


def caller_now(request: HttpRequest) -> AbstractBaseUser | None:
    """Who came in some time ago, with the role of now; None if they may not be here any more. For
    answers that go on for long."""
    came_with = request.auth  # type: ignore[attr-defined]  # set at the door
    if isinstance(came_with, ApiToken):
        return owner_now(came_with)
    return person_of_session(request.session.session_key)


def needs(
    scope: Scope, permission: Permission | None = None, *, takes_work: bool = False
) -> list[Any]:
    """What a route asks for: a scope of tokens, and the permission of the person whom they act
    for. Reading and running imply theirs; managing is of many things, so it must say which. Of what
    `takes_work` a person may ask less in a minute."""
    asked = permission or USUAL_PERMISSIONS.get(scope)
    if asked is None:
        raise ConfigError(f"needs({scope!r}) must name a permission besides.")
    return [door(scope, asked, takes_work=takes_work) for door in (BearerToken, SessionCookie)]


def caller(request: HttpRequest) -> AbstractBaseUser:
    """Whom the request acts for. Every route has a door, so it is somebody."""
    if not isinstance(request.user, AbstractBaseUser):
        raise AuthenticationError
    return request.user
