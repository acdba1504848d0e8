"""What is kept about accounts besides Django's own users."""

from typing import ClassVar

from django.db import models


class SignInFailure(models.Model):
    """One failed sign-in, or one that is being checked, kept for as long as it counts."""

    account = models.CharField(
        max_length=64, help_text="A keyed hash of the name: people type passwords there."
    )
    address = models.CharField(max_length=45)
    device = models.CharField(
        max_length=32, blank=True, default="", help_text="Empty unless the account knows it."
    )
    at = models.DateTimeField()

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["account", "at"]),
            models.Index(fields=["address", "at"]),
            models.Index(fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.account[:8]} from {self.address}"
