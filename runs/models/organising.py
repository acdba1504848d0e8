"""How people keep order among runs: tags, which all who see a run see, stars and saved views, which
are a person's own."""

from typing import ClassVar

from django.conf import settings
from django.db import models

LONGEST_TAG = 40
LONGEST_VIEW_NAME = 60


class RunTag(models.Model):
    """A word on a run."""

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=LONGEST_TAG)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "name"], name="run_tag_once")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["name", "run"], name="run_tag_name")
        ]

    def __str__(self) -> str:
        return self.name


class RunStar(models.Model):
    """A run that a person wants to find again. Retention keeps what anybody starred."""

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="stars")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="stars"
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["person", "run"], name="run_star_once")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id}, starred by {self.person_id}"


class SavedView(models.Model):
    """Filters and columns of the runs list, under a name."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="views"
    )
    name = models.CharField(max_length=LONGEST_VIEW_NAME)
    query = models.CharField(max_length=2000, blank=True, help_text="As it stands in an address.")

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name")
        ]

    def __str__(self) -> str:
        return self.name
