"""Every page declares the permission that it needs. One that declares none is refused."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from runs.roles import Permission, check_permission

logger = logging.getLogger(__name__)
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
UNDECLARED = "This page does not say who may open it, so nobody may. Tell whoever runs this site."

View = TypeVar("View", bound=Callable[..., Any])


class Declared(NamedTuple):
    to_see: Permission
    to_change: Permission

    def for_method(self, method: str | None) -> Permission:
        return self.to_see if method in SAFE_METHODS else self.to_change


def requires(
    permission: Permission, *, to_change: Permission | None = None
) -> Callable[[View], View]:
    """Declare what a view needs, and what it needs to be sent something if that is more."""

    def declare(view: View) -> View:
        view.declared = Declared(permission, to_change or permission)  # type: ignore[attr-defined]
        if permission == Permission.PUBLIC:
            login_not_required(view)
        return view

    return declare


def declared_by(view: Callable[..., Any]) -> Declared | None:
    return getattr(view, "declared", None)


class PermissionMiddleware:
    """After the sign-in wall: asks for what the view declares, before the view runs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> None:
        match = request.resolver_match
        if match is not None and "admin" in match.namespaces:
            return  # the admin site asks for its own permission, see runs/admin
        declared = declared_by(view)
        if declared is None:
            logger.error("%s declares no permission, so it is refused.", request.path)
            raise PermissionDenied(UNDECLARED)
        check_permission(request.user, declared.for_method(request.method))
