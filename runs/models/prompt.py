"""The prompt library: every version is a row of its own, and never changes."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse


class Prompt(models.Model):
    """One version of a named prompt. Changing it means adding a version; runs keep a copy."""

    name = models.CharField(max_length=120)
    version = models.PositiveIntegerField(default=1)
    content = models.JSONField(
        help_text="As in a configuration: system and user, or messages; tools and tool_choice."
    )
    note = models.CharField(max_length=300, blank=True, help_text="What this version changed.")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    is_shared = models.BooleanField(
        default=False, help_text="Everybody on this site may see it, in all its versions."
    )
    team = models.ForeignKey(
        "runs.Team",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Whose members may see it, too.",
    )
    created = models.DateTimeField(auto_now_add=True)
    run = models.ForeignKey(
        "runs.Run",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Where these words were found.",
    )
    candidate = models.CharField(
        max_length=64, blank=True, help_text="The key of the run's candidate that has these words."
    )

    is_new = False  # not stored: whether the saving that answered with it also stored it

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "-version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["name", "version"], name="prompt_name_version")
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    def get_absolute_url(self) -> str:
        return reverse("prompt", args=[self.pk])
