"""Stops and resumes the calls to an endpoint, and tells the runs that wait for it."""

from functools import partial

import redis
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F

from runs.live import publish
from runs.models import AuditAction, Endpoint, EventLevel, Run, RunState
from runs.roles import Permission, check_permission
from runs.selectors.endpoints.called import live_runs_using
from runs.selectors.endpoints.permit_state import open_redis
from runs.selectors.limits.limits import WAITING, configuration_now, waiting_reason
from runs.services.audit import record
from runs.services.chunks.planning import send_pending
from runs.services.events import note_endpoint

BREAKER_FIELDS = ("rest", "until", "row", "all", "bad")


class RedisAway(Exception):
    """What the workers share cannot be reached now."""


def pause_endpoint(user: AbstractBaseUser, endpoint: Endpoint) -> bool:
    """No new calls; those in flight end. False if it was paused already."""
    return _set_paused(user, endpoint, is_paused=True)


def resume_endpoint(user: AbstractBaseUser, endpoint: Endpoint) -> bool:
    """Let the calls go on. False if it was not paused."""
    return _set_paused(user, endpoint, is_paused=False)


@transaction.atomic
def _set_paused(user: AbstractBaseUser, endpoint: Endpoint, *, is_paused: bool) -> bool:
    check_permission(user, Permission.EDIT_ENDPOINTS)
    stored = Endpoint.objects.filter(pk=endpoint.pk, is_paused=not is_paused)
    if not stored.update(is_paused=is_paused):
        return False
    endpoint.is_paused = is_paused
    done = AuditAction.ENDPOINT_PAUSED if is_paused else AuditAction.ENDPOINT_RESUMED
    record(done, endpoint, actor=user)
    run_ids = live_runs_using(endpoint)
    if is_paused:
        moved, verb, level = (endpoint.max_concurrent, 0), "paused", EventLevel.WARNING
    else:
        moved, verb, level = (0, endpoint.max_concurrent), "resumed", EventLevel.INFO
    note_endpoint(run_ids, endpoint, moved, f"{verb} by {user.get_username()}", level)
    for run in Run.objects.select_for_update().filter(pk__in=run_ids, state__in=RunState.going()):
        _say_why_it_waits(run)
    if not is_paused:
        transaction.on_commit(partial(send_pending, run_ids))
    return True


def _say_why_it_waits(run: Run) -> None:
    reason = waiting_reason(configuration_now(run))
    if not reason and not run.reason.startswith(WAITING):
        reason = run.reason  # something else is said there
    Run.objects.filter(pk=run.pk).update(reason=reason, version=F("version") + 1)
    transaction.on_commit(partial(publish, run.pk, always=True))


def reset_breaker(user: AbstractBaseUser, endpoint: Endpoint) -> int:
    """Try an endpoint again at once. Tells of how many models a breaker was open.

    Raises RedisAway: then nothing was changed.
    """
    check_permission(user, Permission.EDIT_ENDPOINTS)
    try:
        with open_redis() as client:
            opened = _close_breakers(client, endpoint)
    except (redis.RedisError, OSError):
        raise RedisAway("Redis does not answer. Try again in a moment.") from None
    if opened:
        _note_reset(user, endpoint)
    return opened


def _close_breakers(client: redis.Redis, endpoint: Endpoint) -> int:
    opened = 0
    for key in client.scan_iter(f"permits:state:endpoint:{endpoint.pk}/*", count=1000):
        opened += (client.hget(key, "rest") or b"0") != b"0"
        client.hdel(key, *BREAKER_FIELDS)
    return opened


@transaction.atomic
def _note_reset(user: AbstractBaseUser, endpoint: Endpoint) -> None:
    record(AuditAction.ENDPOINT_TRIED_AGAIN, endpoint, actor=user)
    run_ids = live_runs_using(endpoint)
    reason = f"calls are tried again now, asked for by {user.get_username()}"
    note_endpoint(run_ids, endpoint, (0, endpoint.max_concurrent), reason)
    failing = Run.objects.filter(pk__in=run_ids, reason__startswith=f"{endpoint.name}/")
    failing.update(reason="", version=F("version") + 1)
    for run_id in run_ids:
        transaction.on_commit(partial(publish, run_id, always=True))
