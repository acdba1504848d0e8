"""Parallel maps keep order and lose nothing; critics score and rank in order."""

import asyncio
import threading
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.running import evaluation, run_document
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from workers.engine.calling.prices import Price
from workers.engine.critic import Critic, answer_queries, fitness_of
from workers.engine.errors import Refused, ScorerFailed
from workers.engine.models_here import Endpoint, Models
from workers.engine.parallel import (
    CandidateResponse,
    ParallelError,
    generate_candidates,
    generate_candidates_parallel,
    map_parallel,
    run_parallel,
    score_batch_parallel,
)
from workers.engine.records import Case


class Crowd:
    """Counts how many calls are inside at once; lets them go when `wanted` have come."""

    def __init__(self, wanted):
        self.together = threading.Barrier(wanted)
        self.lock = threading.Lock()
        self.inside = self.peak = 0

    def visit(self, item):
        with self.lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)
        self.together.wait(timeout=PATIENCE_SECONDS)
        with self.lock:
            self.inside -= 1
        return item


@dataclass
class Model:
    """A model that answers with what it was asked, and remembers the calls."""

    calls: list[Any] = field(default_factory=list)

    def complete(self, prompt, *, max_tokens, temperature, **options):
        self.calls.append((prompt, max_tokens, temperature, options))
        if "broken" in prompt:
            raise ConnectionError("gone")
        return f"<{prompt}>"


@table(*product([[], [1], list(range(20))], [None, 0, 1, 2, 50]))
def test_results_come_in_the_order_of_the_items(items, workers):
    assert map_parallel(lambda item: item * 2, items, workers) == [item * 2 for item in items]


def test_results_keep_their_place_when_the_last_item_finishes_first():
    last_is_done = threading.Event()

    def work(item):
        if item == 2:
            last_is_done.set()
        else:
            assert last_is_done.wait(timeout=PATIENCE_SECONDS)
        return item

    assert map_parallel(work, [0, 1, 2], max_workers=3) == [0, 1, 2]


def test_none_is_a_result_like_any_other_and_items_are_spread_over_the_arguments():
    assert map_parallel(lambda item: None, [1, 2, 3]) == [None, None, None]
    assert run_parallel(lambda a, b: a if a == b else None, [(1, 1), (1, 2)]) == [1, None]
    assert run_parallel(lambda a, b=0: a - b, [(5, 3), [4, 1], (7,)]) == [2, 3, 7]
    items = [("p", "q", "r" * length) for length in range(6)]
    assert score_batch_parallel(lambda p, q, r: len(p + q + r), items) == [2, 3, 4, 5, 6, 7]


@table(
    row(8, None, 4, id="at most four by default"),
    row(8, 0, 4, id="zero means the default"),
    row(3, None, 3, id="no more than there are items"),
    row(12, 6, 6, id="as many as asked for"),
    row(4, 1, 1, id="one after the other"),
)
def test_so_many_run_at_once(items, workers, at_once):
    crowd = Crowd(wanted=at_once)
    assert map_parallel(crowd.visit, range(items), workers) == list(range(items))
    assert crowd.peak == at_once


def divide(item):
    return 10 // item


def test_one_failure_does_not_lose_the_others():
    with pytest.raises(ParallelError) as error:
        map_parallel(divide, [1, 0, 5, 0, 10], max_workers=2)
    results = error.value.results
    assert [results[0], results[2], results[4]] == [10, 2, 1]
    assert [failure.position for failure in error.value.failures] == [1, 3]
    assert all(isinstance(failure.error, ZeroDivisionError) for failure in error.value.failures)
    assert results[1] is error.value.failures[0].error
    assert "2 of 5 items failed; the first was item 1 with ZeroDivisionError" in str(error.value)
    # Failures can be returned in their places.
    first, gap, last = map_parallel(divide, [1, 0, 5], on_error="return")
    assert (first, type(gap), last) == (10, ZeroDivisionError, 2)
    # Every item is tried, also after a failure.
    tried = []

    def work(item):
        tried.append(item)
        raise ValueError(item)

    with pytest.raises(ParallelError) as error:
        map_parallel(work, range(10), max_workers=1)
    assert tried == list(range(10))
    assert len(error.value.failures) == 10


