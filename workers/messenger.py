"""Tells webhooks and mail addresses what happened to runs: empties the outbox, a few at a time."""

import asyncio
import logging
from smtplib import SMTPException
from typing import NamedTuple

from django.db import DatabaseError

from runs.outbound import check_webhook, webhook_route
from runs.services.alert_messages import Parcel, send_mail
from runs.services.webhooks import claim_deliveries, note_delivery
from workers.database_thread import in_database
from workers.engine.errors import CallError
from workers.engine.http import Client
from workers.engine.providers.routes import open_client

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
DEADLINE_SECONDS = 10.0  # for one delivery
AT_ONCE = 10
MOST_KEPT = 2000  # bytes of an answer, before it is cut to what is shown


class Sent(NamedTuple):
    problem: str  # empty: it arrived
    status: int | None = None
    answer: str = ""


class Messenger:
    """One per worker process; rows are claimed, so that each is sent by one of them."""

    async def run(self) -> None:
        async with open_client(webhook_route()) as client:
            while True:
                try:
                    await self.deliver(client)
                except DatabaseError:
                    pass  # it is away: the rows are still there when it is back
                except Exception:
                    logger.exception("Webhooks could not be told; runs go on without.")
                await asyncio.sleep(LOOK_SECONDS)

    async def deliver(self, client: Client) -> None:
        parcels: list[Parcel] = await in_database(claim_deliveries, AT_ONCE)
        if parcels:
            await asyncio.gather(*(self._send(client, parcel) for parcel in parcels))

    async def _send(self, client: Client, parcel: Parcel) -> None:
        """By HTTP or as a mail; what came of it is kept with the delivery."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                send = self._mail(parcel) if parcel.subject else self._post(client, parcel)
                found = await send
        except TimeoutError:
            found = Sent(f"No answer within {DEADLINE_SECONDS:g} seconds.")
        except CallError as error:
            found = Sent(str(error))
        await in_database(note_delivery, parcel.delivery_id, *found)

    async def _post(self, client: Client, parcel: Parcel) -> Sent:
        url = check_webhook(parcel.url)  # again: a number needs no resolver that would refuse
        answer = await client.post(str(url), parcel.body, parcel.headers)
        problem = "" if 200 <= answer.status < 300 else f"It answered {answer.status}."
        return Sent(problem, answer.status, answer.body[:MOST_KEPT].decode(errors="replace"))

    async def _mail(self, parcel: Parcel) -> Sent:
        """The server's own words may hold what nobody else should read: only their kind is kept."""
        try:
            await asyncio.to_thread(send_mail, parcel.url, parcel.subject, parcel.body.decode())
        except (SMTPException, OSError) as error:
            return Sent(f"The mail server did not take it: {type(error).__name__}.")
        return Sent("")
