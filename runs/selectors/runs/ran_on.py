"""What a run ran on, frozen at its launch: cases, code, scorers, limits and endpoints."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from runs import formatting
from runs.code_version import code_version
from runs.models import Endpoint, Run
from runs.selectors.case_sources import choice_of, positions_of
from workers.engine.scorers import SCORERS
from workers.engine.spec.configuration import Configuration


class EndpointFacts(BaseModel):
    """An endpoint as it was. A limit that is null was not set; `adaptive` is null of runs from
    before it was kept."""

    kind: str
    host: str
    max_concurrent: int
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    adaptive: bool | None = None
    prices: dict[str, Any] = {}


class RanOn(BaseModel):
    """What a run ran on, frozen at its launch. `slice` says in words which `cases` of the dataset's
    `rows` were taken; empty: all. `scorers` has the version of each, which is raised when its
    verdicts change. Runs from before they were kept have neither scorers nor limits."""

    code_version: str = ""
    cases: int
    rows: int
    slice: str = ""
    scorers: dict[str, int] = {}
    limits: dict[str, Any] = {}
    endpoints: dict[str, EndpointFacts] = {}

    @property
    def rows_text(self) -> str:
        """As in `50 of 1,319 rows, a sample (seed 7)`."""
        rows = formatting.counted(self.rows, "row")
        if not self.slice:
            return rows
        share = f"{self.cases:,} of {rows}" if self.cases < self.rows else f"all {rows}"
        return f"{share}, {self.slice}"


def facts_at_launch(
    configuration: Configuration, endpoints: Mapping[str, Endpoint], cases: int, rows: int
) -> RanOn:
    choice = configuration.dataset
    return RanOn(
        code_version=code_version(),
        cases=cases,
        rows=rows,
        slice=choice.slice_text(configuration.seed) if choice else "",
        scorers={scorer.name: SCORERS[scorer.name].version for scorer in configuration.scorers},
        limits=configuration.limits.model_dump(),
        endpoints={
            name: facts_of_endpoint(endpoints[name])
            for name in sorted({model.endpoint for model in configuration.every_model})
        },
    )


def facts_of_endpoint(endpoint: Endpoint) -> EndpointFacts:
    return EndpointFacts(
        kind=endpoint.kind,
        host=urlsplit(endpoint.base_url).netloc,
        max_concurrent=endpoint.max_concurrent,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
        adaptive=endpoint.adaptive,
        prices=endpoint.prices,
    )


def ran_on(run: Run) -> RanOn:
    """Of a run with its dataset. Runs of earlier versions kept less: their cases are counted."""
    if "cases" in run.snapshot_of:
        return RanOn.model_validate(run.snapshot_of)
    choice = choice_of(run)
    counted = {
        "cases": len(positions_of(run)),
        "rows": run.dataset.rows,
        "slice": choice.slice_text(run.seed) if choice else "",
    }
    return RanOn.model_validate({**run.snapshot_of, **counted})