@table(generate_candidates, generate_candidates_parallel)
def test_one_response_per_system_prompt_in_their_order(generate):
    model, prompts = Model(), [f"Prompt {number}" for number in range(9)]
    responses = generate(model, prompts, "Why?", temperature=0.1, top_p=0.5)
    answers = [f"<{prompt}\n\nUser: Why?>" for prompt in prompts]
    given = zip(answers, prompts, range(9), answers, strict=True)
    assert responses == [CandidateResponse(*one) for one in given]
    assert {call[1:3] for call in model.calls} == {(512, 0.1)}
    assert all(call[3] == {"top_p": 0.5} for call in model.calls)
    # A call that fails leaves the other responses.
    with pytest.raises(ParallelError) as error:
        generate(Model(), ["a", "broken", "c"], "?")
    assert [failure.position for failure in error.value.failures] == [1]
    assert [error.value.results[place].system_prompt for place in (0, 2)] == ["a", "c"]


class CrowdedModel(Crowd):
    def complete(self, prompt, **options):
        return self.visit(prompt)


def test_generation_is_parallel_only_where_asked():
    together, alone = CrowdedModel(wanted=3), CrowdedModel(wanted=1)
    generate_candidates_parallel(together, ["a", "b", "c"], "?", max_workers=3)
    generate_candidates(alone, ["a", "b", "c"], "?")
    assert (together.peak, alone.peak) == (3, 1)
    # An answer may be an object with a text.
    answer = SimpleNamespace(text="42")
    model = SimpleNamespace(complete=lambda prompt, **options: answer)
    (response,) = generate_candidates(model, ["a"], "?")
    assert (response.text, response.raw) == ("42", answer)


@table(({"on_error": "ignore"}, "Choose one of: raise, return"), ({"max_workers": -1}, "1 or more"))
def test_a_wrong_option_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        map_parallel(divide, [1], **options)


RUBRIC = {"rubric": {"judge": "simulated/sim-large", "rubric": "The number is right."}}
SMALL = "simulated/sim-small"
PROMPT = "Answer with the number only."
TRIPLES = [(PROMPT, f"What is {n} + 25?", str(n + 25 + n % 2)) for n in range(12)]
NEVER = {"do": "status", "status": 400, "times": None}


@pytest.fixture
def models(simulator):
    endpoints = {"simulated": Endpoint(f"{simulator.url}/v1", kind="simulated")}
    prices = {("simulated", "sim-large"): Price(2.5, 10.0)}
    with Models(endpoints, max_concurrent=4, attempts=1, prices=prices) as models:
        yield models


def test_triples_are_scored_in_their_order(models, simulator):
    simulator.change(latency_ms=5, gather=4)
    critic = Critic(models, RUBRIC)
    scores = critic.score_batch_parallel(TRIPLES)
    assert [(score or 0) > 0.5 for score in scores] == [True, False] * 6
    assert not scores.errors
    assert (models.calls_sent, simulator.ledger()["peak_in_flight"]) == (12, 4)
    assert models.cost > 0
    # Equal calls are made once, whoever asks.
    assert critic.score_batch(TRIPLES) == scores
    assert score_batch_parallel(critic.score, TRIPLES, 4) == scores
    assert Critic(models, RUBRIC).score(*TRIPLES[0]) == scores[0]
    assert critic.judge(*TRIPLES[0]).reason == "It says what was expected."
    assert models.calls_sent == 12


def test_what_fails_is_none_and_its_error_is_kept(models, simulator):
    simulator.play({**NEVER, "match": {"contains": "What is 3 + 25?"}})
    scores = Critic(models, RUBRIC).score_batch_parallel([*TRIPLES, (PROMPT, "Hm?", None)])
    assert [place for place, score in enumerate(scores) if score is None] == [3, 12]
    assert list(scores.errors) == [12, 3]  # one that never had a response fails at once
    assert isinstance(scores.errors[3], Refused)
    assert isinstance(scores.errors[12], ScorerFailed)
    with pytest.raises(Refused):
        Critic(models, RUBRIC).score(*TRIPLES[3])


def test_so_many_are_scored_at_once(models, simulator):
    simulator.change(latency_ms=5, gather=2)
    critic = Critic(models, RUBRIC)
    critic.score_batch_parallel(TRIPLES[:6], max_workers=2)
    assert simulator.ledger()["peak_in_flight"] == 2
    simulator.reset()
    simulator.change(gather=None)
    critic.score_batch(TRIPLES[6:])
    assert simulator.ledger()["peak_in_flight"] == 1
    assert critic.score_batch_parallel([]) == []
    with pytest.raises(ValueError, match=r"max_workers is -1\. Give 1 or more"):
        critic.score_batch_parallel(TRIPLES, max_workers=-1)


