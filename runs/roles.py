"""Who may do what: five roles, each a Django group, and the one table of their permissions."""

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet

Person = AbstractBaseUser | AnonymousUser
logger = logging.getLogger(__name__)
MOST_NAMED = 3  # administrators whom a refusal names: enough to find one


class Role(StrEnum):
    """From the least to the most: each may do what those before it may."""

    VIEWER = "viewer"
    RUNNER = "runner"
    AUTHOR = "author"
    OPERATOR = "operator"
    ADMIN = "admin"


class Permission(StrEnum):
    """What a page, route or socket asks for. The words end a sentence: "You may not …"."""

    PUBLIC = "open this"  # without an account
    SIGNED_IN = "use the site"  # with any account, also one that has no role
    SEE = "see runs, datasets, endpoints and the cache"
    LAUNCH = "start or control runs"
    SEE_ADDRESSES = "see where and how endpoints are called"
    IMPORT = "import datasets"
    CONFIGURE = "store configurations"
    WRITE_CODE = "run scorers that you write as code"
    OTHERS_WORK = "see or change the work of others"
    EDIT_ENDPOINTS = "add, change, test or pause endpoints"
    CLEAR_CACHE = "remove cached answers"
    MAINTAIN = "see or maintain the installation"
    ALLOW_PRIVATE = "let endpoints call private addresses"
    MANAGE_PEOPLE = "give roles or close accounts"
    READ_AUDIT = "read the audit log"
    SET_RETENTION = "say what the site removes by itself"
    USE_ADMIN = "use the admin"


NOBODY = frozenset({Permission.PUBLIC})
SIGNED_IN = NOBODY | {Permission.SIGNED_IN}
VIEWER = SIGNED_IN | {Permission.SEE}
RUNNER = VIEWER | {
    Permission.LAUNCH,
    Permission.SEE_ADDRESSES,
    Permission.IMPORT,
    Permission.CONFIGURE,
}
AUTHOR = RUNNER | {Permission.WRITE_CODE}
OPERATOR = AUTHOR | {
    Permission.OTHERS_WORK,
    Permission.EDIT_ENDPOINTS,
    Permission.CLEAR_CACHE,
    Permission.MAINTAIN,
}
ADMIN = OPERATOR | {
    Permission.ALLOW_PRIVATE,
    Permission.MANAGE_PEOPLE,
    Permission.READ_AUDIT,
    Permission.SET_RETENTION,
    Permission.USE_ADMIN,
}

PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.VIEWER: VIEWER,
    Role.RUNNER: RUNNER,
    Role.AUTHOR: AUTHOR,
    Role.OPERATOR: OPERATOR,
    Role.ADMIN: ADMIN,
}


def may(user: Person, permission: Permission) -> bool:
    return permission in permissions_of(user)


def permissions_of(user: Person) -> frozenset[Permission]:
    if not user.is_authenticated or not user.is_active:
        return NOBODY
    role = role_of(user)
    return PERMISSIONS[role] if role else SIGNED_IN


def role_of(user: Person) -> Role | None:
    """Of an account that may be used. None: no role, no entry."""
    return stored_role_of(user) if isinstance(user, User) and user.is_active else None


def stored_role_of(user: User) -> Role | None:
    """The highest that the account has; of staff and superusers admin."""
    if user.is_staff or user.is_superuser:
        return Role.ADMIN
    kept: Any = user  # asked for many times in a request, for which the object lives
    if not hasattr(kept, "kept_role"):
        names = {group.name for group in user.groups.all()} if user.pk else set()
        kept.kept_role = next((role for role in reversed(Role) if role in names), None)
    found: Role | None = kept.kept_role
    return found


def forget_role(user: User) -> None:
    """After a change of its groups."""
    user.__dict__.pop("kept_role", None)


def check_permission(user: Person, permission: Permission) -> None:
    if not may(user, permission):
        logger.warning("%s may not %s.", user.get_username() or "Nobody", permission.value)
        raise PermissionDenied(refusal(user, permission))


def refusal(user: Person, permission: Permission) -> str:
    """Why not, what it takes, and whom to ask for it."""
    role = role_of(user)
    has = f"Your role is {role}" if role else "Your account has no role yet"
    least = next(role for role in Role if permission in PERMISSIONS[role])
    return (
        f"You may not {permission.value}. {has}; this needs the role {least}"
        f"{'' if least == Role.ADMIN else ' or a higher one'}. Ask {whom_to_ask()} for it."
    )


def whom_to_ask() -> str:
    names = list(administrators().order_by("pk").values_list("username", flat=True)[:MOST_NAMED])
    if not names:
        return "whoever runs this site"
    return f"an administrator ({', '.join(names)})"


def administrators() -> QuerySet[User]:
    has_role = Q(is_staff=True) | Q(is_superuser=True) | Q(groups__name=Role.ADMIN.value)
    return User.objects.filter(has_role, is_active=True).distinct()
