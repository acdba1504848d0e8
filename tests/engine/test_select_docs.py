"""What docs/SELECT.md shows works as it is written there."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from workers.engine.agents import Agent
from workers.engine.agents.functions import agent_of
from workers.engine.kinds import read_configuration
from workers.engine.spec.checks import check_against

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "SELECT.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def run_block(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, "SELECT.md", "exec"), names)
    return names


@pytest.mark.parametrize("text", blocks("yaml"))
def test_its_configurations_can_be_run(text: str) -> None:
    configuration = read_configuration(yaml.safe_load(text))
    columns = ["question", "expected"]
    check_against(configuration, endpoints={"simulated": ()}, columns=columns, cases=1)


def test_its_agents_are_agents() -> None:
    names = run_block(blocks("python")[0])
    assert issubclass(names["Refine"], Agent)
    assert list(names["Refine"].model_fields) == ["rounds"]
    assert list(agent_of(names["ask_twice"]).model_fields) == ["again"]


def test_its_notebook_finds_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run_block(blocks("python")[1])["found"]
    assert found.best.choices["solver"] == "large"
    assert sorted(os.listdir(tmp_path)) == ["chosen.yaml", "combinations.csv"]
