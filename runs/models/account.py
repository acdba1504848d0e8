"""What is kept about accounts besides Django's own users."""

from typing import ClassVar

from django.contrib.auth.models import User
from django.db import models
from django.utils.timezone import now


class Theme(models.TextChoices):
    SYSTEM = "system", "As the system says"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Profile(models.Model):
    """How a person wants to see the site, on every device. Loaded together with the account."""

    person = models.OneToOneField(User, models.CASCADE, related_name="profile")
    theme = models.CharField(
        max_length=10, blank=True, default="", help_text="One of Theme; empty: as the browser says."
    )
    time_zone = models.CharField(
        max_length=40, blank=True, default="", help_text="As in Europe/Berlin; empty: UTC."
    )

    def __str__(self) -> str:
        return f"profile of {self.person.get_username()}"


class ProviderIdentity(models.Model):
    """Whom the sign-in provider means by a subject. Its number stays when a mail address changes
    hands."""

    person = models.ForeignKey(User, models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    added = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "provider identities"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_per_subject")
        ]

    def __str__(self) -> str:
        return f"{self.person.get_username()} at {self.issuer}"


class Invitation(models.Model):
    """A link at which one person makes an account. Of the link only a hash is kept."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's token.")
    role = models.CharField(max_length=20, help_text="Of the new account, one of runs/roles.py.")
    note = models.CharField(max_length=80, blank=True, default="", help_text="For whom it is.")
    made = models.DateTimeField(default=now)
    made_by = models.ForeignKey(User, models.CASCADE, related_name="invitations")
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True, blank=True)
    used = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")

    def __str__(self) -> str:
        return self.note or f"invitation {self.pk}"


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
