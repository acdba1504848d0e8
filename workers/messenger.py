"""Tells webhooks that runs have ended: empties the outbox, a few at a time."""

import asyncio
import logging

from django.db import DatabaseError

from runs.outbound import check_webhook, webhook_policy
from runs.services.webhooks import Parcel, claim_deliveries, note_delivery
from workers.database_thread import in_database
from workers.engine.errors import CallError
from workers.engine.http import Client
from workers.engine.providers.resolver import GuardedResolver

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
DEADLINE_SECONDS = 10.0  # for one delivery
AT_ONCE = 10


class Messenger:
    """One per worker process; rows are claimed, so that each is sent by one of them."""

    async def run(self) -> None:
        async with Client(GuardedResolver(webhook_policy())) as client:
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
        try:
            url = check_webhook(parcel.url)  # again: a number needs no resolver that would refuse
            async with asyncio.timeout(DEADLINE_SECONDS):
                answer = await client.post(str(url), parcel.body, parcel.headers)
            problem = "" if 200 <= answer.status < 300 else f"It answered {answer.status}."
        except TimeoutError:
            problem = f"No answer within {DEADLINE_SECONDS:g} seconds."
        except CallError as error:
            problem = str(error)
        await in_database(note_delivery, parcel.delivery_id, problem)
