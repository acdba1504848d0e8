"""Pipelines of chat calls, routers and agents, end to end in one process."""

import asyncio
import threading

import pytest

from tests.engine.installed_agents import HERE, LARGE, ROUTED, ROUTER, TERSE, agent, chat
from tests.engine.running import run_document, table_of
from tests.engine.test_spec import problems_beside, problems_of
from tests.harness.table import table
from tests.simulator.calls import until
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.kinds import read_configuration
from workers.engine.kinds.select import Selection
from workers.engine.kinds.select.routing import pick_route
from workers.engine.plugins import PLUGINS, PluginError, install_plugins
from workers.engine.records import Case, Score


@pytest.fixture(autouse=True)
def installed():
    install_plugins([HERE])
    yield
    PLUGINS.clear()


def level(position, level, expected):
    return Case(position, {"level": str(level), "question": "7", "expected": str(expected)})


async def test_a_router_picks_the_step_that_answers_or_takes_the_default(simulator, selection):
    cases = [level(0, 1, 1007), level(1, 2, 1107)]
    scores = await run_document({**selection, "steps": ROUTED}, cases, simulator.url)
    assert [score.value for score in scores] == [1.0, 1.0]
    taken = [[call.step for call in score.calls] for score in scores]
    assert taken == [["triage", "easy", "last"], ["triage", "hard", "last"]]
    for score in scores:
        assert score.latency_ms == pytest.approx(sum(call.latency_ms for call in score.calls))
        assert score.calls_sent + sum(one.what != "call" for one in score.attempts) == 3
    # An answer that no route knows.
    cases = [level(0, 3, 1107)]
    [score] = await run_document({**selection, "steps": ROUTED}, cases, simulator.url)
    assert (score.error, score.value) == ("no_route", None)
    assert "(1, 2)" in score.message
    steps = [{**ROUTER, "default": "hard"}, *ROUTED[1:]]
    [score] = await run_document({**selection, "steps": steps}, cases, simulator.url)
    assert score.value == 1.0


@table(
    ("easy", "quick"),
    (" **Easy.** ", "quick"),
    ("This one is very hard, I think.", "slow"),
    ("uneasy", "other"),
    ("Easy or hard?", "other"),
    ("", "other"),
    ("c++", "slow"),
)
def test_answers_are_matched_by_words(answer, step):
    routes = {"easy": "quick", "hard": "slow", "very hard": "slow", "c++": "slow"}
    assert pick_route({"name": "triage", "routes": routes, "default": "other"}, answer) == step


@pytest.mark.parametrize("cap", [1, 4])
@pytest.mark.parametrize("name", ["fans_out", "fans_out_plainly"])
async def test_calls_of_agents_take_slots_not_the_trials(simulator, selection, cases, name, cap):
    simulator.change(latency_ms=5 if cap > 1 else 1, gather=cap)
    selection["limits"] = {**selection["limits"], "max_concurrent": cap}
    selection["steps"] = [agent(name, options={"width": 5})]
    scores = await run_document(selection, cases[:6], simulator.url)
    assert not any(score.error for score in scores)
    assert simulator.ledger()["peak_in_flight"] == cap
    assert simulator.ledger()["total"] == 30
    assert [score.calls_sent for score in scores] == [5] * 6


async def test_each_call_is_noted_with_its_step_and_can_be_stored(simulator, selection, cases):
    calls = [chat("plan", "{{question}}"), chat("solve", "What is {{plan}} + 0?")]
    selection["steps"] = [{"name": "duo", "agent": f"{HERE}.Chain", "calls": calls}]
    [score] = await run_document(selection, cases[:1], simulator.url)
    plan, solve = score.calls
    assert (plan.step, solve.step) == ("duo.plan", "duo.solve")
    assert [attempt.step for attempt in score.attempts] == ["duo.plan", "duo.solve"]
    assert solve.model == LARGE
    assert [one["role"] for one in solve.prompt] == ["system", "user"]
    assert [one["content"] for one in solve.prompt] == [TERSE, f"What is {plan.answer} + 0?"]
    assert score.answer == solve.answer
    assert score.tokens_in == (plan.tokens_in or 0) + (solve.tokens_in or 0)
    # Also what no database would take.
    selection["steps"] = [agent("mumbles")]
    [score] = await run_document(selection, cases[:1], simulator.url)
    assert score.answer == "\ufffd? 42"
    assert score.calls[0].prompt[1]["content"] == "What is 1 + 1? \ufffd"


