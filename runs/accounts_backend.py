"""Loads the account of a session with its profile: one query, on every page."""

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


class AccountsBackend(ModelBackend):
    def get_user(self, user_id: int) -> User | None:
        found = User.objects.select_related("profile").filter(pk=user_id).first()
        return found if found is not None and self.user_can_authenticate(found) else None
