"""The site's settings with a channel layer that loses, doubles and delays nudges."""

import asyncio
import os
from random import Random
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer

from evalsite.settings import *  # noqa: F403
from evalsite.settings import REDIS_URL

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "tests.faults.lossy_settings.LossyLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "evalsite"},
    }
}
LOST, DOUBLED, DELAYED = 0.3, 0.15, 0.15
DELAY_SECONDS = 1.0  # later nudges overtake it


class LossyLayer(RedisPubSubChannelLayer):  # type: ignore[misc]  # channels_redis has no types
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._random = Random(os.environ.get("FAULTS_SEED", "0"))
        self._late: set[asyncio.Task[None]] = set()

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        luck = self._random.random()
        if luck < LOST:
            return
        if luck < LOST + DELAYED:
            late = asyncio.create_task(self._send_late(group, message))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            return
        await self._get_layer().group_send(group, message)
        if luck > 1 - DOUBLED:
            await self._get_layer().group_send(group, message)

    async def _send_late(self, group: str, message: dict[str, Any]) -> None:
        await asyncio.sleep(DELAY_SECONDS)
        await self._get_layer().group_send(group, message)
