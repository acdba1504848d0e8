"""A Run, its Candidates, and the Chunks that workers lease."""

from datetime import datetime
from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.urls import reverse

from workers.engine import records
from workers.engine.records import EVALUATE, JUDGE


class RunState(models.TextChoices):
    QUEUED = "queued", "Queued"
    STARTING = "starting", "Starting"
    RUNNING = "running", "Running"
    PAUSING = "pausing", "Pausing"
    PAUSED = "paused", "Paused"
    FINISHING = "finishing", "Finishing"
    COMPLETED = "completed", "Completed"
    COMPLETED_WITH_ERRORS = "completed_with_errors", "Completed with errors"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"

    @classmethod
    def going(cls) -> list[Self]:
        """Those whose trials are planned and taken."""
        return [cls.QUEUED, cls.STARTING, cls.RUNNING, cls.FINISHING]

    @classmethod
    def held(cls) -> list[Self]:
        """Those that start no calls until somebody resumes them."""
        return [cls.PAUSING, cls.PAUSED]

    @classmethod
    def live(cls) -> list[Self]:
        """Those that have not ended."""
        return [*cls.going(), *cls.held()]


class Priority(models.TextChoices):
    LOW = "low", "Low"
    NORMAL = "normal", "Normal"
    HIGH = "high", "High"


