"""`select_best` for notebooks: plain and async agents under a real cap."""

import asyncio
import math
import threading
from contextlib import contextmanager
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.engine import lane_work
from tests.engine.running import known
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from workers.engine.select_best import Answer, select_best

MODELS = {"planner": ["small", "large"], "solver": ["small", "large"]}
DATASET = [(number, number * 2) for number in range(24)]
HOT = ' {"temperature":1}'
SECONDS = 0.005  # of an agent's run: more could come in meanwhile than may


class Crowd:
    """Knows how many are there at once, and whether as many as wanted have been."""

    def __init__(self, wanted):
        self.wanted, self.inside, self.peak = wanted, 0, 0
        self.lock, self.is_full = threading.Lock(), threading.Event()

    @contextmanager
    def entered(self):
        with self.lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)
            if self.inside == self.wanted:
                self.is_full.set()
        yield
        with self.lock:
            self.inside -= 1


def answer(models, given):
    """The large solver is always right, the small one on every third; the planner is for show."""
    if models["solver"] == "large" or given % 3 == 0:
        return given * 2
    return -1


def make_agent(is_async, together=1):
    class Plain:
        crowd = Crowd(together)

        def __init__(self, models):
            self.models = models

        def run(self, given):
            with self.crowd.entered():
                self.crowd.is_full.wait(PATIENCE_SECONDS)
                threading.Event().wait(SECONDS)
            return answer(self.models, given)

    class Async(Plain):
        async def run(self, given):
            with self.crowd.entered():
                while not self.crowd.is_full.is_set():  # noqa: ASYNC110 - threads wait for it, too
                    await asyncio.sleep(SECONDS)
                await asyncio.sleep(SECONDS)
            return answer(self.models, given)

    return Async if is_async else Plain


def is_right(expected, actual):
    return expected == actual


@table(*product([False, True], [1, 7, 96]))
def test_the_cap_holds_and_is_used(is_async, cap):
    """Up to all evaluations at once, also of plain agents."""
    agent = make_agent(is_async, together=cap)
    found = select_best(agent, MODELS, DATASET, is_right, "brute_force", max_concurrent=cap)
    assert agent.crowd.peak == cap
    assert found.evaluations == found.brute_force_evaluations == 96


def test_an_agent_and_its_judge_may_be_functions_plain_or_async():
    async def agent(models, given):
        return answer(models, given)

    async def judge(expected, actual):
        return float(expected == actual)

    for one, other in ((agent, is_right), (answer, judge), (agent, judge)):
        best = known(select_best(one, MODELS, DATASET, other).best)
        assert (best.choices["solver"], best.accuracy) == ("large", 1.0)


def test_what_agents_tell_of_their_price_and_time_weighs_as_asked():
    def agent(models, given):
        is_large = models["solver"] == "large"
        return Answer(answer(models, given), 0.03 if is_large else 0.01, 50.0 if is_large else 10.0)

    def chosen(**aims):
        found = select_best(agent, MODELS, DATASET, is_right, "brute_force", **aims)
        return known(found.best).choices["solver"], found

    solver, found = chosen()
    assert solver == "large"
    assert found.best.dollars_per_sample == pytest.approx(0.03)
    assert (found.best.latency_ms, found.dollars) == (50.0, pytest.approx(48 * 0.04))
    assert chosen(lambda_cost=2)[0] == chosen(lambda_latency=2)[0] == "small"


@table(False, True)
def test_parallel_chooses_as_sequential_does(is_async):
    chosen = []
    for how in (True, False):
        found = select_best(make_agent(is_async), MODELS, DATASET, is_right, seed=4, parallel=how)
        assert known(found.models)["solver"] == "large"
        chosen.append({row.name: (row.n, row.why) for row in found.rows})
    assert chosen[0] == chosen[1]


def test_who_was_given_up_says_when_and_why_and_the_rows_go_to_a_file(tmp_path):
    found = select_best(make_agent(True), MODELS, DATASET, is_right, "paired_elimination")
    gone = [row for row in found.rows if row.eliminated_in]
    assert {row.choices["solver"] for row in gone} == {"small"}
    assert all("worse than" in row.why for row in gone)
    assert found.evaluations < found.brute_force_evaluations
    found.to_csv(tmp_path / "found.csv")
    header, *lines = (tmp_path / "found.csv").read_text().splitlines()
    assert header.startswith("model_name,accuracy,latency_seconds,")
    assert header.endswith("planner,solver")
    assert len(lines) == 4


