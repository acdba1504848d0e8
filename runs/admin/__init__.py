"""The admin: where an operator sets things up, and looks at what the workers wrote.

Everything that writes goes through services; what workers write can only be looked at. Accounts
are not here: Django's own pages for them would know nothing of roles or of the last administrator.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin  # noqa: F401 - registers what we take out
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import Group, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from runs.admin.configurations import ConfigurationAdmin
from runs.admin.datasets import DatasetAdmin
from runs.admin.endpoints import EndpointAdmin
from runs.admin.runs import CandidateAdmin, ChunkAdmin, RunAdmin, RunEventAdmin, RunSampleAdmin
from runs.admin.scores import CachedReplyAdmin, ScoreAdmin
from runs.roles import Permission, may, refusal

__all__ = [
    "CachedReplyAdmin",
    "CandidateAdmin",
    "ChunkAdmin",
    "ConfigurationAdmin",
    "DatasetAdmin",
    "EndpointAdmin",
    "RunAdmin",
    "RunEventAdmin",
    "RunSampleAdmin",
    "ScoreAdmin",
]


@login_not_required
def sign_in_at_the_front_door(
    request: HttpRequest, extra_context: dict[str, Any] | None = None
) -> HttpResponse:
    """One sign-in page for all, because it is the one that counts failed tries."""
    if request.user.is_authenticated:
        raise PermissionDenied(refusal(request.user, Permission.USE_ADMIN))
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


def change_password_at_the_front_door(
    request: HttpRequest, extra_context: dict[str, Any] | None = None
) -> HttpResponse:
    """One page for all, because it counts wrong passwords and ends remembered devices."""
    return redirect("password")


def may_use_admin(request: HttpRequest) -> bool:
    return may(request.user, Permission.USE_ADMIN)


admin.site.site_header = "evalsite"
admin.site.site_title = "evalsite admin"
admin.site.index_title = "Set up and look up"
admin.site.login = sign_in_at_the_front_door  # type: ignore[method-assign]
admin.site.has_permission = may_use_admin  # type: ignore[method-assign]
admin.site.password_change = change_password_at_the_front_door  # type: ignore[assignment, method-assign]
# The page People does what they did, through the services.
admin.site.unregister([User, Group])
