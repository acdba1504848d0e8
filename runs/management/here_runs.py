"""Runs a configuration in the process of the command: no worker, no Redis, nothing stored."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from runs.management.voices import Standing, Voice
from runs.models import Endpoint
from runs.outbound import webhook_route
from runs.selectors.cache import find_replies
from runs.selectors.case_sources import read_cases, source_of, with_slice
from runs.selectors.endpoints.called import endpoints_of, known_prices
from runs.selectors.endpoints.usable import refuse_unusable
from runs.selectors.named_parts import every_dataset, refuse_archived, refuse_webhooks
from runs.selectors.prompts import every_prompt, read_with_library
from workers.engine.calling.cache import MemoryCache
from workers.engine.here import Stop, run_here
from workers.engine.records import EVALUATE, Candidate, Case, Reply, Score
from workers.engine.spec.checks import check_against
from workers.engine.spec.configuration import Configuration, count_trials, with_expected
from workers.engine.statistics.boards import NOTHING_YET, Sums, floor_of, lower_end
from workers.quotas import model_quota
from workers.wiring import Clients, build_provider, prices_of

TELL_SECONDS = 0.25


@dataclass
class HereRun:
    """A run that only this process knows."""

    configuration: Configuration
    cases: Sequence[Case]
    dataset: str
    digest: str
    endpoints: Mapping[str, Endpoint]
    candidates: list[Candidate] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    rows: int = 0  # of the dataset, whatever the run takes of them
    stopped: Stop | None = None
    seconds: float = 0.0

    @property
    def evaluations(self) -> list[Score]:
        return self.scores_by_role().get(EVALUATE, [])

    def scores_by_role(self) -> dict[str, list[Score]]:
        role_of = {candidate.key: candidate.role for candidate in self.candidates}
        found: dict[str, list[Score]] = {}
        for score in self.scores:
            found.setdefault(role_of[score.trial.candidate], []).append(score)
        return found

    @property
    def planned(self) -> int:
        ranked = self.configuration.count_ranked(len(self.cases))
        return count_trials(self.configuration, ranked)

    @property
    def state(self) -> str:
        if self.stopped:
            return "paused"
        has_failed = any(score.error for score in self.scores)
        return "completed_with_errors" if has_failed else "completed"


class StoredReplies(MemoryCache):
    """Reads the shared cache; what is new is kept for this run only, since nobody paid it there."""

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]:
        stored = await sync_to_async(find_replies)(list(keys))
        return {**stored, **await super().get_many(keys)}


def prepare(document: dict[str, Any], own: Mapping[str, Endpoint]) -> HereRun:
    """`own` are the endpoints of the file, which come before stored ones of the same name.
    ConfigurationError with every problem; then nothing was sent."""
    configuration = read_with_library(document, every_prompt()).configuration
    source = source_of(configuration, every_dataset())
    configuration = with_expected(configuration, source.expected)
    if source.dataset is not None:
        configuration = with_slice(configuration, source.dataset)
    check_against(
        configuration,
        endpoints=known_prices(own),
        columns=source.columns,
        cases=len(source.positions),
    )
    endpoints = endpoints_of(configuration, own)
    refuse_unusable(endpoints)
    cases, dataset = read_cases(source, configuration), source.dataset
    refuse_archived(configuration, dataset, endpoints)
    refuse_webhooks(configuration)
    name, digest = "rows of the configuration", ""
    if dataset is not None:
        name, digest = f"{dataset.name}@{dataset.version}", dataset.digest
    elif configuration.dataset is None:
        name = f"cases made by {configuration.kind}"
    return HereRun(configuration, cases, name, digest, endpoints, rows=source.rows)


def execute(run: HereRun, voice: Voice) -> None:
    started = time.monotonic()
    try:
        asyncio.run(_execute(run, voice))
    finally:
        run.seconds = time.monotonic() - started
    voice.progress(standing_of(run))


async def _execute(run: HereRun, voice: Voice) -> None:
    configuration = run.configuration
    telling = asyncio.create_task(_tell(run, voice))

    def note_stop(stop: Stop) -> None:
        run.stopped = stop

    clients = Clients()
    try:
        run.scores = await run_here(
            configuration,
            run.cases,
            {name: build_provider(item, clients.of(item)) for name, item in run.endpoints.items()},
            cache=StoredReplies(),
            webhooks=webhook_route(),
            prices=prices_of(configuration, run.endpoints),
            model_quotas={
                (m.endpoint, m.model): model_quota(
                    run.endpoints[m.endpoint], m.model, 0, configuration
                )
                for m in configuration.every_model
            },
            on_candidate=run.candidates.append,
            on_score=run.scores.append,
            on_stop=note_stop,
        )
    finally:
        telling.cancel()
        await clients.close()
        await sync_to_async(connections.close_all)()


async def _tell(run: HereRun, voice: Voice) -> None:
    while True:
        voice.progress(standing_of(run))
        await asyncio.sleep(TELL_SECONDS)


def standing_of(run: HereRun) -> Standing:
    evaluated = run.evaluations
    return Standing(
        state=run.state if run.seconds else "running",
        planned=run.planned,
        done=len(evaluated),
        failed=sum(bool(score.error) for score in evaluated),
        cached=sum(score.cached for score in evaluated),
        cost=sum(score.spent for score in run.scores),
        unpriced=sum(score.unpriced_in_all for score in run.scores),
        score=score_of_best(evaluated),
    )


def score_of_best(scores: Sequence[Score]) -> float | None:
    """By its sums, so that it can be said every second."""
    sums: dict[str, Sums] = {}
    for score in scores:
        seen = sums.get(score.trial.candidate, NOTHING_YET)
        sums[score.trial.candidate] = seen.plus(score.value, score.passed)
    floor = floor_of(sums.values())
    scored = [one for one in sums.values() if one.n]
    best = max(scored, key=lambda one: lower_end([one], floor), default=None)
    return best.total / best.n if best else None
