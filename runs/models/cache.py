"""The shared cache of answers that were paid for."""

from typing import ClassVar

from django.db import models


class KeptReply(models.Model):
    """A successful reply under the key of its request. Failures are never stored."""

    key = models.CharField(max_length=64, primary_key=True)
    endpoint = models.CharField(max_length=60)
    model = models.CharField(max_length=200)
    text = models.TextField()
    latency_ms = models.FloatField(help_text="Of the original call, so cached runs compare fairly.")
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    truncated = models.BooleanField(
        default=False, help_text="Cut at its length limit; rows of earlier versions do not say."
    )
    checksum = models.BigIntegerField(
        null=True, help_text="Of key, text and tokens; none in rows of earlier versions."
    )
    run = models.ForeignKey(
        "runs.Run", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    created = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.endpoint}/{self.model} {self.key[:12]}"


class CachedReply(KeptReply):
    """One that answers equal calls."""

    class Meta:
        verbose_name_plural = "cached replies"
        # Newest first of all, of a model and of a run: for a page, a search and a removal alike.
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["created"]),
            models.Index(fields=["endpoint", "model", "created"]),
            models.Index(fields=["run", "created"]),
        ]


class RemovedReply(KeptReply):
    """One that somebody removed, and can bring back. In a table of its own: nothing that reads the
    cache has to pass it over. Those of one removal have the same date."""

    remove_after = models.DateTimeField()

    class Meta:
        verbose_name_plural = "removed replies"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["remove_after"]),
            models.Index(fields=["run"]),
        ]


ANSWER_TABLES: tuple[type[KeptReply], ...] = (CachedReply, RemovedReply)
