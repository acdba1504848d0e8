"""How the runs of this process make their calls: an executor each, under the limits as they are."""

import time
from weakref import WeakValueDictionary

from runs.selectors.limits.limits import Current, read_current
from runs.services.chunks.leases import Lease
from workers.database_cache import DatabaseCache
from workers.database_thread import in_database
from workers.engine.calling.cache import Flights
from workers.engine.calling.calls import CallParts
from workers.engine.executor import Executor
from workers.quotas import RunQuotas
from workers.recorder import Recorder
from workers.run_providers import RunProviders
from workers.wiring import Clients, build_executor

MOST_RUNS = 64  # whose parts are kept; those of others are made again when they are needed
REUSE_SECONDS = 2.0  # how long an executor is reused before endpoints and keys are read again


class RunExecutors:
    def __init__(
        self,
        parts: CallParts,
        clients: Clients,
        flights: Flights,
        recorder: Recorder,
    ) -> None:
        self._parts = parts
        self._clients = clients
        self._flights = flights
        self._recorder = recorder
        self._executors: dict[int, tuple[float, Executor]] = {}
        self._quotas: WeakValueDictionary[int, RunQuotas] = WeakValueDictionary()
        self._providers: WeakValueDictionary[int, RunProviders] = WeakValueDictionary()
        self._stopped: set[int] = set()

    async def executor_for(self, lease: Lease) -> Executor:
        """An executor with the endpoints as they are now."""
        run_id = lease.parts.run_id
        made, executor = self._executors.get(run_id, (0.0, None))
        if executor is not None and time.monotonic() - made < REUSE_SECONDS:
            return executor
        current: Current = await in_database(read_current, run_id, lease.parts.configuration)
        quotas = self._quotas.get(run_id) or RunQuotas(run_id, lease.parts.cases)
        self._quotas[run_id] = quotas
        providers = self._providers.get(run_id)
        if providers is None:
            providers = self._providers[run_id] = RunProviders(self._clients)
        self.apply(run_id, current)
        executor = build_executor(
            run_id,
            current.configuration,
            current.endpoints,
            quotas,
            quotas.of_work,
            providers=providers,
            parts=self._parts,
            cache=DatabaseCache(run_id, self._recorder),
            flights=self._flights,
        )
        self._executors[run_id] = (time.monotonic(), executor)
        if len(self._executors) > MOST_RUNS:
            self._executors.pop(next(iter(self._executors)))
        return executor

    def quotas_of(self, run_id: int) -> RunQuotas | None:
        """None if no chunk of the run is at work here."""
        return self._quotas.get(run_id)

    def apply(self, run_id: int, current: Current) -> None:
        """Let limits, keys and addresses hold for the next call, also of those that wait."""
        if (providers := self._providers.get(run_id)) is not None:
            providers.change(current.endpoints)
        quotas = self._quotas.get(run_id)
        if quotas is None or run_id in self._stopped:  # read before it was stored that it is paused
            return
        for quota in quotas.change(current):
            self._parts.throttle.change(quota)

    def stop(self, run_id: int) -> bool:
        """Start no call of a run any more, at once. False if it has none here, or was stopped."""
        quotas = self._quotas.get(run_id)
        if quotas is None or run_id in self._stopped:
            return False
        self._stopped.add(run_id)
        for quota in quotas.stop():
            self._parts.throttle.change(quota)
        return True

    def let_go_on(self, run_id: int) -> None:
        """From here on what is stored decides again."""
        self._stopped.discard(run_id)
