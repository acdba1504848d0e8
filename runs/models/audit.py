"""Who did what to what, from where: rows that are added and never changed."""

from typing import Any, ClassVar, NoReturn

from django.db import models
from django.utils.timezone import now


class AuditAction(models.TextChoices):
    """What is worth a row. A new one is a line here and a call of `record` in its service."""

    SIGN_IN = "sign_in", "Signed in"
    SIGN_IN_FAILED = "sign_in.failed", "Failed to sign in"
    SIGN_OUT = "sign_out", "Signed out"
    PASSWORD_CHANGED = "password.changed", "Changed a password"
    PASSWORD_LINK_MADE = "password_link.made", "Made a link to choose a password"
    PROFILE_CHANGED = "profile.changed", "Changed their profile"
    DENIED = "denied", "Was refused"
    KEY_SET = "key.set", "Set a provider key"
    KEY_REMOVED = "key.removed", "Removed a provider key"
    KEYS_ROTATED = "keys.rotated", "Encrypted the provider keys anew"
    ENDPOINT_ADDED = "endpoint.added", "Added an endpoint"
    ENDPOINT_CHANGED = "endpoint.changed", "Changed an endpoint"
    ENDPOINT_DELETED = "endpoint.deleted", "Deleted an endpoint, which can be undone"
    ENDPOINT_REMOVED = "endpoint.removed", "Removed an endpoint for good"
    ENDPOINT_ARCHIVED = "endpoint.archived", "Archived an endpoint"
    ENDPOINT_RESTORED = "endpoint.restored", "Brought an endpoint back"
    ENDPOINT_PAUSED = "endpoint.paused", "Paused an endpoint"
    ENDPOINT_RESUMED = "endpoint.resumed", "Resumed an endpoint"
    ENDPOINT_TRIED_AGAIN = "endpoint.tried_again", "Had a failing endpoint tried again"
    ENDPOINT_PROMPTED = "endpoint.prompted", "Sent a prompt to an endpoint"
    PRIVATE_ALLOWED = "private_address.allowed", "Allowed a private address"
    PRIVATE_REVOKED = "private_address.revoked", "Stopped allowing a private address"
    RUN_TRIED = "run.tried", "Tried trials before a launch"
    RUN_LAUNCHED = "run.launched", "Launched a run"
    RUN_CANCELLED = "run.cancelled", "Cancelled a run"
    RUN_PAUSED = "run.paused", "Paused a run"
    RUN_RESUMED = "run.resumed", "Resumed a run"
    RUN_RETRIED = "run.retried", "Retried trials of a run"
    RUN_RERUN = "run.rerun", "Reran trials as a new run"
    SCORE_OVERRIDDEN = "score.overridden", "Gave another score to a trial"
    RUN_SHARED = "run.shared", "Shared a run"
    RUN_UNSHARED = "run.unshared", "Stopped sharing a run"
    RUN_TAGGED = "run.tagged", "Changed the tags of a run"
    RUN_NOTED = "run.noted", "Changed the note on a run"
    RUN_ARCHIVED = "run.archived", "Archived a run"
    RUN_DELETED = "run.deleted", "Deleted a run, which can be undone"
    RUN_RESTORED = "run.restored", "Brought a run back"
    RUN_REMOVED = "run.removed", "Removed a run for good"
    VIEW_SAVED = "view.saved", "Saved a view of the runs list"
    VIEW_REMOVED = "view.removed", "Removed a view of the runs list"
    LIMITS_CHANGED = "limits.changed", "Changed the limits of a run"
    CACHE_CLEARED = "cache.cleared", "Removed cached answers"
    CACHE_RESTORED = "cache.restored", "Brought cached answers back"
    EXPORTED = "exported", "Downloaded data"
    DATASET_SHARED = "dataset.shared", "Shared a dataset"
    DATASET_UNSHARED = "dataset.unshared", "Stopped sharing a dataset"
    DATASET_DELETED = "dataset.deleted", "Deleted a dataset, which can be undone"
    DATASET_REMOVED = "dataset.removed", "Removed a dataset for good"
    DATASET_ARCHIVED = "dataset.archived", "Archived a dataset"
    DATASET_RESTORED = "dataset.restored", "Brought a dataset back"
    CONFIGURATION_SAVED = "configuration.saved", "Saved a configuration"
    CONFIGURATION_SHARED = "configuration.shared", "Shared a configuration"
    CONFIGURATION_UNSHARED = "configuration.unshared", "Stopped sharing a configuration"
    CONFIGURATION_GATED = "configuration.gated", "Changed what runs of a configuration are held to"
    CONFIGURATION_DELETED = "configuration.deleted", "Deleted a configuration, which can be undone"
    CONFIGURATION_RESTORED = "configuration.restored", "Brought a configuration back"
    CONFIGURATION_REMOVED = "configuration.removed", "Removed a configuration for good"
    PRESET_CHANGED = "preset.changed", "Offered or withdrew a preset"
    SCHEDULE_SAVED = "schedule.saved", "Scheduled a configuration"
    SCHEDULE_PAUSED = "schedule.paused", "Paused a schedule"
    SCHEDULE_REMOVED = "schedule.removed", "Removed a schedule"
    PROMPT_SAVED = "prompt.saved", "Saved a version of a prompt"
    PROMPT_SHARED = "prompt.shared", "Shared a prompt"
    PROMPT_UNSHARED = "prompt.unshared", "Stopped sharing a prompt"
    PROMPT_REMOVED = "prompt.removed", "Deleted a prompt"
    PERSON_ADDED = "person.added", "Added an account"
    INVITATION_MADE = "invitation.made", "Invited somebody"
    INVITATION_REVOKED = "invitation.revoked", "Took an invitation back"
    INVITATION_USED = "invitation.used", "Came by an invitation"
    PROVIDER_CONNECTED = "provider.connected", "Connected an account with the sign-in provider"
    ROLE_CHANGED = "role.changed", "Changed a role"
    ACCOUNT_CLOSED = "account.closed", "Closed an account"
    ACCOUNT_OPENED = "account.opened", "Opened an account"
    PERSON_ERASED = "person.erased", "Erased a person"
    TEAM_MADE = "team.made", "Made a team"
    TEAM_RENAMED = "team.renamed", "Renamed a team"
    TEAM_REMOVED = "team.removed", "Removed a team"
    TEAM_JOINED = "team.joined", "Added somebody to a team"
    TEAM_LEFT = "team.left", "Removed somebody from a team"
    QUOTA_CHANGED = "quota.changed", "Changed a quota"
    TOKEN_MADE = "token.made", "Made an API token"
    TOKEN_REVOKED = "token.revoked", "Revoked an API token"
    RETENTION_CHANGED = "retention.changed", "Changed what the site removes by itself"
    SAMPLES_REMOVED = "samples.removed", "Removed the points of a run's charts"
    MAINTENANCE_BEGUN = "maintenance.begun", "Began maintenance"
    MAINTENANCE_ENDED = "maintenance.ended", "Ended maintenance"
    WEBHOOK_ADDED = "webhook.added", "Added a webhook"
    WEBHOOK_SENT_AGAIN = "webhook.sent_again", "Had a delivery sent again"
    WEBHOOK_REMOVED = "webhook.removed", "Removed a webhook"


