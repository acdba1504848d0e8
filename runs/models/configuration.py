"""A Configuration: what a person set up, named and versioned."""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse


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
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"{reverse('run_new')}?configuration={self.pk}"

    @property
    def as_document(self) -> dict[str, Any]:
        return {"name": self.name, **self.document}
