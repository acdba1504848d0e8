"""The quotas that a run's calls fall under, as they are now: shared by its chunks in a process."""

from runs.models import Endpoint, EndpointKind
from runs.selectors.limits.limits import Current, slots_now
from workers.engine.records import Request
from workers.engine.schedule import calls_per_candidate
from workers.engine.spec.configuration import Configuration
from workers.engine.throttling.budget_shares import allowance_of
from workers.engine.throttling.permits import PRIORITY_WEIGHTS, Quota


class RunQuotas:
    """Asked before each call, and changed while calls fly. The limits of a run may be retuned;
    those of an endpoint be edited, or the endpoint paused."""

    def __init__(self, run_id: int, cases: int) -> None:
        self._run_id = run_id
        self._cases = cases
        self._shared: dict[tuple[str, str], tuple[Quota, ...]] = {}  # … of the run, of the model
        self._of_candidate: int | None = None  # calls at once, under a two-level split
        self._candidates: set[str] = set()
        self._of_work: tuple[Quota, ...] = ()

    def __call__(self, request: Request) -> tuple[Quota, ...]:
        shared = self._shared[request.endpoint, request.model]
        if self._of_candidate is None:
            return shared
        self._candidates.add(request.candidate)
        return (self._candidate_quota(request.candidate, self._of_candidate), *shared)

    def change(self, current: Current) -> list[Quota]:
        """Take on the limits as they are now. Returns all quotas, for the calls that wait."""
        configuration, endpoints = current.configuration, current.endpoints
        of_run, of_owner = run_quota(self._run_id, current), owner_quotas(self._run_id, current)
        self._of_work = (*of_owner, of_run)
        self._shared = {
            (model.endpoint, model.model): (
                *of_owner,
                of_run,
                model_quota(endpoints[model.endpoint], model.model, self._run_id, configuration),
            )
            for model in configuration.every_model
        }
        quotas = [*of_owner, of_run, *(shared[-1] for shared in self._shared.values())]
        slots = slots_now(configuration, endpoints)
        self._of_candidate = calls_per_candidate(configuration, self._cases, slots)
        if self._of_candidate is None:
            return quotas
        return quotas + [self._candidate_quota(c, self._of_candidate) for c in self._candidates]

    def of_work(self) -> tuple[Quota, ...]:
        """Of what computes and calls no model."""
        return self._of_work

    def keys(self) -> dict[tuple[str, str], str]:
        """Under which key the calls of each endpoint and model fall."""
        return {place: shared[-1].key for place, shared in self._shared.items()}

    def stop(self) -> list[Quota]:
        """No call starts any more, until the limits are read again and allow it."""
        if not self._of_work:  # nothing was started yet
            return []
        *of_owner, of_run = self._of_work
        self._of_work = (*of_owner, of_run._replace(max_concurrent=0))
        self._shared = {
            place: (*of_owner, of_run._replace(max_concurrent=0), of_model)
            for place, (*of_owner, of_run, of_model) in self._shared.items()
        }
        return [self._of_work[-1], *(shared[-2] for shared in self._shared.values())]

    def _candidate_quota(self, candidate: str, most: int) -> Quota:
        return Quota(f"run:{self._run_id}/{candidate}", most)


def owner_quotas(run_id: int, current: Current) -> list[Quota]:
    """One more pool for people who have a share of the slots; others pay nothing for it."""
    if current.owner_slots is None:
        return []
    return [Quota(f"person:{current.owner_id}", current.owner_slots, group=str(run_id))]


def run_quota(run_id: int, current: Current) -> Quota:
    limits = current.configuration.limits
    return Quota(
        f"run:{run_id}",
        0 if current.is_held else slots_now(current.configuration, current.endpoints),
        limits.requests_per_minute,
        limits.tokens_per_minute,
        allowance=allowance_of(
            current.configuration.budget, current.calls_used, current.dollars_used
        ),
        models=len({(model.endpoint, model.model) for model in current.configuration.called}),
    )


def model_quota(endpoint: Endpoint, model: str, run_id: int, configuration: Configuration) -> Quota:
    """One limit per endpoint and model, for all runs and workers; runs share it by priority."""
    return Quota(
        f"endpoint:{endpoint.pk}/{model}",
        0 if endpoint.is_paused else endpoint.max_concurrent,
        endpoint.requests_per_minute,
        endpoint.tokens_per_minute,
        group=str(run_id),
        weight=PRIORITY_WEIGHTS[configuration.priority],
        is_adaptive=endpoint.adaptive and configuration.limits.adaptive,
        is_guarded=True,
        may_queue=endpoint.kind == EndpointKind.OLLAMA,
    )
