"""A DryRun: a few trials that were tried before a launch, for what they cost."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.timezone import now


class DryRun(models.Model):
    """Its answers go to the person who asked and into the cache; only the bill is stored."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    dataset = models.ForeignKey(
        "runs.Dataset",
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="None: its rows were given in place.",
    )
    created = models.DateTimeField(default=now)
    calls = models.PositiveIntegerField(default=0)
    cost = models.FloatField(default=0.0, help_text="Dollars, by known prices.")
    reply_keys = models.JSONField(
        default=list,
        help_text="Of the cached answers that it paid for: erased with the person or the dataset.",
    )

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["owner", "created"], name="dry_run_owner_created")
        ]

    def __str__(self) -> str:
        return f"dry run {self.pk}"
