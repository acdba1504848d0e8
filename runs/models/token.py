"""API tokens: how scripts act for a person. Of a token only its hash is kept."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models


class Scope(models.TextChoices):
    """What a token may be used for; each on its own."""

    READ = "read", "Read"
    RUN = "run", "Start and control runs"
    MANAGE = "manage", "Datasets, endpoints, configurations and the cache"


class ApiToken(models.Model):
    """Acts for its owner, within its scopes, until it expires or is revoked."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16, unique=True, help_text="The readable beginning.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the whole token.")
    scopes = models.JSONField(default=list)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"

    def is_valid_at(self, moment: datetime) -> bool:
        return self.revoked is None and (self.expires is None or moment < self.expires)
