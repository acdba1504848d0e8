"""Kind `select` end to end in one process, over real HTTP."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.engine.running import run_document, table_of
from workers.engine.calling.cache import MemoryCache
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.select import Selection
from workers.engine.kinds.select.strategy_choice import StrategyChoice
from workers.engine.records import Case, Score
from workers.engine.session import Session
from workers.engine.spec.checks import check_against
from workers.engine.strategies import SELECTIONS, Rounds
from workers.simulator.testing import SimulatorClient

MODELS = ["simulated/sim-small", "simulated/sim-large"]


@pytest.fixture
def selection(document: dict[str, Any]) -> dict[str, Any]:
    """A planner that finds the number, and a solver that repeats it."""
    common = {name: document[name] for name in ("name", "seed", "dataset", "scorers", "limits")}
    terse = "Answer with the number only."
    return {
        **common,
        "kind": "select",
        "steps": [
            {"name": "planner", "system": terse, "user": "{{question}}", "models": MODELS},
            {
                "name": "solver",
                "system": terse,
                "user": "What is {{planner}} + 0?",
                "models": MODELS,
            },
        ],
        "strategy": {"name": "arm_elimination", "confidence": 1.0},
    }


def replay(document: dict[str, Any], cases: int, scores: list[Score]) -> Rounds[Any]:
    configuration = read_configuration(document)
    assert isinstance(configuration, Selection)
    strategy = configuration.open_strategy(cases)
    session = Session(strategy)
    session.replay(len(scores), scores)
    assert session.plan(1000) == []
    return strategy


def test_combinations_are_the_product_in_order(selection: dict[str, Any]) -> None:
    names = [candidate.name for candidate in read_configuration(selection).make_candidates()]
    assert names == [f"planner={one} + solver={other}" for one in MODELS for other in MODELS]


def test_parameters_make_another_choice(selection: dict[str, Any]) -> None:
    hot = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 1.0}}
    selection["steps"][0]["models"] = ["simulated/sim-small", hot]
    candidates = read_configuration(selection).make_candidates()
    assert len({candidate.name for candidate in candidates}) == len(candidates) == 4


async def test_a_later_step_is_asked_with_the_earlier_answer(
    simulator: SimulatorClient, selection: dict[str, Any]
) -> None:
    cases = [Case(0, {"question": "What is 20 + 22?", "expected": "42"})]
    selection["steps"][1]["user"] = "Repeat: {{planner}} of {{question}}"
    selection["strategy"] = {"name": "brute_force"}
    cache = MemoryCache()
    await run_document(selection, cases, simulator.url, cache)
    # Two planners, and for each answer of theirs two solvers; equal calls fly once.
    assert simulator.ledger()["total"] == len(cache.replies) >= 4


@pytest.mark.parametrize("name", SELECTIONS)
async def test_parallel_gives_the_same_table_as_sequential(
    simulator: SimulatorClient, selection: dict[str, Any], cases: list[Case], name: str
) -> None:
    selection["strategy"] = {"name": name}
    parallel = await run_document(selection, cases, simulator.url)
    selection["limits"] = {**selection["limits"], "max_concurrent": 1}
    sequential = await run_document(selection, cases, simulator.url)
    assert table_of(parallel) == table_of(sequential)
    assert replay(selection, len(cases), parallel).best is not None


async def test_in_flight_never_exceeds_the_limit(
    simulator: SimulatorClient, selection: dict[str, Any], cases: list[Case]
) -> None:
    simulator.change(latency_ms=20, gather=3)
    selection["limits"] = {**selection["limits"], "max_concurrent": 3}
    selection["strategy"] = {"name": "brute_force"}  # the first round of others has two calls
    await run_document(selection, cases[:10], simulator.url)
    assert simulator.ledger()["peak_in_flight"] == 3


async def test_a_trial_takes_the_time_and_the_tokens_of_all_its_steps(
    simulator: SimulatorClient, selection: dict[str, Any], cases: list[Case]
) -> None:
    simulator.change(latency_ms=30)
    scores = await run_document(selection, cases[:2], simulator.url)
    assert all((score.latency_ms or 0) >= 60 for score in scores)
    assert all(score.calls_sent + sum(a.what != "call" for a in score.attempts) == 2
               for score in scores)  # fmt: skip


async def test_a_second_run_is_served_from_the_cache_with_the_same_latencies(
    simulator: SimulatorClient, selection: dict[str, Any], cases: list[Case]
) -> None:
    cache = MemoryCache()
    first = await run_document(selection, cases, simulator.url, cache)
    calls = simulator.ledger()["total"]
    second = await run_document(selection, cases, simulator.url, cache)
    assert simulator.ledger()["total"] == calls
    assert all(score.cached for score in second)
    assert table_of(first) == table_of(second)
    assert [score.latency_ms for score in first] == [score.latency_ms for score in second]


@pytest.mark.parametrize("name", ["arm_elimination", "paired_elimination", "matrix_ucb"])
async def test_a_model_that_always_fails_ends_the_run_and_does_not_win(
    simulator: SimulatorClient, selection: dict[str, Any], cases: list[Case], name: str
) -> None:
    selection["steps"][1]["models"] = ["simulated/sim-small:400", "simulated/sim-large"]
    selection["strategy"] = {"name": name}
    strategy = replay(selection, len(cases), await run_document(selection, cases, simulator.url))
    assert strategy.best is not None
    assert "sim-large" in strategy.candidates[strategy.best].document["choices"]["solver"]


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"strategy": {"name": "luck"}}, "strategy", "Choose one of: arm_elimination"),
        (
            {"strategy": {"name": "brute_force", "epsilon": 1}},
            "strategy",
            "has no option 'epsilon'",
        ),
        ({"steps": []}, "steps", "Add at least one step."),
        ({"prompts": []}, "prompts", "Allowed here: name, kind, seed"),
        ({"objective": {"lambda_cost": -1}}, "objective.lambda_cost", "greater than or equal to 0"),
        ({"objective": {"mode": "pareto", "lambda_cost": 1}}, "objective", "Leave lambda_cost"),
        (
            {"objective": {"mode": "pareto"}, "strategy": "bayesian"},
            "",
            "For the mode pareto choose one of: arm_elimination, paired_elimination, brute_force",
        ),
    ],
)
def test_problems_are_named(
    selection: dict[str, Any], change: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration({**selection, **change})
    [problem] = caught.value.problems
    assert problem.path == path
    assert message in problem.message


def test_a_step_may_name_columns_and_earlier_steps_only(selection: dict[str, Any]) -> None:
    selection["steps"][0]["user"] = "{{solver}} {{question}}"
    selection["steps"][1]["models"] = ["nowhere/model"]
    with pytest.raises(ConfigurationError) as caught:
        check_against(
            read_configuration(selection),
            endpoints={"simulated": ()},
            columns=["question", "expected"],
            cases=20,
        )
    paths = {problem.path for problem in caught.value.problems}
    assert paths == {"steps.0.user", "steps.1.models.0.endpoint"}


def test_options_of_a_strategy_stand_in_one_place() -> None:
    twice = {"name": "threshold", "threshold": 0.8, "options": {"threshold": 0.9}}
    with pytest.raises(ValidationError, match="not both"):
        StrategyChoice.model_validate(twice)
    for once in (
        {"name": "threshold", "threshold": 0.8},
        {"name": "threshold", "options": {"threshold": 0.8}},
    ):
        assert StrategyChoice.model_validate(once).options == {"threshold": 0.8}
    with pytest.raises(ValidationError, match="A strategy is"):
        StrategyChoice.model_validate({})
