"""Tries the first trials of a run before it is launched: through the same permits, cache and
prices, counted against the same day, and without a run."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync  # noqa: TID251  # a request is no worker: it has no loop
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.timezone import now

from runs import formatting
from runs.access import datasets_to_run_on, prompts_for
from runs.models import AuditAction, DryRun, Endpoint
from runs.selectors.case_sources import CaseSource, cases_at, source_of, with_slice
from runs.selectors.endpoints.called import endpoints_of, known_prices
from runs.selectors.endpoints.usable import refuse_unusable
from runs.selectors.limits.limits import Current
from runs.selectors.named_parts import refuse_archived, refuse_webhooks, refuse_written_code
from runs.selectors.prompts import read_with_library
from runs.selectors.quotas import quota_of
from runs.services.audit import Subject, record
from runs.services.chunks.recording import store_replies
from runs.services.quotas import check_dollars
from workers.dry_calls import DEADLINE_SECONDS, PaidReply, make_calls
from workers.engine.dry_run import FirstTrials, first_trials
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import Candidate, Case, Score, Slice, Trial
from workers.engine.spec.checks import check_against
from workers.engine.spec.configuration import Configuration, with_expected
from workers.engine.spec.line_ends import with_plain_line_ends


class Prepared(NamedTuple):
    configuration: Configuration
    source: CaseSource
    endpoints: dict[str, Endpoint]


class TriedTrial(NamedTuple):
    trial: Trial
    candidate: Candidate
    case: Case
    score: Score | None  # None: it was not done in time


@dataclass(frozen=True, slots=True)
class DryResult:
    configuration: Configuration
    trials: list[TriedTrial]
    deadline_seconds: float

    @property
    def scores(self) -> list[Score]:
        return [one.score for one in self.trials if one.score is not None]

    @property
    def calls(self) -> int:
        """Sent to providers, with those of judges."""
        judged = (score.judging.sent for score in self.scores if score.judging)
        return sum(score.calls_sent for score in self.scores) + sum(judged)

    @property
    def cost(self) -> float:
        return sum(score.spent for score in self.scores)

    @property
    def unfinished(self) -> int:
        """Trials; a call of theirs may have cost something that nobody knows."""
        return len(self.trials) - len(self.scores)

    @property
    def unpriced(self) -> int:
        return sum(score.unpriced_in_all for score in self.scores)


def try_first(
    owner: AbstractBaseUser, document: dict[str, Any], deadline_seconds: float = DEADLINE_SECONDS
) -> DryResult:
    """ConfigurationError lists what would keep the run from being launched, or why this one has no
    dry run; then nothing was sent."""
    prepared = prepare(owner, document)
    configuration, source = prepared.configuration, prepared.source
    first = first_trials(configuration, len(source.positions))
    cases = read_cases_of(first, prepared)
    row = begin(owner, prepared, len(first.trials))
    scores: dict[int, Score] = {}
    replies: list[PaidReply] = async_to_sync(make_calls)(
        row.pk,
        Current(
            configuration,
            prepared.endpoints,
            owner_id=owner.pk,
            owner_slots=quota_of(owner).slots,
        ),
        len(source.positions),
        Slice(tuple(first.trials), first.candidates, cases),
        on_score=lambda score: scores.update({score.trial.position: score}),
        deadline_seconds=deadline_seconds,
    )
    tried = [
        TriedTrial(
            trial, first.candidates[trial.candidate], cases[trial.case], scores.get(trial.position)
        )
        for trial in first.trials
    ]
    result = DryResult(configuration, tried, deadline_seconds)
    settle(row, result, replies)
    return result


def prepare(owner: AbstractBaseUser, document: dict[str, Any]) -> Prepared:
    """All that a launch asks for, but nothing is stored."""
    read = read_with_library(with_plain_line_ends(document), prompts_for(owner))
    source = source_of(read.configuration, datasets_to_run_on(owner))
    configuration = with_expected(read.configuration, source.expected)
    if source.dataset is not None:
        configuration = with_slice(configuration, source.dataset)
    check_against(
        configuration,
        endpoints=known_prices(),
        columns=source.columns,
        cases=len(source.positions),
    )
    endpoints = endpoints_of(configuration)
    refuse_archived(configuration, source.dataset, endpoints)
    refuse_written_code(owner, configuration)
    refuse_webhooks(configuration)
    refuse_unusable(endpoints)
    if told := configuration.why_no_dry_run():
        raise ConfigurationError([Problem("", told)])
    check_dollars(owner, quota_of(owner), 0.0, now())
    return Prepared(configuration, source, endpoints)


def read_cases_of(first: FirstTrials, prepared: Prepared) -> dict[int, Case]:
    """By their numbers in the run, which are not those of the dataset's rows."""
    configuration, source = prepared.configuration, prepared.source
    wanted = sorted({trial.case for trial in first.trials})
    rows = cases_at(source, configuration, [source.positions[case] for case in wanted])
    return dict(zip(wanted, rows, strict=True))


@transaction.atomic
def begin(owner: AbstractBaseUser, prepared: Prepared, trials: int) -> DryRun:
    """Before the first call: what is paid for must not go without a row."""
    row = DryRun.objects.create(owner_id=owner.pk, dataset=prepared.source.dataset)
    told = f"{formatting.counted(trials, 'trial')} of kind {prepared.configuration.kind}"
    record(AuditAction.RUN_TRIED, Subject("", prepared.configuration.name), told, actor=owner)
    return row


@transaction.atomic
def settle(row: DryRun, result: DryResult, replies: list[PaidReply]) -> None:
    if result.configuration.cache != "off":
        store_replies(None, replies)
        row.reply_keys = [key for key, _, _ in replies]
    row.calls, row.cost = result.calls, result.cost
    row.save(update_fields=["reply_keys", "calls", "cost"])