SCORED_ALL_THE_SAME = {"answers": {"score_truncated": True}}
SHORT = {"endpoint": "simulated", "model": "sim-large", "parameters": {"max_tokens": 1}}


@table("easy", "last")
async def test_a_pipeline_fails_at_the_step_whose_answer_was_cut(simulator, selection, cut):
    """Where cut answers are scored, it counts as cut only if its last answer was."""
    selection["steps"] = [
        {**step, "system": "", "models": [SHORT]} if step["name"] == cut else step
        for step in ROUTED
    ]
    [score] = await run_document(selection, [level(0, 1, 1)], simulator.url)
    assert (score.error, score.value, score.truncated) == ("truncated", None, True)
    assert score.message == f"Step {cut}: The answer was cut off at max_tokens = 1."
    assert (score.tokens_out, score.latency_ms) == (None, None)  # those of a step are with its call
    last = score.calls[-1]
    assert (last.step, last.error, last.answer) == (cut, "truncated", score.answer)
    assert score.answer
    [score] = await run_document(selection | SCORED_ALL_THE_SAME, [level(0, 1, 1)], simulator.url)
    assert [call.step for call in score.calls if call.truncated] == [cut]
    assert score.value is not None
    assert score.truncated == (cut == "last")


async def test_an_agent_is_cut_if_one_of_its_answers_was(simulator, selection):
    draft = {"name": "draft", "user": "{{question}}", "models": [SHORT]}
    steps = [{"name": "solver", "agent": "self_consistency", "calls": [draft]}]
    document = {**selection, "steps": steps}
    [failed] = await run_document(document, [level(0, 1, 7)], simulator.url)
    assert (failed.error, len(failed.calls)) == ("truncated", 5)
    [score] = await run_document(document | SCORED_ALL_THE_SAME, [level(0, 1, 7)], simulator.url)
    assert (score.error, len(score.calls), score.truncated) == ("", 5, True)


async def test_calls_at_once_take_the_longest_time_and_cached_ones_cost_nothing(
    simulator, selection, cases
):
    """Calls in a row take the time of all."""
    simulator.change(latency_ms=30)
    prices = {("simulated", "sim-large"): Price(1.0, 2.0)}
    for name, together in (("fans_out", True), ("fans_out_plainly", False)):
        selection["steps"] = [chat("planner", "Plan: {{question}}"), agent(name)]
        cache = MemoryCache()
        [fresh] = await run_document(selection, cases[:1], simulator.url, cache, prices)
        [cached] = await run_document(selection, cases[:1], simulator.url, cache, prices)
        first, *times = [call.latency_ms or 0.0 for call in fresh.calls]
        expected = first + (max(times) if together else sum(times))
        assert fresh.latency_ms == cached.latency_ms == pytest.approx(expected)
        assert (cached.cached, cached.calls_sent, cached.cost) == (True, 0, 0.0)
        assert fresh.cost == pytest.approx(sum(call.full_cost or 0.0 for call in fresh.calls))
        assert fresh.full_cost == cached.full_cost == cached.cost_saved == pytest.approx(fresh.cost)
    [unknown] = await run_document(selection, cases[:1], simulator.url, cache)
    assert unknown.full_cost is None


async def test_a_sample_is_a_call_of_its_own_and_is_cached_as_such(simulator, selection, cases):
    selection["steps"] = [{**agent(""), "agent": "self_consistency", "options": {"samples": 3}}]
    cache = MemoryCache()
    first = await run_document(selection, cases, simulator.url, cache)
    assert simulator.ledger()["total"] == len(cache.replies) == 3 * len(cases)
    assert table_of(first) == table_of(await run_document(selection, cases, simulator.url, cache))
    assert simulator.ledger()["total"] == 3 * len(cases)


