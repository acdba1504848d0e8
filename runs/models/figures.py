"""What a leaderboard says that needs every case of a run: kept, since adding it up takes long."""

from django.db import models

from workers.engine.statistics.intervals import Estimate


class RunFigures(models.Model):
    """In a table of its own: whoever counts scores locks and reads the run's row all the time."""

    run = models.OneToOneField(
        "runs.Run", on_delete=models.CASCADE, primary_key=True, related_name="figures"
    )
    stamp = models.CharField(max_length=200, help_text="Of the scores that it was made of.")
    best = models.ForeignKey(
        "runs.Candidate", on_delete=models.CASCADE, null=True, related_name="+"
    )
    score = models.FloatField(null=True, help_text="Of the best candidate.")
    low = models.FloatField(null=True, help_text="Of its interval.")
    high = models.FloatField(null=True)
    n = models.PositiveIntegerField(null=True, help_text="Its trials that have a score.")
    document = models.JSONField(help_text="By candidate.")

    def __str__(self) -> str:
        return f"figures of run {self.run_id}"

    @property
    def estimate(self) -> Estimate:
        """Of the best candidate."""
        return Estimate(self.score or 0.0, self.low or 0.0, self.high or 0.0, self.n or 0)
