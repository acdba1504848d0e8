"""`manage.py save_endpoint`: an endpoint without a browser, its key without an argument."""

import pytest
from django.contrib.auth.models import User

from runs.models import Endpoint
from runs.secrets import decrypt
from tests.commands.conftest import command

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def administrator(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    monkeypatch.setenv("PROVIDER_KEY", KEY)


def test_an_endpoint_is_made_and_only_what_is_given_is_changed() -> None:
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["main"], "--kind:"),
        (["Main Street", "--kind", "simulated"], "--name:"),
        (["main", "--kind", "openai", "--base-url", "http://169.254.169.254/"], "--base-url:"),
        (
            ["main", "--kind", "ollama", "--base-url", "http://127.0.0.1:11434"],
            "127.0.0.1:11434 is at a private address (loopback). An admin can allow it",
        ),
        (["main", "--kind", "simulated", "--key-env", "ABSENT"], "no such variable"),
        (["main", "--kind", "simulated", "--price", "a=cheap"], "MODEL=IN,OUT"),
        (["main", "--kind", "simulated", "--price", "a=-1,2"], "--prices:"),
    ],
)
def test_what_is_wrong_is_told_by_its_option(words: list[str], told: str) -> None:
    ran = command("save_endpoint", *words)
    assert (ran.exit_code, ran.out) == (2, "")
    assert told in ran.err
    assert not Endpoint.objects.exists()


def test_only_operators_may() -> None:
    User.objects.create_user("bob")
    ran = command("save_endpoint", "main", "--kind", "simulated", "--user", "bob")
    assert ran.exit_code == 2
    assert "this needs the role operator" in ran.err