@table(
    ("raises", "KeyError: 'no such thing'"),
    ("raises half a character", "ValueError: \ufffd and ?"),
    ("exits", "SystemExit(3)"),
    ("calls what is not there", "It called 'nothing'. It has: draft."),
    ("asks for ever", "more than 100 calls"),
    ("gives a number", "It answered with int"),
)
async def test_an_agent_that_fails_is_an_error_and_no_zero(simulator, selection, cases, how, told):
    selection["steps"] = [agent("misbehaves", options={"how": how})]
    [score] = await run_document(selection, cases[:1], simulator.url)
    assert (score.error, score.value) == ("agent_error", None)
    assert told in score.message
    assert score.calls_sent == 1  # and it stays counted


@table(*((name, "timeout") for name in ("hangs", "sleeps", "burns")), ("cancels", "agent_error"))
async def test_an_agent_that_is_stuck_ends_with_its_trial(simulator, selection, cases, name, error):
    before = agent_threads()
    seconds = 0.2 if error == "timeout" else 60
    selection["limits"] = {**selection["limits"], "timeout_seconds": seconds}
    selection["steps"] = [agent(name)]
    scores = await run_document(selection, cases[:3], simulator.url)
    assert [score.error for score in scores] == [error] * 3
    if name == "burns":  # a plain one that computes; one that sleeps cannot be interrupted
        await until(lambda: agent_threads() <= before)


@pytest.mark.late
async def test_an_agent_that_never_awaits_fails_its_own_trial_only(simulator, selection):
    rows = [Case(n, {"question": f"What is {n} + 1?", "expected": str(n + 1)}) for n in range(3)]
    selection["steps"] = [agent("spins")]
    scores = await run_document(selection, rows, simulator.url)
    by_case = {score.trial.case: score for score in scores}
    assert [by_case[number].error for number in range(3)] == ["", "agent_error", ""]
    assert by_case[1].message.startswith("It kept the worker for more than 5 s without awaiting")


async def test_calls_an_agent_does_not_wait_for_are_counted_if_sent(simulator, selection, cases):
    simulator.change(gather=3)  # all of them are sent before one is answered
    simulator.play({"times": 1, "do": "pass"}, {"times": None, "do": "hang"})
    selection["limits"] = {**selection["limits"], "timeout_seconds": 60}
    selection["steps"] = [agent("races")]
    prices = {("simulated", "sim-large"): Price(1.0, 2.0)}
    [score] = await run_document(selection, cases[:1], simulator.url, prices=prices)
    assert sorted(call.error for call in score.calls) == ["", "cancelled", "cancelled"]
    assert (score.error, score.calls_sent, score.unpriced) == ("", 3, 2)


@table("fans_out", "fans_out_plainly", "hangs")
async def test_a_run_that_is_cancelled_leaves_nothing_behind(simulator, selection, cases, name):
    simulator.change(latency_ms=60_000)
    selection["limits"] = {**selection["limits"], "timeout_seconds": 600}
    selection["steps"] = [agent(name)]
    before = agent_threads()  # of a test before: agents that sleep for ever
    run = asyncio.create_task(run_document(selection, cases, simulator.url))
    await until(lambda: simulator.ledger()["in_flight"] == 8)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await until(lambda: simulator.ledger()["in_flight"] == 0)
    await until(lambda: agent_threads() <= before)


def agent_threads():
    return {thread for thread in threading.enumerate() if thread.name == "thread-lane"}


async def test_a_call_that_fails_fails_its_trial_and_the_others_count(simulator, selection, cases):
    simulator.change(latency_ms=50, gather=4)  # all of them are sent before one is answered
    simulator.play({"match": {}, "times": 1, "do": "status", "status": 400})
    selection["steps"] = [agent("fans_out", options={"width": 4})]
    [score] = await run_document(selection, cases[:1], simulator.url)
    assert score.error == "refused"
    assert score.calls_sent == simulator.ledger()["total"] == 4
    assert sorted(call.error for call in score.calls) == ["", "", "", "refused"]


