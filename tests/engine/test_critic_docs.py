"""What docs/CRITICS.md shows works as it is written there."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from workers.engine.kinds import read_configuration
from workers.engine.spec.checks import check_against
from workers.simulator.testing import SimulatorClient

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "CRITICS.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_its_configurations_can_be_run(text: str) -> None:
    configuration = read_configuration(yaml.safe_load(text))
    columns = ["question", "expected", "earlier"]
    check_against(configuration, endpoints={"simulated": ()}, columns=columns, cases=1)


def test_its_notebook_ranks_the_prompts(simulator: SimulatorClient) -> None:
    (code,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(code.replace("http://127.0.0.1:8765", simulator.url), "CRITICS.md", "exec"), names)
    assert names["one"].value > 0.5
    assert len(names["scores"]) == len(names["triples"]) == 12
    assert [one.prompt_index for one in names["ranking"]] == [0, 1, 2]
    assert names["best"].mean == max(one.mean for one in names["ranking"])
    # 12 answers, as many verdicts, and that of the one which was given by hand.
    assert simulator.ledger()["total"] <= 12 + 12 + 1