class Run(models.Model):
    """One execution of a frozen copy of a Configuration.

    The counters are changed in the same transaction as the Score rows they count, under a lock
    on this row, so that they always equal what a query over the scores would say.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs"
    )
    is_shared = models.BooleanField(default=False, help_text="Everybody on this site may see it.")
    team = models.ForeignKey(
        "runs.Team",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Whose members may see it, too.",
    )
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=20)
    state = models.CharField(max_length=30, choices=RunState, default=RunState.QUEUED)
    reason = models.CharField(max_length=300, blank=True)
    document = models.JSONField(help_text="The configuration as it was at launch.")
    configuration = models.ForeignKey(
        "runs.Configuration", null=True, blank=True, on_delete=models.SET_NULL
    )
    configuration_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of its configuration, at launch."
    )
    dataset = models.ForeignKey("runs.Dataset", on_delete=models.PROTECT, related_name="runs")
    rerun_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns"
    )
    rerun_what = models.CharField(
        max_length=120, blank=True, help_text="Of a rerun: which trials, in words."
    )
    snapshot_of = models.JSONField(
        default=dict, help_text="Endpoints and code version as they were at launch."
    )
    idempotency_key = models.CharField(max_length=80, null=True, blank=True)  # noqa: DJ001 - unique
    request_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the request that brought the key."
    )
    seed = models.BigIntegerField(default=0)
    priority = models.CharField(max_length=10, choices=Priority, default=Priority.NORMAL)
    limits_now = models.JSONField(
        default=dict, blank=True, help_text="Limits that were changed since the launch."
    )
    note = models.TextField(blank=True, help_text="What people should know about it.")
    archived = models.DateTimeField(
        null=True, blank=True, help_text="Since then out of lists; everything else stays."
    )
    remove_after = models.DateTimeField(
        null=True,
        blank=True,
        db_index=True,
        help_text="Deleted: archived, and removed for good after that.",
    )
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)
    going_since = models.DateTimeField(null=True, blank=True, help_text="Its start or last resume.")
    ran_seconds = models.FloatField(default=0.0, help_text="How long it ran before its last pause.")
    drops_calls = models.BooleanField(
        default=False, help_text="While pausing: calls in flight are cancelled, not waited for."
    )
    spent_budgets = models.JSONField(
        default=dict, blank=True, help_text="Budgets that stopped it, as they were."
    )

    # How it goes (calls, tokens, cost, latencies, samples, peak) is counted of all roles; what it
    # is for (planned, and done to value_square_sum) of evaluations only. by_role has the others.
    version = models.PositiveBigIntegerField(default=0, help_text="Numbers the live frames.")
    planned = models.PositiveIntegerField(default=0)
    asked = models.PositiveIntegerField(
        default=0, help_text="Trials of all roles already put into chunks."
    )
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0, help_text="Answers cut at their length.")
    scored = models.PositiveIntegerField(default=0)
    value_sum = models.FloatField(default=0.0)
    value_square_sum = models.FloatField(default=0.0)
    calls_sent = models.PositiveIntegerField(default=0)
    calls_retried = models.PositiveIntegerField(default=0)
    calls_throttled = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    latency_bins = models.JSONField(default=dict)
    calls_joined = models.PositiveIntegerField(
        default=0, help_text="Answers taken from an equal call that was under way."
    )
    cost = models.FloatField(default=0.0, help_text="Dollars, as far as prices are known.")
    cost_saved = models.FloatField(default=0.0, help_text="Dollars that the cache saved.")
    cost_day = models.DateField(null=True, blank=True, help_text="UTC day of its last cost.")
    cost_before_day = models.FloatField(default=0.0, help_text="Its cost when that day began.")
    promised = models.FloatField(
        default=0.0, help_text="Dollars that it may cost by our estimate; 0: nobody asked."
    )
    stored_bytes = models.PositiveBigIntegerField(default=0, help_text="About, of its scores.")
    quota = models.JSONField(
        default=dict, blank=True, help_text="What its owner may use while it runs."
    )
    unpriced = models.PositiveIntegerField(default=0, help_text="Answers of unknown price.")
    peak_in_flight = models.PositiveIntegerField(default=0)
    by_role = models.JSONField(
        default=dict, blank=True, help_text="Counters of each role but evaluate, by its name."
    )
    chosen = models.PositiveIntegerField(
        null=True, blank=True, help_text="The place of the candidate that its strategy chose."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["owner", "idempotency_key"], name="run_owner_idempotency_key"
            )
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "id"]),
            models.Index(fields=["owner", "cost_day"], name="run_owner_cost_day"),
        ]

    def __str__(self) -> str:
        return f"{self.name} (run {self.pk})"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.pk])

    @property
    def is_finished(self) -> bool:
        return self.state not in RunState.live()

    @property
    def trial_roles(self) -> list[str]:
        """So far; evaluate first."""
        return [EVALUATE, *(role for role in self.by_role if role != JUDGE)]

    def told(self, name: str) -> int:
        """A counter of the trials that are only told to the strategy. Calls of judges are no
        trials."""
        return sum(counts[name] for role, counts in self.by_role.items() if role != JUDGE)

    @property
    def expected_column(self) -> str:
        """With the expected answers, as it was at launch. Documents from before it could be chosen
        name none: it was `expected`."""
        column = self.document.get("expected")
        return "expected" if column is None else str(column)

    def running_seconds(self, now: datetime) -> float:
        """How long it ran, without its pauses."""
        if self.started is None:
            return 0.0
        if self.going_since is None and self.ran_seconds:
            return self.ran_seconds  # paused, or ended while it was
        since = self.going_since or self.started
        return self.ran_seconds + max(0.0, ((self.ended or now) - since).total_seconds())


class Candidate(models.Model):
    """One thing under test, with its own running totals for the leaderboard."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="candidates")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=64)
    name = models.CharField(max_length=250)
    document = models.JSONField(help_text="The prompt, the model and its parameters.")
    role = models.CharField(
        max_length=20, default=EVALUATE, help_text="Of its trials: evaluate, or told only."
    )
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0, help_text="Answers cut at their length.")
    scored = models.PositiveIntegerField(default=0)
    value_sum = models.FloatField(default=0.0)
    value_square_sum = models.FloatField(default=0.0)
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    latency_bins = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "key"], name="candidate_run_key"),
            models.UniqueConstraint(fields=["run", "position"], name="candidate_run_position"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_evaluated(self) -> bool:
        """Whether its trials count; those of other roles are only told to the strategy."""
        return self.role == records.EVALUATE

    @property
    def is_judged(self) -> bool:
        """Whether its answers are scored: to rank it, or to confirm that it is the best."""
        return self.role in records.JUDGED

    @property
    def as_engine(self) -> records.Candidate:
        return records.Candidate(self.key, self.name, self.document, self.role)


class ChunkState(models.TextChoices):
    PENDING = "pending", "Pending"
    LEASED = "leased", "Leased"
    SET_ASIDE = "set_aside", "Set aside"  # what is left of it waits for a model that fails
    DONE = "done", "Done"
    CANCELLED = "cancelled", "Cancelled"

    @classmethod
    def at_work(cls) -> list[Self]:
        return [cls.PENDING, cls.LEASED]


class Chunk(models.Model):
    """The trials a worker takes at once: a leased row. A message only says "look at chunk 17"."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="chunks")
    start = models.PositiveIntegerField(help_text="Position of its first trial in the run.")
    trials = models.JSONField(
        help_text="[position, candidate position, case position, repeat] each."
    )
    state = models.CharField(max_length=20, choices=ChunkState, default=ChunkState.PENDING)
    owner = models.CharField(max_length=80, blank=True)
    token = models.PositiveIntegerField(default=0, help_text="Fences the writes of lost leases.")
    lease_until = models.DateTimeField(null=True, blank=True)
    sent = models.DateTimeField(null=True, blank=True)
    deaths = models.PositiveIntegerField(default=0)
    kept = models.JSONField(
        null=True, help_text="By position, answers from before a retry: to be judged again."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["start"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "start"], name="chunk_run_start")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "lease_until"]),
            models.Index(fields=["run", "state"]),
        ]

    def __str__(self) -> str:
        return f"chunk {self.pk} of run {self.run_id}"
