"""Whether the installation is being maintained: one row, or none."""

from django.db import models


class Maintenance(models.Model):
    """While its row is there, every run is paused."""

    ONLY = 1  # the number of the one row

    begun = models.DateTimeField(auto_now_add=True)
    by = models.CharField(max_length=150)
    reason = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"maintenance by {self.by}{why}"
