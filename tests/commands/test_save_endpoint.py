"""`manage.py save_endpoint`: an endpoint without a browser, its key without an argument."""

import pytest

from runs.models import Endpoint
from runs.secrets import decrypt
from tests.commands.conftest import command, refused

pytestmark = pytest.mark.django_db

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def administrator(ada, monkeypatch):
    monkeypatch.setenv("PROVIDER_KEY", KEY)


def test_an_endpoint_is_made_and_only_what_is_given_is_changed():
    made = command(
        "save_endpoint", "main", "--kind", "openai", "--base-url", "https://provider.example/v1",
        "--key-env", "PROVIDER_KEY", "--models", "a,b", "--price", "a=2.5,10",
    )  # fmt: skip
    assert (made.exit_code, made.out) == (0, "main (OpenAI-compatible).\n")
    assert command("save_endpoint", "main", "--max-concurrent", 7).exit_code == 0
    endpoint = Endpoint.objects.get()
    assert (endpoint.model_names, endpoint.max_concurrent) == (["a", "b"], 7)
    assert endpoint.prices == {"a": {"input": 2.5, "output": 10.0}}
    assert decrypt(endpoint.key_ciphertext) == KEY


def test_what_is_wrong_is_told_by_its_option_and_only_operators_may(alice):
    private = "127.0.0.1:11434 is at a private address (loopback). An admin can allow it"
    wrong = [
        ("main", "--kind:"),
        ("Main --kind simulated", "--name:"),
        ("main --kind openai --base-url http://169.254.169.254/", "--base-url:"),
        ("main --kind ollama --base-url http://127.0.0.1:11434", private),
        ("main --kind simulated --key-env ABSENT", "no such variable"),
        ("main --kind simulated --price a=cheap", "MODEL=IN,OUT"),
        ("main --kind simulated --price a=-1,2", "--prices:"),
        ("main --kind simulated --user alice", "this needs the role operator"),
    ]
    made = [words for words, told in wrong
            if not refused("save_endpoint", *words.split(), told=told)]  # fmt: skip
    assert made == []
    assert not Endpoint.objects.exists()
