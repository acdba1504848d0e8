"""The chunks that this process works on: which task works on which, and how they are given back."""

import asyncio
from collections.abc import Callable, Collection

from django.db import DatabaseError

from runs.services.chunks.leases import Lease, RunParts
from workers.database_thread import in_database
from workers.engine.ending_tasks import end_tasks
from workers.recorder import RETRY_SECONDS, Recorder

GiveBack = Callable[[int, int], None]
"""Takes the chunk and its token."""
Work = asyncio.Task[None]


class LeasesAtWork:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._leases: dict[Work, Lease] = {}

    def add(self, task: Work, lease: Lease) -> None:
        self._leases[task] = lease

    def discard(self, task: Work) -> None:
        self._leases.pop(task, None)

    def all(self) -> dict[Work, Lease]:
        return dict(self._leases)

    def of_run(self, run_id: int) -> dict[Work, Lease]:
        return {task: one for task, one in self._leases.items() if one.parts.run_id == run_id}

    def runs(self) -> list[RunParts]:
        return list({one.parts.run_id: one.parts for one in self._leases.values()}.values())

    async def stop(self, leases: dict[Work, Lease], give_back: GiveBack) -> None:
        """End their work, and give back what is left of it."""
        await end_tasks(leases)
        await self.release(leases.values(), give_back)

    async def release(self, leases: Collection[Lease], give_back: GiveBack) -> None:
        """Write what is found and give the rest back; again and again while the database is away,
        or the recorder would keep the leases for ever."""
        while True:
            try:
                await self._recorder.write()
                for lease in leases:
                    await in_database(give_back, lease.chunk_id, lease.token)
                break
            except DatabaseError:
                await asyncio.sleep(RETRY_SECONDS)
        for lease in leases:
            self._recorder.abandon(lease)
