"""Runs a configuration in the test's own process against a real simulated provider."""

from collections.abc import Sequence
from typing import Any

from workers.engine.calling.cache import ReplyCache
from workers.engine.calling.prices import Prices
from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds import read_configuration
from workers.engine.providers import PROVIDERS
from workers.engine.records import Case, Score


async def run_document(
    document: dict[str, Any],
    cases: Sequence[Case],
    url: str,
    cache: ReplyCache | None = None,
    prices: Prices | None = None,
) -> list[Score]:
    async with Client() as client:
        provider = PROVIDERS["simulated"](client, "simulated", f"{url}/v1")
        providers = {"simulated": provider}
        configuration = read_configuration(document)
        return await run_here(configuration, cases, providers, cache=cache, prices=prices)


def table_of(scores: Sequence[Score]) -> list[tuple[Any, ...]]:
    """The results table: what must be equal however the run was executed."""
    return [(score.trial, score.value, score.passed, score.error, score.answer) for score in scores]
