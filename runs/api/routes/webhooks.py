"""Webhooks: where you are told what happens to your runs."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel, Field

from runs.access import get_delivery_for, get_webhook_for, webhooks_for
from runs.api.bodies import address_of
from runs.api.doors import caller, needs
from runs.api.pages import answer, as_of
from runs.api.problems import RequestProblem, refuse
from runs.api.router import Routes
from runs.api.routes.control import NOTHING, Applied, NoBody
from runs.models import AlertEvent, Scope, WebhookKind
from runs.roles import Permission
from runs.selectors.webhooks import DeliveryRow, WebhookRow, list_deliveries, list_webhooks
from runs.services.webhooks import (
    LONGEST_URL,
    OTHER_CODE,
    confirm_webhook,
    create_webhook,
    delete_webhook,
    send_again,
    send_code,
)
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Webhooks"])

WebhookId = Annotated[int, Field(ge=1, le=2**63 - 1)]


class WebhookBody(Strict):
    url: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_URL, description="Of kind mail: a mail address."),
    ]
    kind: Annotated[
        WebhookKind, Field(description="`json` is signed; `slack` is for Slack and the like.")
    ] = WebhookKind.JSON
    events: Annotated[
        list[AlertEvent], Field(min_length=1, max_length=10, description="What it is told of.")
    ] = [AlertEvent.ENDED]


class Deliveries(BaseModel):
    data: list[DeliveryRow]
    next_cursor: None = None
    as_of: datetime


class WebhookMade(BaseModel):
    """The secret is shown now and never again; of kind slack and mail there is none. `confirmed` is
    null of a mail address until its code is entered; `problem` says why none was sent."""

    id: int
    url: str
    secret: str
    confirmed: datetime | None
    problem: str


class CodeBody(Strict):
    code: Annotated[
        str, Field(max_length=40, description="As in the mail. Empty: send the mail again.")
    ] = ""


NO_CODE = CodeBody()


class Webhooks(BaseModel):
    data: list[WebhookRow]
    next_cursor: None = None
    as_of: datetime


@routes.post(
    "/webhooks",
    auth=needs(Scope.MANAGE, Permission.LAUNCH),
    response={201: WebhookMade},
    summary="Add a webhook",
)
def add_webhook(request: HttpRequest, body: WebhookBody) -> HttpResponse:
    """It gets `{type, delivery, told, run}` by POST when a run of yours has ended, was paused or
    stopped by its budget, failed a gate, or a model that it calls fails, as `events` says; at most
    five tries within an hour or two. `X-Evalsite-Signature: t=MOMENT,v1=HEX` is the HMAC-SHA-256,
    with the secret, of `MOMENT.BODY`. Private addresses are refused."""
    made = create_webhook(caller(request), body.url, body.kind, body.events)
    hook = made.webhook
    shown = WebhookMade(
        id=hook.pk,
        url=hook.url,
        secret=made.secret,
        confirmed=hook.confirmed,
        problem=made.problem,
    )
    return answer(shown.model_dump(), 201, Location=address_of("webhooks", str(hook.pk)))


@routes.post(
    "/webhooks/{int:webhook_id}/confirm",
    auth=needs(Scope.MANAGE, Permission.LAUNCH, takes_work=True),
    response=Applied,
    summary="Confirm a mail address",
)
def confirm_address(
    request: HttpRequest, webhook_id: WebhookId, body: CodeBody = NO_CODE
) -> Applied:
    """By the code that was sent to it. Nothing is told to it before."""
    found = get_webhook_for(caller(request), webhook_id)
    if found.confirmed:
        return Applied(changed=False)
    if not body.code:
        if problem := send_code(found):
            raise RequestProblem(409, problem)
        return Applied(changed=False)
    if not confirm_webhook(found, body.code):
        raise refuse("code", OTHER_CODE)
    return Applied(changed=True)


@routes.get("/webhooks", auth=needs(Scope.READ), response=Webhooks, summary="List webhooks")
def list_all_webhooks(request: HttpRequest) -> Webhooks:
    """Yours, each with what became of its last delivery."""
    return Webhooks(data=list_webhooks(webhooks_for(caller(request))), as_of=as_of())


@routes.delete(
    "/webhooks/{int:webhook_id}",
    auth=needs(Scope.MANAGE, Permission.LAUNCH),
    response=Applied,
    summary="Remove a webhook",
)
def remove_webhook(request: HttpRequest, webhook_id: WebhookId) -> Applied:
    """What was still to be told to it is not."""
    delete_webhook(get_webhook_for(caller(request), webhook_id))
    return Applied(changed=True)


@routes.get(
    "/webhooks/{int:webhook_id}/deliveries",
    auth=needs(Scope.READ),
    response=Deliveries,
    summary="List the deliveries of a webhook",
)
def list_all_deliveries(request: HttpRequest, webhook_id: WebhookId) -> Deliveries:
    """The newest 100, with attempts and what the address answered."""
    found = list_deliveries(get_webhook_for(caller(request), webhook_id))
    return Deliveries(data=found, as_of=as_of())


@routes.post(
    "/deliveries/{int:delivery_id}/again",
    auth=needs(Scope.MANAGE, Permission.LAUNCH),
    response=Applied,
    summary="Send a delivery again",
)
def send_delivery_again(
    request: HttpRequest, delivery_id: WebhookId, body: NoBody = NOTHING
) -> Applied:
    """One that arrived, or was given up. While it is still being tried nothing changes."""
    found = get_delivery_for(caller(request), delivery_id)
    return Applied(changed=send_again(found, caller(request)))
