"""The candidates of an evaluation: every prompt with every model, told apart by their names."""

from typing import Any

import pytest

from workers.engine.kinds import read_configuration

SMALL, LARGE = "simulated/sim-small", "simulated/sim-large"


def small(**parameters: Any) -> dict[str, Any]:
    return {"endpoint": "simulated", "model": "sim-small", "parameters": parameters}


@pytest.mark.parametrize(
    ("models", "labels"),
    [
        pytest.param([SMALL, LARGE], [SMALL, LARGE], id="two models"),
        pytest.param([small(temperature=1.0), LARGE], [SMALL, LARGE], id="parameters of one"),
        pytest.param(
            [SMALL, small(temperature=0.5), small(temperature=1.0)],
            [SMALL, f'{SMALL} {{"temperature":0.5}}', f'{SMALL} {{"temperature":1.0}}'],
            id="one model, three ways",
        ),
    ],
)
def test_a_name_tells_the_parameters_where_the_model_alone_does_not(
    document: dict[str, Any], models: list[Any], labels: list[str]
) -> None:
    candidates = read_configuration({**document, "models": models}).make_candidates()
    prompts = [prompt["name"] for prompt in document["prompts"]]
    assert [candidate.name for candidate in candidates] == [
        f"{prompt} · {label}" for prompt in prompts for label in labels
    ]
    assert len({candidate.key for candidate in candidates}) == len(candidates)
