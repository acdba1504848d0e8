"""A combination as a LiteLLM configuration, without any key."""

import pytest

from workers.engine.kinds.select.litellm import (
    ChosenModel,
    Server,
    key_name,
    litellm_config,
    models_of,
)

MODEL = ChosenModel("planner", "openai-main", "some/model", {"temperature": 0.2})


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        pytest.param(
            Server("openai", "https://provider.example/v1"),
            {
                "model": "openai/some/model",
                "api_base": "https://provider.example/v1",
                "api_key": "os.environ/OPENAI_MAIN_API_KEY",
            },
            id="like OpenAI",
        ),
        pytest.param(
            Server("anthropic", ""),
            {"model": "anthropic/some/model", "api_key": "os.environ/OPENAI_MAIN_API_KEY"},
            id="at its usual address",
        ),
        pytest.param(
            Server("ollama", "http://127.0.0.1:11434"),
            {"model": "ollama/some/model", "api_base": "http://127.0.0.1:11434"},
            id="without a key",
        ),
        pytest.param(
            Server("openai", "https://me:secret@provider.example/v1?key=secret"),
            {
                "model": "openai/some/model",
                "api_base": "https://provider.example/v1",
                "api_key": "os.environ/OPENAI_MAIN_API_KEY",
            },
            id="an address with secrets",
        ),
        pytest.param(
            None,
            {"model": "openai/some/model", "api_key": "os.environ/OPENAI_MAIN_API_KEY"},
            id="an endpoint that was removed",
        ),
    ],
)
def test_each_step_is_a_model_of_its_name(server: Server | None, expected: dict[str, str]) -> None:
    servers = {"openai-main": server} if server else {}
    document = litellm_config([MODEL], servers, {"accuracy": 0.75})
    [entry] = document["model_list"]
    assert entry["model_name"] == "planner"
    assert entry["litellm_params"] == {"temperature": 0.2, **expected}
    assert entry["model_info"] == {"endpoint": "openai-main", "accuracy": 0.75}
    assert "secret" not in str(document)


def test_a_key_among_the_parameters_is_left_out() -> None:
    keyed = MODEL._replace(parameters={"api_key": "sk-secret"})
    assert "secret" not in str(litellm_config([keyed], {}, {}))


@pytest.mark.parametrize(
    ("endpoint", "name"),
    [("a", "A_API_KEY"), ("my.own-1", "MY_OWN_1_API_KEY"), ("9b", "_9B_API_KEY")],
)
def test_the_key_is_named_after_the_endpoint(endpoint: str, name: str) -> None:
    assert key_name(endpoint) == name


def test_a_combination_names_the_model_of_each_step() -> None:
    model = {"endpoint": "a", "model": "m", "parameters": {"top_p": 1}}
    document = {"choices": {"planner": "a/m"}, "steps": [{"name": "planner", "model": model}]}
    assert models_of(document) == [ChosenModel("planner", "a", "m", {"top_p": 1})]
