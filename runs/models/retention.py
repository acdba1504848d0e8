"""What the site removes by itself: one row, or none while nobody has said anything."""

from django.db import models


class RetentionRules(models.Model):
    """What is empty is said by the environment; 0 keeps for ever."""

    ONLY = 1  # the number of the one row

    run_days = models.PositiveIntegerField(null=True, blank=True)
    sample_days = models.PositiveIntegerField(null=True, blank=True)
    cache_days = models.PositiveIntegerField(null=True, blank=True)
    cache_megabytes = models.PositiveIntegerField(null=True, blank=True)
    looked = models.DateTimeField(
        null=True, blank=True, help_text="When the rules were last acted on to the end."
    )

    def __str__(self) -> str:
        return "what the site removes by itself"
