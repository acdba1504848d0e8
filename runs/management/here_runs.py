"""Runs a configuration in the process of the command: no worker, no Redis, nothing stored."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from runs.management.voices import Standing, Voice
from runs.models import Endpoint
from runs.models.dataset import question_in
from runs.outbound import check_servers
from runs.selectors.cache import find_replies
from runs.selectors.case_sources import read_cases, source_of
from runs.selectors.choices import refuse_archived
from runs.selectors.compare import Side, scorers_of
from runs.selectors.endpoints_in_use import endpoints_of, known_prices
from runs.selectors.outcome import choice_score
from runs.selectors.score_records import ScoreRecord
from workers.engine.cache import MemoryCache
from workers.engine.comparing import Result
from workers.engine.errors import ConfigurationError, ForbiddenAddress, Problem
from workers.engine.gates import Ending, Outcome
from workers.engine.here import run_here
from workers.engine.kinds import make_candidates, open_selection
from workers.engine.records import Case, Reply, Score
from workers.engine.selection_report import SelectionReport, report_of
from workers.engine.selection_rows import Tokens, rounds_of, rows_of
from workers.engine.session import Session
from workers.engine.spec import (
    Configuration,
    Selection,
    cases_of,
    check_against,
    count_trials,
    read_configuration,
    with_expected,
)
from workers.engine.stats import Estimate, estimate_mean
from workers.quotas import model_quota
from workers.wiring import build_client, build_provider, prices_of

TELL_SECONDS = 0.25
STOPS = {
    "calls": "The budget of calls is used up.",
    "dollars": "The budget of dollars is used up.",
    "seconds": "The budget of seconds is used up.",
    "errors": "More trials failed than fail_on_error allows.",
}


@dataclass
class HereRun:
    """A run that only this process knows."""

    configuration: Configuration
    cases: Sequence[Case]
    dataset: str
    digest: str
    endpoints: Mapping[str, Endpoint]
    scores: list[Score] = field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0

    @property
    def planned(self) -> int:
        return count_trials(self.configuration, len(self.cases))

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


def prepare(document: dict[str, Any]) -> HereRun:
    """ConfigurationError with every problem; then nothing was sent."""
    configuration = read_configuration(document)
    source = source_of(configuration)
    configuration = with_expected(configuration, source.expected)
    check_against(
        configuration,
        endpoints=known_prices(),
        columns=source.columns,
        cases=cases_of(configuration, source.rows),
    )
    endpoints = endpoints_of(configuration)
    refuse_unusable(endpoints)
    cases, dataset = read_cases(source, configuration), source.dataset
    refuse_archived(configuration, dataset, endpoints)
    if dataset is not None:
        name = f"{dataset.name}@{dataset.version}"
        return HereRun(configuration, cases, name, dataset.digest, endpoints)
    return HereRun(configuration, cases, "rows of the configuration", "", endpoints)


def refuse_unusable(endpoints: Mapping[str, Endpoint]) -> None:
    """Before a call is made: paused endpoints, and addresses that are not allowed."""
    problems = [
        Problem("models", told)
        for name, endpoint in endpoints.items()
        if (told := trouble_with(name, endpoint))
    ]
    if problems:
        raise ConfigurationError(problems)


def trouble_with(name: str, endpoint: Endpoint) -> str:
    if endpoint.is_paused:
        return f"The endpoint {name} is paused. Resume it under Endpoints first."
    try:
        check_servers(endpoint)
    except ForbiddenAddress as error:
        return f"The endpoint {name} cannot be called. {error}"
    return ""


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

    def note_stop(name: str) -> None:
        run.stopped = name

    try:
        async with build_client() as client:
            run.scores = await run_here(
                configuration,
                run.cases,
                {name: build_provider(item, client) for name, item in run.endpoints.items()},
                cache=StoredReplies(),
                prices=prices_of(configuration, run.endpoints),
                model_quotas={
                    (m.endpoint, m.model): model_quota(
                        run.endpoints[m.endpoint], m.model, 0, configuration
                    )
                    for m in configuration.called
                },
                on_score=run.scores.append,
                on_stop=note_stop,
            )
    finally:
        telling.cancel()
        await sync_to_async(connections.close_all)()


async def _tell(run: HereRun, voice: Voice) -> None:
    while True:
        voice.progress(standing_of(run))
        await asyncio.sleep(TELL_SECONDS)


def standing_of(run: HereRun) -> Standing:
    found = mean_of(run.scores)
    return Standing(
        state=run.state if run.seconds else "running",
        planned=run.planned,
        done=len(run.scores),
        failed=sum(bool(score.error) for score in run.scores),
        cached=sum(score.cached for score in run.scores),
        cost=sum(score.cost or 0.0 for score in run.scores),
        unpriced=sum(score.unpriced for score in run.scores),
        score=found.value if found else None,
    )


def mean_of(scores: Sequence[Score]) -> Estimate | None:
    values = [score.value for score in scores if score.value is not None]
    return estimate_mean(len(values), sum(values), sum(value * value for value in values))


def choice_of(run: HereRun) -> SelectionReport | None:
    """What a choice among combinations found; None of other kinds."""
    configuration = run.configuration
    if not isinstance(configuration, Selection):
        return None
    strategy = open_selection(configuration, len(run.cases))
    session = Session(strategy)
    session.replay(len(run.scores), run.scores)
    early = [score for score in run.scores if score.trial.position >= session.told]
    cost = sum(score.cost or 0.0 for score in run.scores)
    is_unknown = not cost and any(score.unpriced for score in run.scores)
    return report_of(
        strategy,
        rows_of(strategy, early, tokens_of(run.scores)),
        rounds_of(strategy, configuration.limits.max_concurrent),
        name=configuration.strategy.name,
        evaluations=len(run.scores),
        objective=configuration.objective,
        dollars=None if is_unknown else cost,
        seconds=run.seconds,
    )


def tokens_of(scores: Iterable[Score]) -> dict[str, Tokens]:
    totals: dict[str, Tokens] = {}
    for score in scores:
        given, received = totals.get(score.trial.candidate, Tokens(0, 0))
        more = Tokens(given + (score.tokens_in or 0), received + (score.tokens_out or 0))
        totals[score.trial.candidate] = more
    return totals


def outcome_of(run: HereRun, choice: SelectionReport | None = None) -> Outcome:
    standing = standing_of(run)
    ending: Ending = "finished"
    if run.stopped:
        ending = "errors" if run.stopped == "errors" else "budget"
    return Outcome(
        ending=ending,
        reason=STOPS.get(run.stopped, ""),
        planned=standing.planned,
        done=standing.done,
        failed=standing.failed,
        **(choice_score(choice) if choice else mean_score(run, standing)),
        cost=standing.cost,
        unpriced=standing.unpriced,
    )


def mean_score(run: HereRun, standing: Standing) -> dict[str, Any]:
    values = [score.value for score in run.scores if score.value is not None]
    return {
        "score": mean_of(run.scores),
        "value_failures_wrong": sum(values) / standing.done if standing.done else None,
    }


def candidate_names(run: HereRun) -> dict[str, str]:
    return {c.key: c.name for c in make_candidates(run.configuration)}


def side_of(run: HereRun) -> Side:
    """Of a choice only what it chose, as with stored runs."""
    choice = choice_of(run)
    names = candidate_names(run)
    if choice:
        names = {choice.best.key: choice.best.name} if choice.best else {}
    return Side(
        run_id=None,
        name=run.configuration.name,
        dataset=run.dataset,
        digest=run.digest,
        scorers=scorers_of(run.configuration),
        expected=run.configuration.expected_column,
        candidates=names,
        cases={case.position: case.fields for case in run.cases},
        results=[
            Result(s.trial.candidate, s.trial.case, s.trial.repeat, s.value, s.passed,
                   s.trial.position)
            for s in run.scores
            if s.trial.candidate in names
        ],
        is_complete=not run.stopped,
    )  # fmt: skip


def read_records(run: HereRun) -> Iterator[ScoreRecord]:
    """As those of a stored run."""
    names = candidate_names(run)
    cases = {case.position: case for case in run.cases}
    for score in run.scores:
        case = cases[score.trial.case]
        yield {
            "position": score.trial.position,
            "candidate": score.trial.candidate,
            "candidate_name": names[score.trial.candidate],
            "case": score.trial.case,
            "repeat": score.trial.repeat,
            "question": question_in(case.fields),
            "expected": case.expected,
            "answer": score.answer,
            "value": score.value,
            "passed": score.passed,
            "judgements": [judgement._asdict() for judgement in score.judgements],
            "error": {"class": score.error, "message": score.message} if score.error else None,
            "latency_ms": score.latency_ms,
            "tokens_in": score.tokens_in,
            "tokens_out": score.tokens_out,
            "cost": score.cost,
            "full_cost": score.full_cost,
            "cached": score.cached,
            "truncated": score.truncated,
            "attempts": len(score.attempts),
        }
