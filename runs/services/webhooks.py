"""Webhooks: keeps them, and keeps the outbox of what is to be told when something happens to a run.

The row is written with what happened, in one transaction; a worker sends it afterwards. So nothing
is told that did not happen, and nothing is forgotten when a worker dies.
"""

import secrets
from collections.abc import Collection
from datetime import timedelta
from smtplib import SMTPException
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.utils.crypto import constant_time_compare

from evalsite.log_lines import write_out_controls
from runs.models import (
    MAILTO,
    AlertEvent,
    AuditAction,
    Run,
    Webhook,
    WebhookDelivery,
    WebhookKind,
)
from runs.outbound import check_webhook
from runs.rates import take_request
from runs.selectors.clock import database_now
from runs.services.alert_messages import Parcel, code_of, pack, secret_of, send_mail
from runs.services.audit import Subject, record
from workers.engine.errors import ConfigurationError, ForbiddenAddress, Problem

MOST_EACH = 10  # webhooks of one person
LONGEST_URL = 300  # characters, as in the table
LONGEST_ANSWER = 500
LONGEST_TOLD = 300
NONCE_BYTES = 16
CODES_PER_MINUTE = 3  # of one person: a mailbox of somebody else is not to be filled
PAUSES = tuple(timedelta(seconds=s) for s in (30, 120, 600, 3600))  # between the five attempts
CLAIMED_FOR = timedelta(seconds=60)  # longer than a delivery may take; then another worker tries
QUIET = timedelta(minutes=10)  # a model that fails on and off is told of once in so long
NO_MAIL = "This site sends no mail. Whoever runs it sets EVALSITE_MAIL_URL and EVALSITE_MAIL_FROM."


OTHER_CODE = "This is not the code that was sent to the address. Look there, or send another one."


class NewWebhook(NamedTuple):
    webhook: Webhook
    secret: str  # shown now and never again; empty where nothing is signed
    problem: str = ""  # why no code was sent to a mail address


def create_webhook(
    owner: AbstractBaseUser,
    url: str,
    kind: str = WebhookKind.JSON,
    events: Collection[str] = (AlertEvent.ENDED,),
) -> NewWebhook:
    """ConfigurationError says what is wrong with the address; then nothing was stored. The address
    of a mail is given with or without mailto:; a code is sent to it, which is to be entered."""
    made = _store(owner, url, kind, events)
    return made if made.webhook.confirmed else made._replace(problem=send_code(made.webhook))


@transaction.atomic
def _store(owner: AbstractBaseUser, url: str, kind: str, events: Collection[str]) -> NewWebhook:
    if len(url) > LONGEST_URL - len(MAILTO):
        told = f"Give at most {LONGEST_URL - len(MAILTO)} characters."
        raise ConfigurationError([Problem("url", told)])
    if not events:
        raise ConfigurationError([Problem("events", "Choose what it is told of.")])
    if Webhook.objects.filter(owner_id=owner.pk).count() >= MOST_EACH:
        raise ConfigurationError([Problem("", f"You have {MOST_EACH} webhooks. Remove one.")])
    checked = _mail_address(url) if kind == WebhookKind.MAIL else _web_address(url)
    own = owner.email if isinstance(owner, User) else ""  # an administrator or provider gave it
    is_own = checked.lower() == f"{MAILTO}{own.lower()}"
    made = Webhook.objects.create(
        owner_id=owner.pk,
        url=checked,
        kind=kind,
        events=[event.value for event in AlertEvent if event in events],
        nonce=secrets.token_hex(NONCE_BYTES),
        confirmed=None if kind == WebhookKind.MAIL and not is_own else database_now(),
    )
    record(AuditAction.WEBHOOK_ADDED, _named(made), actor=owner)
    return NewWebhook(made, secret_of(made) if kind == WebhookKind.JSON else "")


def _web_address(url: str) -> str:
    try:
        return check_webhook(url)
    except ForbiddenAddress as error:
        raise ConfigurationError([Problem("url", str(error))]) from None


def _mail_address(given: str) -> str:
    if not settings.SENDS_MAIL:
        raise ConfigurationError([Problem("kind", NO_MAIL)])
    address = given.strip().removeprefix(MAILTO)
    try:
        validate_email(address)
    except ValidationError:
        told = "Give a mail address, as in ada@example.org."
        raise ConfigurationError([Problem("url", told)]) from None
    return f"{MAILTO}{address}"


