"""Acts on the rules of retention: a few rows at each sweep, until nothing is left for the hour."""

from collections.abc import Mapping

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from runs.formatting import counted
from runs.models import AuditAction, RetentionRules, RunSample
from runs.roles import Permission, check_permission
from runs.selectors.cache_page import Pruning, matching
from runs.selectors.system.retention import (
    EVERY,
    LONGEST_DAYS,
    Rules,
    before_days,
    kept_runs,
    rules_of,
    runs_with_samples,
    stored_rules,
    too_many_answers,
)
from runs.services.audit import Subject, record
from runs.services.cache import prune_cache
from runs.services.removing.archiving import InUseError
from runs.services.removing.run_trash import delete_run

SITE = Subject("site")
RUNS_AT_ONCE = 20
SAMPLES_AT_ONCE = 500
ANSWERS_AT_ONCE = 2000


@transaction.atomic
def set_retention(admin: AbstractBaseUser | None, values: Mapping[str, int | None]) -> None:
    """None leaves a rule to the environment, 0 keeps for ever. Without an admin it is said on the
    server's own command line."""
    if admin is not None:
        check_permission(admin, Permission.SET_RETENTION)
    errors = {
        name: f"Give 1 to {LONGEST_DAYS:,}, 0 to keep for ever, or nothing."
        for name, value in values.items()
        if value is not None and not 0 <= value <= LONGEST_DAYS
    }
    if errors:
        raise ValidationError(errors)
    RetentionRules.objects.update_or_create(
        pk=RetentionRules.ONLY, defaults={**values, "looked": None}
    )
    said = [f"{name} {value}" for name, value in values.items() if value is not None]
    told = ", ".join(said) or "nothing set here"
    record(AuditAction.RETENTION_CHANGED, SITE, told, actor=admin)


def keep_rules() -> bool:
    """Every sweep asks. Once an hour one process acts, and again at its next sweep while something
    is left. Whether it acted."""
    rules = rules_of(stored_rules())
    if not any(rules) or not _claim():
        return False
    if act_on(rules):  # there may be more of it
        RetentionRules.objects.filter(pk=RetentionRules.ONLY).update(looked=None)
    return True


def _claim() -> bool:
    """Of several processes the first one."""
    RetentionRules.objects.get_or_create(pk=RetentionRules.ONLY)
    row = RetentionRules.objects.filter(pk=RetentionRules.ONLY)
    is_due = Q(looked=None) | Q(looked__lte=Now() - EVERY)
    return bool(row.filter(is_due).update(looked=Now()))


def act_on(rules: Rules) -> int:
    """Some of what each rule takes; how much that was."""
    done = _delete_old_runs(rules.run_days) if rules.run_days else 0
    done += remove_old_samples(rules.sample_days) if rules.sample_days else 0
    if rules.cache_days:
        done += _prune(Pruning(before=before_days(rules.cache_days)))
    if rules.cache_megabytes and (surplus := too_many_answers(rules.cache_megabytes)):
        done += _prune(surplus)
    return done


def _delete_old_runs(days: int) -> int:
    old, gone = kept_runs().filter(ended__lt=before_days(days)).order_by("pk"), 0
    for run in old.defer("document")[:RUNS_AT_ONCE]:
        try:
            gone += delete_run(run, None, f"ended more than {counted(days, 'day')} ago")
        except InUseError:  # somebody retried it meanwhile
            continue
    return gone


@transaction.atomic
def remove_old_samples(days: int) -> int:
    run = runs_with_samples().filter(ended__lt=before_days(days)).order_by("pk").first()
    if run is None:
        return 0
    samples = RunSample.objects.filter(run=run)
    keys = list(samples.values_list("pk", flat=True)[:SAMPLES_AT_ONCE])
    gone = samples.filter(pk__in=keys).delete()[0]
    if len(keys) < SAMPLES_AT_ONCE:
        told = f"it ended more than {counted(days, 'day')} ago"
        record(AuditAction.SAMPLES_REMOVED, run, told)
    return gone


def _prune(selection: Pruning) -> int:
    if not matching(selection).exists():
        return 0
    return prune_cache(selection, most=ANSWERS_AT_ONCE, for_good=True).removed
