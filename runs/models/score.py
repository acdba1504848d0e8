"""A Score: what became of a Trial. A value or an error, never both, never neither."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse


class Score(models.Model):
    # The constraints below begin with run: an index of its own would only slow the inserts.
    run = models.ForeignKey(
        "runs.Run", on_delete=models.CASCADE, related_name="scores", db_index=False
    )
    position = models.PositiveIntegerField(help_text="The trial's place in the run's order.")
    candidate = models.ForeignKey(
        "runs.Candidate", on_delete=models.CASCADE, related_name="scores", db_index=False
    )
    case = models.ForeignKey(
        "runs.Case", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    repeat = models.PositiveSmallIntegerField(default=0)
    value = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    error_class = models.CharField(max_length=40, blank=True)
    error_message = models.CharField(max_length=500, blank=True)
    answer = models.TextField(blank=True)
    details = models.JSONField(default=list, help_text="What each scorer said.")
    attempts = models.JSONField(default=list, help_text="Each attempt: what happened, how long.")
    latency_ms = models.FloatField(null=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True, help_text="Dollars; empty when the price is unknown.")
    full_cost = models.FloatField(
        null=True, help_text="Dollars if nothing had been cached; empty when unknown."
    )
    cached = models.BooleanField(default=False)
    truncated = models.BooleanField(
        default=False, help_text="The answer was cut at max_tokens, or at the model's own limit."
    )
    calls = models.JSONField(
        null=True, help_text="Of a pipeline, each call: step, model, prompt, answer, use."
    )
    judging = models.JSONField(
        null=True,
        help_text="What scorers asked: calls, attempts and what they used; the reply's figures if "
        "it could not be judged.",
    )
    finished = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["run", "candidate", "case", "repeat"], name="score_one_per_trial"
            ),
            models.UniqueConstraint(fields=["run", "position"], name="score_run_position"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, error_class="")
                | Q(value__isnull=True) & ~Q(error_class=""),
                name="score_value_or_error",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["run", "error_class", "position"]),
            models.Index(fields=["run", "candidate", "position"]),
        ]

    def __str__(self) -> str:
        return f"trial {self.position} of run {self.run_id}"

    def get_absolute_url(self) -> str:
        return reverse("trial", args=[self.run_id, self.position])

    @property
    def is_error(self) -> bool:
        return bool(self.error_class)


class ScoreRecord(models.Model):
    """What a trial recorded beside its score. In a table of its own, which no list reads."""

    # Not a cascade: Django would load whole scores to delete them. Who deletes scores deletes
    # their records first, and the database refuses otherwise.
    score = models.OneToOneField(
        Score, on_delete=models.DO_NOTHING, primary_key=True, related_name="record"
    )
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="+")
    size = models.PositiveIntegerField(help_text="Bytes of JSON.")
    packed = models.BinaryField(help_text="The JSON, compressed by zlib.")

    def __str__(self) -> str:
        return f"record of score {self.score_id}"


class Verdict(models.TextChoices):
    """What a person may say of a trial beside what its scorers said."""

    RIGHT = "right", "Right"
    WRONG = "wrong", "Wrong"
    VALUE = "value", "Another value"
    ORIGINAL = "original", "As the scorers said"
    COMMENT = "comment", "Only a comment"
    FLAG = "flag", "Flagged, to look at again"
    UNFLAG = "unflag", "Flag removed"

    @property
    def passed(self) -> bool | None:
        return {Verdict.RIGHT: True, Verdict.WRONG: False}.get(self)


NO_VERDICTS = (Verdict.COMMENT, Verdict.FLAG, Verdict.UNFLAG)
"""What says nothing about the value."""

LONGEST_COMMENT = 2_000  # characters


class Override(models.Model):
    """What a person said of a trial. Rows are added and stay; the newest that is no mere comment
    stands, and the score beside it is never changed."""

    # Not a cascade, as with records: whoever deletes scores deletes these first.
    score = models.ForeignKey(Score, on_delete=models.DO_NOTHING, related_name="overrides")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="overrides")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    verdict = models.CharField(max_length=10, choices=Verdict)
    value = models.FloatField(null=True, help_text="From 0 to 1; none: the original, or a comment.")
    comment = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]

    def __str__(self) -> str:
        return f"{self.verdict} of score {self.score_id}"

    @property
    def passed(self) -> bool | None:
        return Verdict(self.verdict).passed