def test_an_agent_that_fails_is_data_and_does_not_win():
    class Frail(make_agent(True, 0)):  # type: ignore[misc]
        async def run(self, given):
            if self.models["solver"] == "large" and given:
                raise OSError("out of order")
            return answer(self.models, given)

    found = select_best(Frail, MODELS, DATASET, is_right, "brute_force")
    assert known(found.best).choices["solver"] == "small"
    assert found.errors == ["OSError: out of order"]
    assert {row.failed for row in found.rows} == {0, 23}


def test_what_is_no_score_is_an_error_and_no_accuracy():
    odd = {0: math.nan, 2: math.inf, 4: 5.0}

    async def judge(expected, actual):
        return odd.get(expected, expected == actual)

    found = select_best(make_agent(True), MODELS, DATASET, judge, "brute_force")
    told = [f"eval_fn gave {value}. A score is a number from 0 to 1" for value in odd.values()]
    assert {error.partition(", or")[0] for error in found.errors} == set(told)
    assert known(found.best).accuracy <= 1
    assert {row.failed for row in found.rows} == {3}


async def test_it_works_inside_a_running_loop_and_one_at_a_time():
    agent = make_agent(is_async=True)
    found = select_best(agent, MODELS, DATASET, is_right, mode="pareto", parallel=False)
    assert known(found.models)["solver"] == "large"  # the most accurate of the front
    assert agent.crowd.peak == 1


def test_models_may_be_objects_and_come_back_as_they_were_given():
    small, large = SimpleNamespace(name="small"), SimpleNamespace(name="large")

    def agent(models, given):
        return given * 2 if models["only"] is large else 0

    found = select_best(agent, {"only": [small, large]}, DATASET, is_right)
    assert (found.models, found.rows[0].name) == ({"only": large}, "only=large")
    # Models of the same name are told apart by their parameters.
    hot = {"model": "openai/gpt", "temperature": 1, "api_key": "secret"}
    given = {"only": ["gpt", {"model": "openai/gpt"}, hot, hot]}
    found = select_best(lambda models, given: 0, given, DATASET[:1], is_right, "brute_force")
    names = ["gpt", *(f"openai/gpt{more}" for more in ("", HOT, f"{HOT} (4)"))]
    assert sorted(row.choices["only"] for row in found.rows) == names


def test_the_best_goes_to_a_litellm_file(tmp_path):
    claude = {"model": "anthropic/claude", "temperature": 0, "api_key": "secret"}
    models: dict[str, list[Any]] = {"planner": ["gpt-mini"], "solver": [claude]}
    found = select_best(lambda models, given: given * 2, models, DATASET, is_right, "brute_force")
    found.export_config(tmp_path / "best.yaml")
    text = (tmp_path / "best.yaml").read_text()
    planner, solver = yaml.safe_load(text)["model_list"]
    assert planner["model_name"] == "planner"
    assert planner["litellm_params"]["model"] == "openai/gpt-mini"
    assert solver["litellm_params"] == {**claude, "api_key": "os.environ/ANTHROPIC_API_KEY"}
    assert solver["model_info"]["accuracy"] == 1.0
    assert "secret" not in text
    # There is none where nothing ever answered.
    found = select_best(lambda models: 0, MODELS, DATASET[:1], is_right)  # takes no input
    with pytest.raises(ValueError, match="none to write"):
        found.export_config(tmp_path / "best.yaml")


@table(
    ({"models": {"a": []}}, ValueError, "at least one of each"),
    ({"dataset": []}, ValueError, "at least one"),
    ({"dataset": [(1, 2, 3)]}, ValueError, "pairs"),
    ({"max_concurrent": 0}, ValueError, "Give 1 or more"),
    ({"method": "luck"}, ValueError, "Choose one of"),
    ({"method": "bayesian", "mode": "pareto"}, ValueError, "keep a front"),
    ({"mode": "cheap"}, ValueError, "'weighted' or 'pareto'"),
    ({"agent": 3}, TypeError, "agent is a class"),
)
def test_wrong_arguments_are_refused(change, error, told):
    given = {"agent": make_agent(True), "models": MODELS, "dataset": DATASET, "eval_fn": is_right}
    with pytest.raises(error, match=told):
        select_best(**{**given, **change})


@pytest.mark.late
def test_a_judge_that_never_ends_costs_its_own_evaluations():
    models, dataset = {"solver": ["small", "large"]}, [(given, given) for given in range(3)]
    judge = lane_work.judge_or_hang
    found = select_best(answer, models, dataset, judge, "brute_force", eval_seconds=10)
    assert found.evaluations == 6
    assert found.errors == ["No result within 10 s. Its process was ended."]
    assert [row.failed for row in found.rows] == [1, 1]
