"""A simulated provider for a run of this process, if no site has started one."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.request import ProxyHandler, build_opener

from django.conf import settings

from evalsite.embedded.parts import DEMO_JITTER, DEMO_LATENCY_MS
from runs.models import Endpoint, EndpointKind
from workers.simulator.testing import running_simulator

ANSWER_WITHIN_SECONDS = 10.0  # where nobody listens, the answer comes at once


@contextmanager
def simulated_provider_for(endpoints: Iterable[Endpoint]) -> Iterator[None]:
    """Runs while they may be called; nothing, if none of them is the site's own simulated one."""
    is_needed = any(one.kind == EndpointKind.SIMULATED and not one.base_url for one in endpoints)
    if not is_needed or is_simulator(settings.SIMULATOR_URL):
        yield
        return
    before = settings.SIMULATOR_URL
    with running_simulator(latency_ms=DEMO_LATENCY_MS, jitter=DEMO_JITTER) as simulator:
        settings.SIMULATOR_URL = simulator.url
        try:
            yield
        finally:
            settings.SIMULATOR_URL = before


def is_simulator(url: str) -> bool:
    """Not merely somebody who listens at the usual port."""
    opener = build_opener(ProxyHandler({}))  # never through a proxy of the machine
    try:
        address = f"{url.rstrip('/')}/control/health"  # which its ledger does not count
        with opener.open(address, timeout=ANSWER_WITHIN_SECONDS) as answer:
            return bool(json.load(answer) == {"ok": True})
    except (OSError, ValueError):
        return False
