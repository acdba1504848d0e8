"""Who is asking. Every view behind the sign-in wall has a real account to hand on."""

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


def person(request: HttpRequest) -> AbstractBaseUser:
    """The signed-in account. The middleware already turned everybody else away."""
    if not isinstance(request.user, AbstractBaseUser):
        raise PermissionDenied("Sign in first.")
    return request.user
