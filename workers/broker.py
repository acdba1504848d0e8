"""The Dramatiq broker, wired by hand: our own retries, our own leases, async actors."""

import dramatiq
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AsyncIO
from dramatiq.middleware.age_limit import AgeLimit

from workers.queue_names import NAMESPACE

MAINTENANCE_CHANCE = 100_000  # of a million: the default of 1,000 leaves lost messages for hours
HEARTBEAT_MILLISECONDS = 15_000


def connect_broker() -> RedisBroker:
    """The broker, made the process's own.

    No Retries and no TimeLimit: both are ours, inside the actors, because a delayed message is
    lost with its worker and a time limit cannot interrupt a blocked read. No
    ShutdownNotifications: `manage.py work` closes the runtime, which gives every chunk back.
    """
    broker = RedisBroker(  # type: ignore[no-untyped-call]  # Dramatiq leaves it untyped
        url=settings.REDIS_URL,
        middleware=[AgeLimit(), AsyncIO()],
        namespace=NAMESPACE,
        maintenance_chance=MAINTENANCE_CHANCE,
        heartbeat_timeout=HEARTBEAT_MILLISECONDS,
    )
    dramatiq.set_broker(broker)
    return broker


broker = connect_broker()
