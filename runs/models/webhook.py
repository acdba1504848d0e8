"""Webhooks: where a person wants to be told what happens to runs, and what is still to be told."""

from typing import ClassVar

from django.conf import settings
from django.db import models

MAILTO = "mailto:"  # how the address of a mail begins


class WebhookKind(models.TextChoices):
    JSON = "json", "JSON, signed"
    SLACK = "slack", "Slack or compatible"
    MAIL = "mail", "Mail"


class AlertEvent(models.TextChoices):
    """The words end a sentence: "Run 12: …"."""

    ENDED = "run.ended", "Ended"
    GATE_FAILED = "run.gate_failed", "Regressed, or failed a gate"
    BUDGET = "run.budget_stop", "Stopped by its budget"
    PAUSED = "run.paused", "Paused"
    FAILING = "endpoint.failing", "A model that it calls is failing"


def only_ends() -> list[str]:
    return [AlertEvent.ENDED.value]


class Webhook(models.Model):
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks"
    )
    url = models.CharField(max_length=300, help_text="Of a mail: mailto: and the address.")
    kind = models.CharField(max_length=10, choices=WebhookKind, default=WebhookKind.JSON)
    events = models.JSONField(default=only_ends, help_text="Of AlertEvent: what is told to it.")
    nonce = models.CharField(
        max_length=32, help_text="Its secret is made of this and the site's key, and not stored."
    )
    created = models.DateTimeField(auto_now_add=True)
    confirmed = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Empty: a mail address whose code nobody has entered. Nothing is told to it.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One thing that happened to a run, to be told to one webhook: an outbox row that workers
    empty."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, choices=AlertEvent, default=AlertEvent.ENDED)
    told = models.CharField(max_length=300, blank=True, help_text="Why, in words.")
    created = models.DateTimeField(auto_now_add=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try = models.DateTimeField(null=True, blank=True, help_text="Empty: nothing left to do.")
    delivered = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=200, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Of the answer.")
    answer = models.CharField(max_length=500, blank=True, help_text="Its beginning; untrusted.")

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["next_try"])]

    def __str__(self) -> str:
        return f"run {self.run_id} to {self.webhook}"
