"""A person's webhooks, each with what became of its last delivery."""

from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery
from pydantic import BaseModel

from runs.models import Webhook, WebhookDelivery

MOST_DELIVERIES = 100


class DeliveryRow(BaseModel):
    """`answer` is the beginning of what the address answered with."""

    id: int
    event: str
    told: str
    run: int
    created: datetime
    attempts: int
    delivered: datetime | None
    next_try: datetime | None
    problem: str
    status: int | None
    answer: str


class WebhookRow(BaseModel):
    """`confirmed` is null of a mail address whose code was not entered: nothing is told to it."""

    id: int
    url: str
    kind: str
    events: list[str]
    created: datetime
    confirmed: datetime | None
    last_delivery: DeliveryRow | None


def list_webhooks(webhooks: QuerySet[Webhook]) -> list[WebhookRow]:
    newest = WebhookDelivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("pk")
    found = list(webhooks.annotate(newest=Subquery(newest[:1])))
    deliveries = WebhookDelivery.objects.in_bulk([hook.newest for hook in found if hook.newest])
    return [
        WebhookRow(
            id=hook.pk,
            url=hook.url,
            kind=hook.kind,
            events=hook.events,
            created=hook.created,
            confirmed=hook.confirmed,
            last_delivery=delivery_row(deliveries.get(hook.newest)),
        )
        for hook in found
    ]


def delivery_row(delivery: WebhookDelivery | None) -> DeliveryRow | None:
    if delivery is None:
        return None
    same = DeliveryRow.model_fields.keys() - {"run"}
    return DeliveryRow(run=delivery.run_id, **{name: getattr(delivery, name) for name in same})


def list_deliveries(webhook: Webhook) -> list[DeliveryRow]:
    """The newest first."""
    found = WebhookDelivery.objects.filter(webhook=webhook)[:MOST_DELIVERIES]
    return [row for row in map(delivery_row, found) if row]
