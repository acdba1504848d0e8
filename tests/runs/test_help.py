"""The guides on the site, and what they show works as it is written there."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.staticfiles import finders
from django.urls import Resolver404, resolve, reverse

from runs.selectors.guides import DOCS, anchor_of, guide_files, read_guides
from tests.harness.factories import client_of
from tests.harness.table import table
from workers.engine.agents import Agent
from workers.engine.agents.functions import agent_of
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evolve import Evolution
from workers.engine.kinds.evolve.options import GeneticOptions
from workers.engine.spec.checks import check_against
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db

GUIDES = sorted(guide_files())
BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
COMMON = sorted(Path(DOCS, "guides").glob("*.md"))


def test_every_guide_of_the_folder_is_offered_and_found_by_the_jump_box(alice):
    assert {f"guides/{path.name}" for path in COMMON} <= set(guide_files().values())
    page = client_of(alice).get(reverse("help")).text
    for name in GUIDES:
        assert f'href="{reverse("help_guide", args=[name])}"' in page
    assert client_of(alice).get("/help/nonsense/").status_code == 404
    for typed, address in (
        ("ollama", "/help/ollama/"),
        ("first run", "/help/first-run/"),
        ("router", "/help/choosing-models/#a-router"),
        ("gate", "/help/ci/#run-it-with-a-gate"),
    ):
        assert f'href="{address}"' in client_of(alice).get(reverse("jump"), {"q": typed}).text


def test_a_guide_is_whole_and_its_picture_links_and_configurations_are_some(alice):
    client, lost = client_of(alice), []
    for name in GUIDES:
        page = client.get(reverse("help_guide", args=[name])).text
        text = page[page.index('class="markdown"') : page.index('class="guide-side"')]
        headings = re.findall(r"^## (.+)$", (DOCS / guide_files()[name]).read_text(), re.MULTILINE)
        assert re.findall(r'<h2 id="([^"]*)"', text) == [anchor_of(one) for one in headings]
        assert "![" not in text
        picture = read_guides()[name].picture
        assert picture is None or finders.find(f"guides/{picture.file}"), name
        for address in re.findall(r'<a href="(/[^"#]*)', text):
            try:
                resolve(address)
            except Resolver404:
                lost.append(f"{name} leads to {address}, which is nowhere.")
    assert lost == []
    for path in COMMON:
        for block in BLOCK.findall(path.read_text()):
            document = read_document(block)
            assert read_configuration(document).kind == document["kind"], path


def blocks(guide, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / guide).read_text(), re.DOTALL)


def run_block(code):
    names: dict[str, Any] = {}
    exec(compile(code, "a guide", "exec"), names)
    return names


@table(*blocks("CRITICS.md", "yaml"), *blocks("SELECT.md", "yaml"))
def test_their_configurations_can_be_run(text):
    configuration = read_configuration(yaml.safe_load(text))
    columns = ["question", "expected", "earlier"]
    check_against(configuration, endpoints={"simulated": ()}, columns=columns, cases=1)


def test_the_notebook_of_critics_ranks_the_prompts(simulator):
    (code,) = blocks("CRITICS.md", "python")
    names = run_block(code.replace("http://127.0.0.1:8765", simulator.url))
    assert names["one"].value > 0.5
    assert len(names["scores"]) == len(names["triples"]) == 12
    assert [one.prompt_index for one in names["ranking"]] == [0, 1, 2]
    assert names["best"].mean == max(one.mean for one in names["ranking"])
    # 12 answers, as many verdicts, and that of the one which was given by hand.
    assert simulator.ledger()["total"] <= 12 + 12 + 1


def test_the_agents_and_the_notebook_of_select(tmp_path, monkeypatch):
    agents, notebook, *_ = blocks("SELECT.md", "python")
    names = run_block(agents)
    assert issubclass(names["Refine"], Agent)
    assert list(names["Refine"].model_fields) == ["rounds"]
    assert list(agent_of(names["ask_twice"]).model_fields) == ["again"]
    monkeypatch.chdir(tmp_path)
    assert run_block(notebook)["found"].best.choices["solver"] == "large"
    assert sorted(os.listdir(tmp_path)) == ["chosen.yaml", "combinations.csv"]


def test_the_example_and_the_notebook_of_evolve():
    """The evolution prefers the prompt that the critic likes."""
    (example,) = blocks("EVOLVE.md", "yaml")
    found = read_configuration(yaml.safe_load(example))
    assert isinstance(found, Evolution)
    assert isinstance(found.options, GeneticOptions)
    assert (found.options.kinship, found.options.max_generations) == (0.03, 8)
    assert len(found.make_candidates()) == len(found.prompts)
    (code,) = blocks("EVOLVE.md", "python")
    names = run_block(code)
    assert "Check" in names["flow"].best
    assert [step.query for step in names["steps"]] == [f"What is {n} + 2?" for n in range(24)]
    assert names["steps"][0].response_shown == "42, checked"
