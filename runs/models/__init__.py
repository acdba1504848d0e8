"""What is stored. One file per group of tables; nothing here writes by itself."""

from runs.models.account import (
    Invitation,
    Profile,
    ProviderIdentity,
    SignInFailure,
    Theme,
)
from runs.models.audit import AppendOnlyError, AuditAction, AuditDoor, AuditEntry
from runs.models.benchmark import Benchmark
from runs.models.cache import ANSWER_TABLES, CachedReply, RemovedReply
from runs.models.configuration import Configuration, ConfigurationVersion
from runs.models.dataset import Case, Dataset
from runs.models.dry_run import DryRun
from runs.models.endpoint import DIRECT, Endpoint, EndpointKind
from runs.models.figures import RunFigures
from runs.models.gate import RunGate
from runs.models.live import ADVICE, EventLevel, RunEvent, RunSample
from runs.models.maintenance import Maintenance
from runs.models.organising import RunStar, RunTag, SavedView
from runs.models.prompt import Prompt
from runs.models.quota import PersonQuota, SpentOnDay
from runs.models.retention import RetentionRules
from runs.models.run import Candidate, Chunk, ChunkState, Priority, Run, RunState
from runs.models.schedule import DueOutcome, DueTime, Schedule
from runs.models.score import Override, Score, ScoreRecord, Verdict
from runs.models.team import Team, TeamMember
from runs.models.token import ApiToken, Scope
from runs.models.webhook import MAILTO, AlertEvent, Webhook, WebhookDelivery, WebhookKind

__all__ = [
    "ADVICE",
    "ANSWER_TABLES",
    "DIRECT",
    "MAILTO",
    "AlertEvent",
    "ApiToken",
    "AppendOnlyError",
    "AuditAction",
    "AuditDoor",
    "AuditEntry",
    "Benchmark",
    "CachedReply",
    "Candidate",
    "Case",
    "Chunk",
    "ChunkState",
    "Configuration",
    "ConfigurationVersion",
    "Dataset",
    "DryRun",
    "DueOutcome",
    "DueTime",
    "Endpoint",
    "EndpointKind",
    "EventLevel",
    "Invitation",
    "Maintenance",
    "Override",
    "PersonQuota",
    "Priority",
    "Profile",
    "Prompt",
    "ProviderIdentity",
    "RemovedReply",
    "RetentionRules",
    "Run",
    "RunEvent",
    "RunFigures",
    "RunGate",
    "RunSample",
    "RunStar",
    "RunState",
    "RunTag",
    "SavedView",
    "Schedule",
    "Scope",
    "Score",
    "ScoreRecord",
    "SignInFailure",
    "SpentOnDay",
    "Team",
    "TeamMember",
    "Theme",
    "Verdict",
    "Webhook",
    "WebhookDelivery",
    "WebhookKind",
]
