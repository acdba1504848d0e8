"""What one person may use of the site, or everybody of a role."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class PersonQuota(models.Model):
    """Of an account or of a role. What is empty is said by the role's row, then by the settings."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="quota",
    )
    role = models.CharField(max_length=20, null=True, blank=True, unique=True)
    trials_per_run = models.PositiveIntegerField(null=True, blank=True)
    active_runs = models.PositiveIntegerField(null=True, blank=True)
    dollars_per_day = models.FloatField(null=True, blank=True)
    stored_megabytes = models.PositiveIntegerField(null=True, blank=True)
    slots = models.PositiveIntegerField(
        null=True, blank=True, help_text="Calls in flight over all runs of the person."
    )
    sockets = models.PositiveIntegerField(
        null=True, blank=True, help_text="Pages of the person that are live at once."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(person__isnull=False) ^ Q(role__isnull=False), name="quota_of_one"
            )
        ]

    def __str__(self) -> str:
        return f"quota of {self.role or self.person}"


class SpentOnDay(models.Model):
    """What removed runs cost a person on a day, UTC: a quota must not open when they go."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    dollars = models.FloatField(default=0.0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["person", "day"], name="spent_on_day_once")
        ]

    def __str__(self) -> str:
        return f"{self.dollars:.4f} dollars on {self.day}"
