"""When a configuration is launched by itself, and what became of each due time."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class Schedule(models.Model):
    """One per configuration. Its runs are its owner's, by what the owner may do and use then."""

    configuration = models.OneToOneField(
        "runs.Configuration", on_delete=models.CASCADE, related_name="schedule"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules"
    )
    cron = models.CharField(max_length=100, help_text="Minute, hour, day, month, day of the week.")
    time_zone = models.CharField(max_length=60, default="UTC")
    catches_up = models.BooleanField(
        default=False, help_text="After an outage: one run for all due times that were missed."
    )
    is_on = models.BooleanField(default=True)
    stopped = models.CharField(
        max_length=300, blank=True, help_text="Why the site stopped it; empty: a person did."
    )
    next_due = models.DateTimeField(null=True, blank=True, help_text="Empty: it is off.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["next_due"], name="schedule_next_due")
        ]

    def __str__(self) -> str:
        return f"{self.cron} ({self.time_zone})"


class DueOutcome(models.TextChoices):
    LAUNCHED = "launched", "Launched"
    MISSED = "missed", "Missed"
    SKIPPED = "skipped", "Skipped"
    REFUSED = "refused", "Refused"


class DueTime(models.Model):
    """One due time. The row is unique, so that no number of processes launches it twice."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="times")
    due = models.DateTimeField()
    outcome = models.CharField(max_length=10, choices=DueOutcome)
    told = models.CharField(max_length=300, blank=True)
    missed = models.PositiveIntegerField(default=0, help_text="Due times before it that passed.")
    run = models.ForeignKey(
        "runs.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-due"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["schedule", "due"], name="due_time_once")
        ]

    def __str__(self) -> str:
        return f"{self.due:%Y-%m-%d %H:%M} of schedule {self.schedule_id}"
