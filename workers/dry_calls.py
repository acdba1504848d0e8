"""Makes the calls of a dry run in this process, under the same permits and limits as a worker's."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from asgiref.sync import sync_to_async

from runs.models import Endpoint
from runs.selectors.cache import find_replies
from runs.selectors.limits.limits import Current
from workers.engine.calling.cache import SingleFlight
from workers.engine.ending_tasks import end_tasks
from workers.engine.providers import Provider
from workers.engine.records import Reply, Request, Score, Slice
from workers.engine.throttling.throttle import Throttle
from workers.quotas import RunQuotas
from workers.wiring import Clients, build_call_parts, build_executor, build_provider, worker_name

DEADLINE_SECONDS = 30.0  # for everything: a person waits for it

LOOK_SECONDS = 0.05  # how often it looks whether the budget is used up

PaidReply = tuple[str, Request, Reply]


class CollectedReplies:
    """Reads the shared cache; what is new is stored when all is done."""

    def __init__(self) -> None:
        self.paid: list[PaidReply] = []

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]:
        return await sync_to_async(find_replies)(list(keys))

    def put(self, key: str, request: Request, reply: Reply) -> None:
        self.paid.append((key, request, reply))


async def make_calls(
    number: int,
    current: Current,
    cases: int,
    work: Slice,
    *,
    on_score: Callable[[Score], None],
    deadline_seconds: float = DEADLINE_SECONDS,
) -> list[PaidReply]:
    """Execute the trials of a slice, as far as they are done in time; returns the new answers. Runs
    are numbered from 1 on: the negative number of a dry run gives it permits of its own."""
    quotas = RunQuotas(-number, cases)
    quotas.change(current)
    clients, cache = Clients(), CollectedReplies()
    parts = build_call_parts(
        worker_name(), lambda *change: None, lambda *refusals: None, lambda *queueing: None
    )
    executor = build_executor(
        -number,
        current.configuration,
        current.endpoints,
        quotas,
        quotas.of_work,
        providers=providers_of(current.endpoints, clients),
        parts=parts,
        cache=cache,
        flights=SingleFlight(),
    )
    trying = asyncio.create_task(executor.run(work, on_score))
    try:
        async with asyncio.timeout(deadline_seconds):
            await wait_for(trying, parts.throttle, f"run:{-number}")
    except TimeoutError:
        pass  # what is done is shown
    finally:
        await end_tasks([trying])
        await parts.close()
        await clients.close()
    return cache.paid


async def wait_for(trying: asyncio.Task[None], throttle: Throttle, key: str) -> None:
    """Until all is done, or the budget lets no more calls start."""
    while not trying.done():
        await asyncio.wait({trying}, timeout=LOOK_SECONDS)
        if not trying.done() and throttle.spent(key) and not throttle.in_flight(key):
            return
    trying.result()


def providers_of(endpoints: Mapping[str, Endpoint], clients: Clients) -> dict[str, Provider]:
    return {name: build_provider(one, clients.of(one)) for name, one in endpoints.items()}
