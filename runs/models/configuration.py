"""A Configuration: what a person set up, named and versioned."""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.timezone import now


class Configuration(models.Model):
    """A named document that the engine accepts; a Run freezes a copy of it."""

    name = models.CharField(max_length=120, unique=True)
    description = models.CharField(max_length=300, blank=True)
    kind = models.CharField(max_length=20, editable=False)
    document = models.JSONField(
        help_text="The configuration itself, as in a YAML file: kind, dataset, prompts, models, …"
    )
    version = models.PositiveIntegerField(default=1, editable=False)
    is_preset = models.BooleanField(
        default=False, help_text="Offered to everybody as a starting point on the new-run page."
    )
    is_shared = models.BooleanField(
        default=False, help_text="Everybody on this site may see and launch it."
    )
    team = models.ForeignKey(
        "runs.Team",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Whose members may see and launch it, too.",
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    baseline = models.ForeignKey(
        "runs.Run",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The run that its runs are compared with.",
    )
    gates = models.JSONField(
        default=dict, blank=True, help_text="What else its runs are held to, as min_score."
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    remove_after = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Deleted: launches nothing, and removed for good after that.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("configuration", args=[self.pk])

    @property
    def as_document(self) -> dict[str, Any]:
        return {"name": self.name, **self.document}


class ConfigurationVersion(models.Model):
    """What a configuration was; the newest version is the configuration as it is. Never changed."""

    configuration = models.ForeignKey(
        Configuration, on_delete=models.CASCADE, related_name="versions"
    )
    version = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    document = models.JSONField()
    saved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Empty: the command line, or an account that was removed.",
    )
    created = models.DateTimeField(default=now)

    class Meta:
        ordering: ClassVar[list[str]] = ["-version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["configuration", "version"], name="configuration_version"
            )
        ]

    def __str__(self) -> str:
        return f"version {self.version} of configuration {self.configuration_id}"