def send_code(webhook: Webhook) -> str:
    """To a mail address: whoever enters it may read what is sent there. Returns why it could not
    be sent; empty: it was."""
    rate = take_request(f"code:{webhook.owner_id}", CODES_PER_MINUTE)
    if rate.is_over:
        return f"Only {CODES_PER_MINUTE} codes a minute are sent. Wait {rate.reset_seconds} s."
    text = (
        f"{webhook.owner} wants to be told here what happens to runs on {settings.ORIGINS[0]}.\n\n"
        f"If that is you, enter this code on the page Alerts: {code_of(webhook)}\n\n"
        "If not, do nothing: no more is sent to this address."
    )
    try:
        send_mail(webhook.url.removeprefix(MAILTO), "[evalsite] Code for your alerts", text)
    except (SMTPException, OSError) as error:
        return f"The mail server did not take the code: {type(error).__name__}. Send it again."
    return ""


def confirm_webhook(webhook: Webhook, code: str) -> bool:
    """False: it is another code. Alerts are told from now on."""
    if not constant_time_compare(code.strip().lower(), code_of(webhook)):
        return False
    Webhook.objects.filter(pk=webhook.pk, confirmed=None).update(confirmed=database_now())
    return True


@transaction.atomic
def delete_webhook(webhook: Webhook) -> None:
    """What was still to be told to it goes, too."""
    record(AuditAction.WEBHOOK_REMOVED, _named(webhook))
    webhook.delete()


def _named(webhook: Webhook) -> Subject:
    """By its host: the paths of many services let in whoever knows them."""
    if webhook.kind == WebhookKind.MAIL:
        return Subject("webhook", webhook.url.rpartition("@")[2], webhook.pk)
    return Subject("webhook", urlsplit(webhook.url).hostname or "", webhook.pk)


def announce_end(run: Run) -> None:
    """Call it in the transaction that ends the run."""
    announce(run.pk, AlertEvent.ENDED)


def announce(run_id: int, event: AlertEvent, told: str = "") -> None:
    """Call it in the transaction of what happened."""
    owner = Run.objects.values("owner_id").get(pk=run_id)["owner_id"]
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            webhook=webhook,
            run_id=run_id,
            event=event,
            told=told[:LONGEST_TOLD],
            next_try=database_now(),
        )
        for webhook in Webhook.objects.filter(owner_id=owner).exclude(confirmed=None)
        if event in webhook.events
    )


def announce_failing(run_id: int, told: str) -> None:
    """A model that a run calls is failing: every worker that sees it says so."""
    same = WebhookDelivery.objects.filter(run_id=run_id, event=AlertEvent.FAILING)
    if not same.filter(created__gt=database_now() - QUIET).exists():
        announce(run_id, AlertEvent.FAILING, told)


@transaction.atomic
def send_again(delivery: WebhookDelivery, user: AbstractBaseUser) -> bool:
    """From the first attempt on. False while it is still being tried."""
    over = WebhookDelivery.objects.filter(pk=delivery.pk, next_try=None)
    if not over.update(next_try=database_now(), attempts=0, delivered=None, problem=""):
        return False
    record(AuditAction.WEBHOOK_SENT_AGAIN, _named(delivery.webhook), actor=user)
    return True


def claim_deliveries(most: int) -> list[Parcel]:
    """What is due, for whoever asks first. A claim ends by itself if the worker dies."""
    parcels = []
    # One that nobody lived to note the end of is not tried for ever, either.
    due = WebhookDelivery.objects.filter(next_try__lte=database_now(), attempts__lte=len(PAUSES))
    # First only the keys: it is asked all the time, and there is nearly always nothing.
    keys = list(due.order_by("next_try").values_list("pk", flat=True)[:most])
    needed = ("webhook", "run__dataset", "run__owner", "run__team")
    found = due.filter(pk__in=keys).select_related(*needed)
    for delivery in found.order_by("next_try") if keys else ():
        mine = WebhookDelivery.objects.filter(pk=delivery.pk, next_try=delivery.next_try)
        if mine.update(next_try=database_now() + CLAIMED_FOR, attempts=F("attempts") + 1):
            parcels.append(pack(delivery))
    return parcels


def note_delivery(
    delivery_id: int, problem: str, status: int | None = None, answer: str = ""
) -> None:
    """It arrived, or is tried again later; after the last attempt it is given up."""
    stored = WebhookDelivery.objects.filter(pk=delivery_id)
    delivery = stored.first()
    if delivery is None:
        return  # its webhook was removed meanwhile
    shown = write_out_controls(answer[:LONGEST_ANSWER])[:LONGEST_ANSWER]
    answered = {"status": status, "answer": shown}
    if not problem:
        stored.update(delivered=database_now(), next_try=None, problem="", **answered)
        return
    is_last = delivery.attempts > len(PAUSES)
    next_try = None if is_last else database_now() + PAUSES[delivery.attempts - 1]
    stored.update(next_try=next_try, problem=problem[:200], **answered)
