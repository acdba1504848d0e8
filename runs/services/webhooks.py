"""Webhooks: keeps them, and keeps the outbox of what is to be told when a run ends.

The row is written with the end of the run, in one transaction; a worker sends it afterwards. So
nothing is told that did not happen, and nothing is forgotten when a worker dies.
"""

import hmac
import secrets
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.utils.crypto import salted_hmac
from django.utils.timezone import now

from runs.models import AuditAction, Run, Webhook, WebhookDelivery
from runs.outbound import check_webhook
from runs.selectors.runs.run_summary import summarise
from runs.services.audit import Subject, record
from workers.engine.errors import ConfigurationError, ForbiddenAddress, Problem

MOST_EACH = 10  # webhooks of one person
LONGEST_URL = 300  # characters, as in the table
NONCE_BYTES = 16
PAUSES = tuple(timedelta(seconds=s) for s in (30, 120, 600, 3600))  # between the five attempts
CLAIMED_FOR = timedelta(seconds=60)  # longer than a delivery may take; then another worker tries


class NewWebhook(NamedTuple):
    webhook: Webhook
    secret: str  # shown now and never again


class Parcel(NamedTuple):
    """What a worker sends."""

    delivery_id: int
    url: str
    body: bytes
    headers: dict[str, str]


@transaction.atomic
def create_webhook(owner: AbstractBaseUser, url: str) -> NewWebhook:
    """ConfigurationError says what is wrong with the address; then nothing was stored."""
    if len(url) > LONGEST_URL:
        raise ConfigurationError([Problem("url", f"Give at most {LONGEST_URL} characters.")])
    if Webhook.objects.filter(owner_id=owner.pk).count() >= MOST_EACH:
        raise ConfigurationError([Problem("", f"You have {MOST_EACH} webhooks. Remove one.")])
    try:
        checked = check_webhook(url)
    except ForbiddenAddress as error:
        raise ConfigurationError([Problem("url", str(error))]) from None
    nonce = secrets.token_hex(NONCE_BYTES)
    made = Webhook.objects.create(owner_id=owner.pk, url=checked, nonce=nonce)
    record(AuditAction.WEBHOOK_ADDED, _named(made), actor=owner)
    return NewWebhook(made, secret_of(made))


@transaction.atomic
def delete_webhook(webhook: Webhook) -> None:
    """What was still to be told to it goes, too."""
    record(AuditAction.WEBHOOK_REMOVED, _named(webhook))
    webhook.delete()


def _named(webhook: Webhook) -> Subject:
    """By its host: the paths of many services let in whoever knows them."""
    return Subject("webhook", urlsplit(webhook.url).hostname or "", webhook.pk)


def announce_end(run: Run) -> None:
    """Call it in the transaction that ends the run."""
    owner = Run.objects.values("owner_id").get(pk=run.pk)["owner_id"]
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(webhook=webhook, run=run, next_try=now())
        for webhook in Webhook.objects.filter(owner_id=owner)
    )


def claim_deliveries(most: int) -> list[Parcel]:
    """What is due, for whoever asks first. A claim ends by itself if the worker dies."""
    parcels = []
    # One that nobody lived to note the end of is not tried for ever, either.
    due = WebhookDelivery.objects.filter(next_try__lte=now(), attempts__lte=len(PAUSES))
    # First only the keys: it is asked all the time, and there is nearly always nothing.
    keys = list(due.order_by("next_try").values_list("pk", flat=True)[:most])
    found = due.filter(pk__in=keys).select_related("webhook", "run__dataset", "run__owner")
    for delivery in found.order_by("next_try") if keys else ():
        mine = WebhookDelivery.objects.filter(pk=delivery.pk, next_try=delivery.next_try)
        if mine.update(next_try=now() + CLAIMED_FOR, attempts=F("attempts") + 1):
            parcels.append(pack(delivery))
    return parcels


def pack(delivery: WebhookDelivery) -> Parcel:
    (summary,) = summarise([delivery.run])
    content = {"type": "run.ended", "delivery": delivery.pk, "run": summary.model_dump()}
    body = orjson.dumps(content, option=orjson.OPT_UTC_Z)
    moment = str(int(now().timestamp()))
    signature = sign(secret_of(delivery.webhook), moment, body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "evalsite",
        "X-Evalsite-Delivery": str(delivery.pk),
        "X-Evalsite-Signature": f"t={moment},v1={signature}",
    }
    return Parcel(delivery.pk, delivery.webhook.url, body, headers)


def note_delivery(delivery_id: int, problem: str) -> None:
    """It arrived, or is tried again later; after the last attempt it is given up."""
    stored = WebhookDelivery.objects.filter(pk=delivery_id)
    delivery = stored.first()
    if delivery is None:
        return  # its webhook was removed meanwhile
    if not problem:
        stored.update(delivered=now(), next_try=None, problem="")
        return
    is_last = delivery.attempts > len(PAUSES)
    next_try = None if is_last else now() + PAUSES[delivery.attempts - 1]
    stored.update(next_try=next_try, problem=problem[:200])


def secret_of(webhook: Webhook) -> str:
    key = f"{webhook.owner_id}:{webhook.nonce}"
    return salted_hmac("runs.webhook", key, algorithm="sha256").hexdigest()


def sign(secret: str, moment: str, body: bytes) -> str:
    """HMAC-SHA-256 over the moment, a dot and the body: an old delivery cannot be sent again."""
    return hmac.new(secret.encode(), moment.encode() + b"." + body, "sha256").hexdigest()