PROMPTS = ["You have no time. Answer with your first guess.", PROMPT, "Think step by step."]
QUERIES = [f"What is {n} * 12?" for n in range(11, 19)]


def test_prompts_answer_each_query_in_their_order_or_have_no_fitness(models, simulator):
    simulator.play({**NEVER, "match": {"contains": "first guess"}})
    answers = answer_queries(models, SMALL, PROMPTS, QUERIES)
    assert len(answers) == len(QUERIES)
    for answered in answers:
        assert answered[0] is None
        assert list(answered.errors) == [0]
        told = [(one.prompt_index, one.system_prompt) for one in answered[1:] if one]
        assert told == [(1, PROMPTS[1]), (2, PROMPTS[2])]
    assert simulator.ledger()["peak_in_flight"] <= 4
    # A prompt of which all fails has no fitness.
    simulator.play({**NEVER, "match": {"model": "sim-small"}})
    (found,) = fitness_of(Critic(models, RUBRIC), models, SMALL, PROMPTS[:1], QUERIES)
    assert (found.mean, found.failed) == (None, len(QUERIES))


def test_fitness_is_the_mean_of_what_was_scored(models, simulator):
    simulator.play(
        {**NEVER, "match": {"model": "sim-small", "contains": QUERIES[0]}},
        {**NEVER, "match": {"model": "sim-large", "contains": QUERIES[1]}},
    )
    found = fitness_of(Critic(models, RUBRIC), models, SMALL, PROMPTS, QUERIES)
    assert [one.system_prompt for one in found] == PROMPTS
    for one in found:
        assert (one.scores[:2], one.failed) == ([None, None], 2)
        known = [score for score in one.scores if score is not None]
        assert one.mean == pytest.approx(sum(known) / len(QUERIES[2:]))
        assert one.responses[0] is None
        assert isinstance(one.responses.errors[0], Refused)
    assert (found[0].mean or 0) < (found[2].mean or 0)
    assert simulator.ledger()["by_model"] == {"sim-small": 24, "sim-large": 21}


def test_expected_answers_reach_the_critic(models):
    critic = Critic(models, {"factuality": {"judge": "simulated/sim-large"}})
    assert critic.score("", "Who?", "Ada", "Ada") == 1.0
    assert critic.score("", "Who?", "Bob", "Ada") == 0.0
    with pytest.raises(ScorerFailed, match="has no field `expected`"):
        critic.score("", "Who?", "Ada")
    right = [str(n * 12) for n in range(11, 19)]
    (found,) = fitness_of(critic, models, "simulated/sim-large", PROMPTS[2:], QUERIES, right)
    assert found.failed == 0
    with pytest.raises(ValueError, match="expected has 1 answers for 8 queries"):
        fitness_of(critic, models, SMALL, PROMPTS, QUERIES, ["1"])


async def test_it_works_inside_a_running_loop_as_a_run_does(models, simulator):
    """As in a notebook. The same critic in a run says the same."""
    (score,) = Critic(models, RUBRIC).score_batch([TRIPLES[0]])
    assert asyncio.get_running_loop().is_running()
    document = evaluation(RUBRIC, prompts=[{"name": "p", "user": "{{query}}"}])
    prompt, query, response = TRIPLES[0]
    simulator.play({"match": {"model": "sim-small"}, "do": "answer", "answer": response})
    case = Case(0, {"system_prompt": prompt, "query": query})
    (in_run,) = await run_document(document, [case], simulator.url)
    assert in_run.value == score


def test_a_critic_that_cannot_judge_and_an_endpoint_that_is_not_there_are_refused(models):
    wrong: list[tuple[Any, str]] = [
        ("exact", "The scorer exact asks no model. Choose one of: "),
        ({"rubric": {"judge": "sim-large"}}, "has no endpoint"),
        ("none", "Unknown scorer 'none'"),
    ]
    for scorer, message in wrong:
        with pytest.raises(ValueError, match=message):
            Critic(models, scorer)
    away = Critic(models, {"rubric": {"judge": "nowhere/x", "rubric": "x"}})
    with pytest.raises(Refused, match=r"no endpoint 'nowhere'\. These are there: simulated"):
        away.score("", "?", "!")
    with pytest.raises(ValueError, match="Unknown kind of endpoint: soap"):
        Models({"x": Endpoint("http://x", kind="soap")})
