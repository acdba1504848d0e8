"""A person's webhooks, each with what became of its last delivery."""

from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery
from pydantic import BaseModel

from runs.models import Webhook, WebhookDelivery


class DeliveryRow(BaseModel):
    run: int
    attempts: int
    delivered: datetime | None
    next_try: datetime | None
    problem: str


class WebhookRow(BaseModel):
    id: int
    url: str
    created: datetime
    last_delivery: DeliveryRow | None


def list_webhooks(webhooks: QuerySet[Webhook]) -> list[WebhookRow]:
    newest = WebhookDelivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("pk")
    found = list(webhooks.annotate(newest=Subquery(newest[:1])))
    deliveries = WebhookDelivery.objects.in_bulk([hook.newest for hook in found if hook.newest])
    return [
        WebhookRow(
            id=hook.pk,
            url=hook.url,
            created=hook.created,
            last_delivery=delivery_row(deliveries.get(hook.newest)),
        )
        for hook in found
    ]


def delivery_row(delivery: WebhookDelivery | None) -> DeliveryRow | None:
    if delivery is None:
        return None
    return DeliveryRow(
        run=delivery.run_id,
        attempts=delivery.attempts,
        delivered=delivery.delivered,
        next_try=delivery.next_try,
        problem=delivery.problem,
    )
