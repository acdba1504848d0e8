"""What the run page draws over time: one sample a second, and the events worth a line."""

from typing import ClassVar

from django.db import models


class RunSample(models.Model):
    """What happened in one second of a run, added up over all workers."""

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="samples")
    second = models.PositiveIntegerField(help_text="Seconds since the run started.")
    fresh = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    in_flight = models.PositiveIntegerField(default=0)
    latency_bins = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar[list[str]] = ["second"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "second"], name="sample_run_second")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id}, second {self.second}"


ADVICE = "advice"  # the kind of an event that a person can do something about


class EventLevel(models.TextChoices):
    INFO = "info", "Info"
    WARNING = "warning", "Warning"
    ERROR = "error", "Error"


class RunEvent(models.Model):
    """One line of what happened to a run and why."""

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    level = models.CharField(max_length=10, choices=EventLevel, default=EventLevel.INFO)
    kind = models.CharField(max_length=20, default="note", help_text="note, or limit: a change")
    data = models.JSONField(default=dict, help_text="Of a limit's change: key, from, to, reason.")
    message = models.CharField(max_length=500)

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]

    def __str__(self) -> str:
        return self.message
