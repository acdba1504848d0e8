"""Webhooks: where a person wants to be told that a run has ended, and what is still to be told."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class Webhook(models.Model):
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks"
    )
    url = models.CharField(max_length=300)
    nonce = models.CharField(
        max_length=32, help_text="Its secret is made of this and the site's key, and not stored."
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One end of one run, to be told to one webhook: an outbox row that workers empty."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="deliveries")
    created = models.DateTimeField(auto_now_add=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try = models.DateTimeField(null=True, blank=True, help_text="Empty: nothing left to do.")
    delivered = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["next_try"])]

    def __str__(self) -> str:
        return f"run {self.run_id} to {self.webhook}"
