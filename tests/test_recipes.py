"""The recipes of ARCHITECTURE.md lead where they say: toys are added as they tell, in process."""

import ast
import re
from dataclasses import replace
from inspect import unwrap
from pathlib import Path
from typing import Any, ClassVar

from runs.models import Endpoint
from runs.selectors.runs.snapshot import take_snapshot
from tests.engine import test_selections as contract
from tests.engine.running import evaluation
from tests.harness.factories import make_dataset, make_run
from tests.toy_things import Closing, Echo, FirstFew, Parrot
from workers.engine.agents import AGENTS
from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.plugins import PLUGINS, install_plugins
from workers.engine.providers import PROVIDERS
from workers.engine.records import Case
from workers.engine.registries import REGISTRIES
from workers.engine.scorers import SCORERS
from workers.engine.spec.checks import check_against
from workers.engine.strategies import SELECTIONS
from workers.engine.targets import ChatTarget, Target
from workers.wiring import build_provider

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
RECIPES = re.findall(
    r"^- \*\*(.+?)\*\*(.*?)(?=^- \*\*|\Z)",
    TEXT.split("## How to add …")[1].split("\n## ")[0],
    re.MULTILINE | re.DOTALL,
)
FOLDERS = "runs|workers|evalsite|static|templates|tests|docs|scripts"
CASES = [Case(place, {"question": f"{place} + 1", "expected": "+ 1"}) for place in range(3)]
EVALUATION = evaluation("exact", models=["parrot/polly"])
STEP = {"name": "say", "user": "{{question}}", "models": ["parrot/polly", "parrot/molly"]}
SELECTION = {"kind": "select", "dataset": "sums", "steps": [STEP], "scorers": ["exact"]}


def test_what_the_recipes_name_is_there_and_those_followed_here_are_among_them():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    missing = {}
    for name, recipe in RECIPES:
        named = re.findall(rf"(?<![\w/])((?:{FOLDERS})/[\w./-]*\w)", recipe)
        defined = re.findall(rf"`(\w+)`\s+in\s+`((?:{FOLDERS})/[\w./-]+)`", recipe)
        made = [word for line in re.findall(r"`make ([a-z -]+)`", recipe) for word in line.split()]
        missing[name] = [path for path in named if not (ROOT / path).exists()]
        missing[name] += [what for what, path in defined if what not in names_defined_in(path)]
        missing[name] += [target for target in made if target not in targets]
    assert {name: lacking for name, lacking in missing.items() if lacking} == {}
    known = {name.removeprefix("an ").removeprefix("a ") for name, _ in RECIPES}
    followed = {"scorer", "strategy", "agent", "plug-in", "provider", "target", "schedule"}
    assert followed <= known


def names_defined_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    classes = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = {node.name for node in ast.walk(tree) if isinstance(node, classes)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


async def scores_of(document):
    configuration = read_configuration(document)
    columns = ["question", "expected"]
    known: dict[str, tuple[str, ...]] = {"parrot": ()}
    check_against(configuration, endpoints=known, columns=columns, cases=len(CASES))
    scores = await run_here(configuration, CASES, {"parrot": Parrot()})
    return [score.value for score in scores]


async def test_a_scorer_judges_a_strategy_chooses_and_an_agent_runs(monkeypatch):
    monkeypatch.setitem(SCORERS.ours, "closing", Closing)
    assert await scores_of({**EVALUATION, "scorers": ["closing"]}) == [1.0, 1.0, 1.0]
    monkeypatch.setitem(SELECTIONS.ours, "first_few", FirstFew)
    strategy = {"name": "first_few", "few": 1}
    assert len(await scores_of({**SELECTION, "strategy": strategy})) == 2  # a case for each model
    monkeypatch.setitem(AGENTS.ours, "echo", Echo)
    step = {"name": "echo", "agent": "echo", "calls": [STEP]}
    found = await scores_of({**SELECTION, "steps": [step], "strategy": "brute_force"})
    assert found == [0.0] * 6


def test_a_strategy_keeps_the_contract(monkeypatch):
    monkeypatch.setitem(SELECTIONS.ours, "first_few", FirstFew)
    in_parallel = contract.test_the_same_seed_asks_the_same_trials_in_parallel_as_one_by_one
    unwrap(in_parallel)("first_few", 7)
    for keep in (
        contract.test_a_round_is_given_out_whole_before_any_of_it_is_told,
        contract.test_it_ends_whatever_fails_and_nothing_wins_that_always_does,
    ):
        unwrap(keep)("first_few")


def test_plugins_are_found_by_their_registries():
    try:
        install_plugins(["tests.toy_things"])
        taken = {one.word: [name for name in one if name in PLUGINS] for one in REGISTRIES}
    finally:
        PLUGINS.clear()
    assert taken == {
        "scorer": ["tests.toy_things.Closing"],
        "strategy": ["tests.toy_things.FirstFew"],
        "agent": ["tests.toy_things.Echo"],
        "evolution": [],
        "operator": ["tests.toy_things.Shorten"],
        "policy": [],
        "environment": [],
        "learner": [],
        "rewriting operator": [],
    }


def test_the_plugins_of_the_documents_are_some():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/PLUGINS.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "my_things"}
    exec(compile(code, "PLUGINS.md", "exec"), names)
    assert [one.word for one in REGISTRIES if one.takes(names["Shortness"])] == ["scorer"]
    assert [one.word for one in REGISTRIES if one.takes(names["FirstFew"])] == ["strategy"]
    judgement = names["Shortness"](words=2).judge("three words here", CASES[0])
    assert (judgement.name, judgement.passed) == ("Shortness", False)


async def test_a_provider_is_a_class_and_a_line_and_a_target_a_class_that_a_kind_names(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "parrot", Parrot)
    endpoint = Endpoint(name="parrot", kind="parrot", base_url="https://parrot.example")
    async with Client() as client:
        provider = build_provider(endpoint, client)
    configuration = read_configuration(EVALUATION)
    scores = await run_here(configuration, CASES, {"parrot": provider})
    assert [score.answer for score in scores] == [case.fields["question"] for case in CASES]

    class Shouting(ChatTarget):
        is_one_call: ClassVar[bool] = False

        async def answer(self, opening, candidate, case, repeat, ask):
            reply = await super().answer(opening, candidate, case, repeat, ask)
            return replace(reply, text=f"{reply.text}!")

    class Shouted(Evaluation):
        target: ClassVar[type[Target]] = Shouting

    configuration = Shouted.model_validate(EVALUATION)
    scores = await run_here(configuration, CASES[:1], {"parrot": Parrot()})
    assert scores[0].answer == "0 + 1!"


def test_every_number_that_a_page_waits_for_is_sent(alice, endpoint):
    snapshot = take_snapshot(make_run(alice, make_dataset(alice)))
    templates = [*ROOT.glob("templates/runs/run/*.html"), *ROOT.glob("templates/kinds/**/*.html")]
    markup = "".join(path.read_text() for path in templates)
    waited_for = set(re.findall(r'data-live="(\w+)"', markup))
    assert waited_for - snapshot["text"].keys() - snapshot.keys() == set()