class AuditDoor(models.TextChoices):
    """Which way in the person took."""

    PAGE = "page", "page"
    API = "api", "API"
    ADMIN = "admin", "admin"
    COMMAND = "command", "command line"
    SITE = "site", "the site itself"


class AppendOnlyError(TypeError):
    """Somebody tried to change or remove a row of the audit table."""


def refuse() -> NoReturn:
    raise AppendOnlyError(
        "Rows of the audit table are never changed. Old ones are removed by EVALSITE_AUDIT_DAYS."
    )


class AuditRows(models.QuerySet["AuditEntry"]):
    """Reads and adds. The database refuses changes as well, see the migration."""

    def update(self, **changes: Any) -> NoReturn:
        refuse()

    def delete(self) -> NoReturn:
        refuse()

    def bulk_update(self, *args: Any, **options: Any) -> NoReturn:
        refuse()


class AuditEntry(models.Model):
    """One action. Names are those of that moment, and nothing here refers to another table: what
    was removed stays named, and whoever is erased leaves no broken row."""

    at = models.DateTimeField(default=now, db_index=True)
    action = models.CharField(max_length=40, help_text="One of AuditAction.")
    actor_id = models.BigIntegerField(null=True, help_text="Account; none: nobody signed in.")
    actor = models.CharField(max_length=150, help_text="Name of the account, or of the shell's.")
    token = models.CharField(max_length=16, help_text="Readable beginning of the API token used.")
    subject_kind = models.CharField(max_length=30, help_text="run, endpoint, dataset, user, …")
    subject_id = models.BigIntegerField(null=True)
    subject = models.CharField(max_length=200, help_text="Its name at that moment.")
    detail = models.CharField(max_length=300)
    door = models.CharField(max_length=10, help_text="One of AuditDoor.")
    address = models.CharField(max_length=45, help_text="Network address of the client.")
    request_id = models.CharField(max_length=20, help_text="As in the log and X-Request-ID.")

    objects = AuditRows.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["actor_id", "at"], name="audit_actor_at"),
            models.Index(fields=["action", "at"], name="audit_action_at"),
            models.Index(fields=["subject_kind", "subject_id"], name="audit_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action} {self.subject}".strip()

    def save(self, *args: Any, **options: Any) -> None:
        if not self._state.adding:
            refuse()
        super().save(*args, **options)

    def delete(self, *args: Any, **options: Any) -> NoReturn:
        refuse()

    @property
    def action_words(self) -> str:
        """One that a later version no longer knows stays as it was written."""
        known = self.action in AuditAction
        return str(AuditAction(self.action).label) if known else self.action

    @property
    def door_words(self) -> str:
        return str(AuditDoor(self.door).label) if self.door in AuditDoor else self.door
