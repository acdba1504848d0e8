"""Triples are scored and prompts ranked in order, through one throttle and cache, and what fails
is never a zero."""

import asyncio

import pytest

from tests.engine.running import evaluation, run_document
from tests.harness.table import table
from workers.engine.calling.prices import Price
from workers.engine.critic import Critic, answer_queries, fitness_of
from workers.engine.errors import Refused, ScorerFailed
from workers.engine.models_here import Endpoint, Models
from workers.engine.parallel import score_batch_parallel
from workers.engine.records import Case

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
    for row in answers:
        assert row[0] is None
        assert list(row.errors) == [0]
        told = [(one.prompt_index, one.system_prompt) for one in row[1:] if one]
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
    critic = Critic(models, RUBRIC)
    found = fitness_of(critic, models, SMALL, PROMPTS, QUERIES)
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


@table(
    ("exact", "The scorer exact asks no model. Choose one of: "),
    ({"rubric": {"judge": "sim-large"}}, "has no endpoint"),
    ("none", "Unknown scorer 'none'"),
)
def test_a_critic_that_cannot_judge_is_refused(models, scorer, message):
    with pytest.raises(ValueError, match=message):
        Critic(models, scorer)


def test_an_endpoint_that_is_not_there_is_refused(models):
    away = Critic(models, {"rubric": {"judge": "nowhere/x", "rubric": "x"}})
    with pytest.raises(Refused, match=r"no endpoint 'nowhere'\. These are there: simulated"):
        away.score("", "?", "!")
    with pytest.raises(ValueError, match="Unknown kind of endpoint: soap"):
        Models({"x": Endpoint("http://x", kind="soap")})
