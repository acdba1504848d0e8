"""A Benchmark: what was measured, and under which conditions."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse


class Benchmark(models.Model):
    """One execution of `manage.py benchmark`. Never changed afterwards."""

    created = models.DateTimeField(auto_now_add=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    conditions = models.JSONField(help_text="Machine, versions, provider, load, seed.")
    results = models.JSONField(help_text="The points, each with n and its spread.")
    code_version = models.CharField(max_length=80)

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]

    def __str__(self) -> str:
        return f"benchmark {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("benchmark", args=[self.pk])
