"""Datasets: every version is a row of its own, and its cases never change."""

from collections.abc import Mapping
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse


class ColumnRole(models.TextChoices):
    """What a column is for. Inputs are offered for prompts; the others may be named in one, too."""

    INPUT = "input", "input"
    EXPECTED = "expected", "expected answer"  # stored as `expected_column`
    METADATA = "metadata", "metadata"
    SPLIT = "split", "split"
    TAGS = "tags", "tags"
    ID = "id", "id"


class Dataset(models.Model):
    """One version of a named dataset. Changing its rows means adding a version; what its columns
    are for may change, since a run freezes what it used of that."""

    name = models.CharField(max_length=120)
    version = models.PositiveIntegerField(default=1)
    columns = models.JSONField(default=list)
    rows = models.PositiveIntegerField(default=0)
    expected_column = models.CharField(
        max_length=100,
        blank=True,
        help_text="The column that scorers compare answers with; empty: none.",
    )
    roles = models.JSONField(
        default=dict,
        blank=True,
        help_text="What columns are for: metadata, split, tags or id. Those not named are inputs.",
    )
    origin = models.CharField(
        max_length=300, blank=True, editable=False, help_text="Where its rows come from, in words."
    )
    digest = models.CharField(max_length=64, help_text="SHA-256 over the rows in order.")
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
    archived = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since then offered for no new run."
    )
    remove_after = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Deleted: archived, and removed for good after that.",
    )

    size = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Bytes of its rows as JSON."
    )
    is_hidden = models.BooleanField(
        default=False,
        editable=False,
        help_text="Made for runs or pasted into one: offered nowhere, seen by whoever may see one "
        "of its runs, and removed with the last of them. Pasted rows have an owner.",
    )

    is_new = False  # not stored: whether the import that answered with it also stored it

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "-version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["name", "version"], name="dataset_name_version")
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    def get_absolute_url(self) -> str:
        return reverse("dataset", args=[self.pk])

    def role_of(self, column: str) -> str:
        if column == self.expected_column:
            return ColumnRole.EXPECTED
        return str(self.roles.get(column, ColumnRole.INPUT))

    def column_for(self, role: str) -> str:
        """The first column with this role; empty if there is none."""
        return next((column for column in self.columns if self.role_of(column) == role), "")

    @property
    def input_columns(self) -> list[str]:
        return [column for column in self.columns if self.role_of(column) == ColumnRole.INPUT]


class Case(models.Model):
    """One row of a dataset: the fields a prompt may name."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="cases")
    position = models.PositiveIntegerField()
    fields = models.JSONField()

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["dataset", "position"], name="case_dataset_position")
        ]

    def __str__(self) -> str:
        return f"{self.dataset} #{self.position}"

    @property
    def question(self) -> str:
        return question_in(self.fields)


def question_in(fields: Mapping[str, str]) -> str:
    """What a person recognises a case by: its question, else its first field."""
    return fields.get("question") or next(iter(fields.values()), "")
