"""What is wrong with a pipeline is said before it runs, at its place."""

import pytest

from tests.engine.installed_agents import HERE, ROUTED, ROUTER, agent, chat
from tests.engine.running import run_document
from tests.harness.table import table
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.plugins import PLUGINS, PluginError, install_plugins
from workers.engine.records import Score
from workers.engine.spec.checks import check_against


@pytest.fixture(autouse=True)
def installed():
    install_plugins([HERE])
    yield
    PLUGINS.clear()


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
    with pytest.raises(ConfigurationError) as caught:
        read_configuration({**selection, "steps": steps})
    assert [problem.path for problem in caught.value.problems] == [path]
    assert told in caught.value.problems[0].message


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
    configuration = read_configuration({**selection, "steps": [step]})
    columns = ["question", "expected"]
    with pytest.raises(ConfigurationError) as caught:
        check_against(configuration, endpoints={"simulated": ()}, columns=columns, cases=2)
    problems = {problem.path: problem.message for problem in caught.value.problems}
    assert told in problems[f"steps.0.{path}"]


async def test_an_agent_that_is_gone_fails_its_trials(simulator, selection, cases):
    selection["steps"] = [agent("fans_out")]
    PLUGINS.clear()
    scores: list[Score] = await run_document(selection, cases[:2], simulator.url)
    assert {score.error for score in scores} == {"agent_error"}
    assert "EVALSITE_PLUGINS" in scores[0].message


@table(
    ("no_such_package.agents", "is not there. Install the package of 'no_such_package'"),
    (f"{HERE}.nothing", "is not there"),
    ("workers.engine.records", "has no __all__"),
)
def test_a_plugin_that_is_not_there_stops_the_start(name, told):
    with pytest.raises(PluginError, match="EVALSITE_PLUGINS") as caught:
        install_plugins([name])
    assert told in str(caught.value)


def test_one_object_may_be_named_alone():
    PLUGINS.clear()
    install_plugins([f"{HERE}.Chain"])
    assert list(PLUGINS) == [f"{HERE}.Chain"]
