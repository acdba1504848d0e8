"""What a leaderboard says that needs every case of a run: kept, since adding it up takes long."""

from django.db import models


class RunFigures(models.Model):
    """In a table of its own: whoever counts scores locks and reads the run's row all the time."""

    run = models.OneToOneField(
        "runs.Run", on_delete=models.CASCADE, primary_key=True, related_name="figures"
    )
    stamp = models.CharField(max_length=200, help_text="Of the scores that it was made of.")
    low = models.FloatField(null=True, help_text="Of the interval of the run's mean score.")
    high = models.FloatField(null=True)
    document = models.JSONField(help_text="By candidate.")

    def __str__(self) -> str:
        return f"figures of run {self.run_id}"