async def test_combinations_cover_the_calls_of_agents(selection):
    calls = [chat("draft", "{{question}}", "simulated/sim-small", LARGE)]
    hot = {"endpoint": "simulated", "model": "sim-large", "parameters": {"temperature": 1}}
    planner = chat("planner", "{{question}}", LARGE, hot)
    selection["steps"] = [planner, {**agent("fans_out"), "calls": calls}]
    candidates = read_configuration(selection).make_candidates()
    assert [candidate.name for candidate in candidates] == [
        f"planner={LARGE}{parameters} + solver.draft={model}"
        for parameters in ("", ' {"temperature":1}')
        for model in ("simulated/sim-small", LARGE)
    ]
    called = Selection.models_called(candidates[0].document)
    assert [one["model"] for one in called] == ["sim-large", "sim-small"]


BACK = chat("back", "{{question}}", routes={"x": "easy"})


def spoilt(**change):
    return [{**ROUTER, **change}, *ROUTED[1:]]


@table(
    (spoilt(routes={"1": "nowhere"}), "steps.0.routes.1", "Later steps are: easy, hard, last."),
    (spoilt(routes={"1": "triage"}), "steps.0.routes.1", "no later step 'triage'"),
    (spoilt(default="nowhere"), "steps.0.default", "no later step 'nowhere'"),
    (spoilt(routes={}, default="easy"), "steps.0.default", "with routes"),
    ([*ROUTED[:3], BACK], "steps.3.routes.x", "none; write them after"),
    ([ROUTED[1], ROUTED[1]], "steps.1.name", "another one too"),
    ([chat("solver.draft", "x"), agent("fans_out")], "steps.1.calls.0.name", "another one too"),
    ([{**ROUTED[1], "tool": []}], "steps.0.tool", "Allowed here: name, system, user, messages"),
    ([{**agent("Chain"), "user": "x"}], "steps.0.user", "Allowed here: name, agent, options"),
    ([{"name": "planner"}], "steps.0.models", "needed"),
    ([{"name": "planner", "agent": "x"}], "steps.0.calls", "needed"),
)
def test_problems_of_the_flow_are_named(selection, steps, path, told):
    found = problems_of({**selection, "steps": steps})
    assert list(found) == [path]
    assert told in found[path]


def fanning(**options):
    return agent("fans_out", options=options)


PLANLESS = {**agent("fans_out"), "calls": [chat("draft", "{{plan}}")]}


@table(
    ({**agent(""), "agent": "os.system"}, "agent", "one of: self_consistency, tests."),
    (fanning(width="x"), "options", "width: Input should be a valid integer"),
    (fanning(deep=1), "options", "has no option 'deep'. It takes: width."),
    (agent("misbehaves"), "options", "how: Field required"),
    (agent("Chain"), "calls", "also calls plan, solve"),
    (agent("Chain"), "calls.0.name", "It calls: plan, solve."),
    (PLANLESS, "calls.0.user", "{{plan}} is not a column"),
)
def test_problems_with_agents_are_named(selection, step, path, told):
    assert told in problems_beside({**selection, "steps": [step]})[f"steps.0.{path}"]


async def test_an_agent_that_is_gone_fails_its_trials(simulator, selection, cases):
    selection["steps"] = [agent("fans_out")]
    PLUGINS.clear()
    scores: list[Score] = await run_document(selection, cases[:2], simulator.url)
    assert {score.error for score in scores} == {"agent_error"}
    assert "EVALSITE_PLUGINS" in scores[0].message


def test_a_plugin_that_is_not_there_stops_the_start_and_one_object_may_be_named_alone():
    absent = "is not there. Install the package of 'no_such_package'"
    wrong = {"no_such_package.agents": absent, f"{HERE}.nothing": "is not there"}
    for name, told in {**wrong, "workers.engine.records": "has no __all__"}.items():
        with pytest.raises(PluginError, match="EVALSITE_PLUGINS") as caught:
            install_plugins([name])
        assert told in str(caught.value)
    PLUGINS.clear()
    install_plugins([f"{HERE}.Chain"])
    assert list(PLUGINS) == [f"{HERE}.Chain"]
