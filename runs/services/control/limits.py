"""Changes the limits of a run while it goes on, and notes who did it, and why if they said so."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.live import publish
from runs.models import AuditAction, Run, RunState
from runs.selectors.endpoints.called import known_prices
from runs.selectors.limits.limits import configuration_now
from runs.services.audit import record
from runs.services.events import note_retuning
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.checks import budget_problems
from workers.engine.spec.configuration import Configuration
from workers.engine.throttling.retuning import change_budget, flatten, read_limit_changes

LONGEST_REASON = 200  # characters


def retune_run(
    run: Run, user: AbstractBaseUser, changes: Mapping[str, Any], reason: str = ""
) -> bool:
    """Change limits of a live run; the next call keeps to them.

    Raises ConfigurationError with every problem. False if nothing changed: the run has finished,
    or these are its limits already.
    """
    wanted = _read(changes, reason)
    with transaction.atomic():
        live = Run.objects.select_for_update().filter(pk=run.pk, state__in=RunState.live()).first()
        if live is None:
            return False
        configuration = configuration_now(live)
        _refuse_unpriced(configuration, wanted)
        before = {name: flatten(configuration)[name] for name in wanted}
        news = {name: value for name, value in wanted.items() if value != before[name]}
        if not news:
            return False
        _store(live, news)
        moves = {name: (before[name], value) for name, value in news.items()}
        changes_text = note_retuning(live, user.get_username(), moves, reason.strip())
        record(AuditAction.LIMITS_CHANGED, live, changes_text, actor=user)
        transaction.on_commit(partial(publish, live.pk, always=True))
    return True


def _read(changes: Mapping[str, Any], reason: str) -> dict[str, Any]:
    problems = _reason_problems(reason)
    wanted: dict[str, Any] = {}
    try:
        wanted = read_limit_changes(changes)
    except ConfigurationError as error:
        problems = [*error.problems, *problems]
    if problems:
        raise ConfigurationError(problems)
    return wanted


def _reason_problems(reason: str) -> list[Problem]:
    if len(reason.strip()) <= LONGEST_REASON:
        return []
    told = f"A reason has at most {LONGEST_REASON} characters, this one {len(reason.strip())}."
    return [Problem("reason", told)]


def _refuse_unpriced(configuration: Configuration, wanted: Mapping[str, Any]) -> None:
    """A budget in dollars holds by the prices that are known now."""
    if wanted.get("budget.dollars") is None:
        return
    budget = change_budget(configuration.budget, wanted)
    changed = configuration.model_copy(update={"budget": budget})
    if problems := budget_problems(changed, known_prices()):
        raise ConfigurationError(problems)


def _store(run: Run, news: Mapping[str, Any]) -> None:
    """The priority has a column of its own: chunks are shared out by it."""
    limits = {name: value for name, value in news.items() if name != "priority"}
    run.limits_now = {**run.limits_now, **limits}
    run.priority = news.get("priority", run.priority)
    run.version += 1
    run.save(update_fields=["limits_now", "priority", "version"])
