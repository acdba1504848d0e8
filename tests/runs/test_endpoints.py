"""Endpoints are changed by staff only; keys go in encrypted; known prices are filled in."""

import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from runs import secrets
from runs.models import Endpoint, EndpointKind
from runs.services import endpoints
from runs.services.endpoints import rotate_endpoint_keys
from runs.services.removing.archiving import delete_endpoint, remove_endpoint
from tests.harness.factories import client_of
from workers.engine.calling.prices import Price
from workers.engine.price_list import PRICES_FILE, kept_list, listed_price

OPENAI = "https://api.openai.com/v1"
OWN = {"input": 1.0, "output": 2.0}
CANARY = "sk-canary-0123456789abcdef"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]


def new_endpoint(**fields):
    given = {"name": "openai-main", "kind": EndpointKind.OPENAI, "model_names": ["small"]}
    return Endpoint(**{**given, "base_url": "https://provider.example/v1", **fields})


def test_a_key_is_stored_encrypted_with_who_set_it_beside_prices_and_servers(ada):
    saved = endpoints.save_endpoint(ada, new_endpoint(), f"  {CANARY}\n")
    stored = Endpoint.objects.get(pk=saved.pk)
    assert secrets.decrypt(stored.key_ciphertext) == CANARY
    assert (stored.key_hint, stored.key_set_by) == ("cdef", ada)
    assert stored.key_set_at is not None
    assert CANARY not in str(Endpoint.objects.values_list().get(pk=saved.pk))
    short = endpoints.save_endpoint(ada, new_endpoint(name="short"), "short-key")
    assert short.key_hint == "", "of a short key no letter is shown"
    prices = {"small": {"input": 0.15, "output": 0.6}}
    given = new_endpoint(name="more", kind="ollama", more_urls=["https://b.example"], prices=prices)
    saved = endpoints.save_endpoint(ada, given, None)
    saved.prices = {**prices, "free": {"input": 0, "output": 0}}
    endpoints.save_endpoint(ada, saved, None)
    stored = Endpoint.objects.get(pk=saved.pk)
    assert (stored.more_urls, stored.prices) == (["https://b.example"], saved.prices)


def test_a_save_without_a_new_key_keeps_the_old_one_and_an_empty_one_removes_it(ada):
    saved = endpoints.save_endpoint(ada, new_endpoint(), CANARY)
    saved.max_concurrent = 7
    endpoints.save_endpoint(ada, saved, None)
    stale = Endpoint.objects.get(pk=saved.pk)
    assert (stale.max_concurrent, secrets.decrypt(stale.key_ciphertext)) == (7, CANARY)
    endpoints.save_endpoint(ada, saved, "sk-replaced-0123456789")
    stale.max_concurrent = 3  # in a form that was open too long
    endpoints.save_endpoint(ada, stale, None)
    stored = Endpoint.objects.get(pk=saved.pk)
    assert stored.max_concurrent == 3
    assert secrets.decrypt(stored.key_ciphertext) == "sk-replaced-0123456789"
    endpoints.save_endpoint(ada, saved, "")
    stored = Endpoint.objects.get(pk=saved.pk)
    assert not stored.has_key
    assert (stored.key_hint, stored.key_set_at, stored.key_set_by) == ("", None, None)


WRONG: list[Any] = [
    ({"name": "Open AI"}, "name", "lower-case"),
    ({"name": ""}, "name", "blank"),
    ({"kind": "other"}, "kind", "not a valid choice"),
    ({"base_url": ""}, "base_url", "needs a base URL"),
    ({"base_url": "http://10.0.0.1/v1"}, "base_url", "under Private addresses"),
    ({"base_url": "http://169.254.169.254/"}, "base_url", "never called"),
    ({"base_url": "ftp://provider.example"}, "base_url", "http:// or https://"),
    ({"base_url": "https://a.example/" + "x" * 300}, "base_url", "at most 300"),
    ({"max_concurrent": 0}, "max_concurrent", "greater than or equal to 1"),
    ({"requests_per_minute": 0}, "requests_per_minute", "greater than or equal to 1"),
    ({"model_names": "small"}, "model_names", "list of model names"),
    ({"model_names": [""]}, "model_names", "list of model names"),
    ({"model_names": [{"id": 1}]}, "model_names", "list of model names"),
    ({"more_urls": "https://b.example"}, "more_urls", "list of URLs"),
    ({"more_urls": [""]}, "more_urls", "list of URLs"),
    ({"more_urls": [3]}, "more_urls", "list of URLs"),
    ({"more_urls": ["http://10.0.0.1"]}, "more_urls", "10.0.0.1:80 is at a private"),
    ({"more_urls": ["http://169.254.169.254"]}, "more_urls", "never called"),
    ({"more_urls": ["https://u:p@b.example"]}, "more_urls", "user name"),
    ({"more_urls": ["https://b.example/?key=1"]}, "more_urls", "before any ?"),
    ({"more_urls": ["https://b.example/" + "x" * 300]}, "more_urls", "at most 300"),
    ({"more_urls": [f"https://{n}.example" for n in range(51)]}, "more_urls", "most 50"),
    ({"prices": []}, "prices", "mapping of model names"),
    ({"prices": {"small": {"input": -1, "output": 1}}}, "prices", "from 0 to"),
    ({"prices": {"x" * 201: {"input": 1, "output": 1}}}, "prices", "1 to 200"),
    ({}, "new_key", "printable ASCII", "sk-\r\nX-Evil: 1"),
    ({}, "new_key", "printable ASCII", "sk-ключ"),
    ({}, "new_key", "at most 4096", "x" * 4097),
]


def test_what_is_wrong_is_said_at_its_field_and_only_staff_change_endpoints(ada, bob):
    for fields, field, message, *key in WRONG:
        with pytest.raises(ValidationError) as error:
            endpoints.save_endpoint(ada, new_endpoint(**fields), *key)
        assert any(message in text for text in error.value.message_dict[field]), fields
    assert not Endpoint.objects.exists()
    with pytest.raises(ValidationError) as error:
        endpoints.save_endpoint(ada, new_endpoint(name="", base_url="", model_names=3), "ü")
    assert set(error.value.message_dict) == {"name", "base_url", "model_names", "new_key"}
    saved = endpoints.save_endpoint(ada, new_endpoint(), None)
    for act in (endpoints.save_endpoint, delete_endpoint, remove_endpoint):
        with pytest.raises(PermissionDenied):
            act(bob, saved)
    assert Endpoint.objects.filter(pk=saved.pk, remove_after=None).exists()
    delete_endpoint(ada, saved)
    assert Endpoint.objects.get().remove_after
    remove_endpoint(ada, saved)
    assert not Endpoint.objects.exists()


def test_a_stored_key_is_sent_to_no_new_host_and_to_no_further_server(ada):
    saved = endpoints.save_endpoint(ada, new_endpoint(), CANARY)
    saved.base_url = "https://elsewhere.example/v1"
    with pytest.raises(ValidationError, match="enter the key again"):
        endpoints.save_endpoint(ada, saved, None)
    assert Endpoint.objects.get().base_url == "https://provider.example/v1"
    endpoints.save_endpoint(ada, saved, CANARY)
    saved.base_url = "https://elsewhere.example/v2"
    endpoints.save_endpoint(ada, saved, None)
    saved.more_urls = ["https://further.example"]
    with pytest.raises(ValidationError, match="enter the key again") as error:
        endpoints.save_endpoint(ada, saved, None)
    assert set(error.value.message_dict) == {"more_urls"}
    assert Endpoint.objects.get().more_urls == []
    endpoints.save_endpoint(ada, saved, CANARY)
    saved.more_urls = []  # a server fewer: the key goes nowhere new
    endpoints.save_endpoint(ada, saved, None)


# --- Prices of the kept list: filled in with their date, beaten by a person's own


def endpoint_with(*models, **fields):
    given = {"name": "main", "kind": "openai", "base_url": OPENAI, "model_names": list(models)}
    return Endpoint(**{**given, **fields})


def listed(model):
    price = listed_price(OPENAI, model)
    assert price is not None
    return {"input": price.input, "output": price.output}


KNOWN = [
    (OPENAI, "gpt-4o", True),
    (OPENAI, "GPT-4o", True),
    (OPENAI, "gpt-4o-mini-2024-07-18", True),
    (OPENAI, "text-embedding-3-small", True),
    (OPENAI, "a-model-of-tomorrow", False),
    ("https://api.anthropic.com/v1", "claude-3-haiku-20240307", True),
    ("https://generativelanguage.googleapis.com/v1beta/openai", "models/gemini-2.5-pro", True),
    ("https://openrouter.ai/api/v1", "google/gemini-2.5-flash", True),
    ("https://provider.example/v1", "gpt-4o", False),
    ("http://localhost:11434", "gpt-4o", False),
    ("https://r.openai.azure.com", "gpt-4o", False),
    ("https://api.deepseek.com/v1", "deepseek-chat", False),
]


def test_known_prices_are_filled_in_and_kept_up_to_date_and_pages_say_so(ada, bob):
    found = {(url, model): listed_price(url, model) is not None for url, model, _ in KNOWN}
    assert found == {(url, model): is_known for url, model, is_known in KNOWN}
    saved = endpoints.save_endpoint(ada, endpoint_with("gpt-4o", "mine"))
    stored = Endpoint.objects.get(pk=saved.pk)
    assert stored.prices == {"gpt-4o": listed("gpt-4o")}
    assert (stored.prices_from_list, stored.price_list_date) == (["gpt-4o"], kept_list().day)
    assert stored.models_without_price == ["mine"]
    saved.model_names = ["gpt-4o", "gpt-4o-mini"]  # one that is added later
    assert endpoints.save_endpoint(ada, saved).prices_from_list == ["gpt-4o", "gpt-4o-mini"]
    saved = endpoints.save_endpoint(ada, endpoint_with("gpt-4o", name="older"))
    old = {"input": 5.0, "output": 15.0}
    dated = {"gpt-4o": {**old, "date": "2024-06-01"}}
    Endpoint.objects.update(prices={"gpt-4o": old}, listed_prices=dated)
    saved.refresh_from_db()
    assert saved.price_list_date == date(2024, 6, 1)
    assert endpoints.save_endpoint(ada, saved).prices == {"gpt-4o": listed("gpt-4o")}
    page, viewer = client_of(ada), client_of(bob)
    sent = {"name": "page", "kind": "openai", "base_url": OPENAI, "max_concurrent": "4"}
    page.post(reverse("endpoint_new"), {**sent, "model_names": "gpt-4o\nmine"})
    stored = Endpoint.objects.get(name="page")
    day = f"{kept_list().day:%-d %b %Y}"
    shown = page.get(stored.get_absolute_url()).text
    assert f"From the price list of {day}" in shown
    assert 'Unknown: <span class="mono">mine</span>' in shown
    assert f"from the list of {day}" in viewer.get(stored.get_absolute_url()).text


def test_a_persons_own_price_wins_and_one_that_was_taken_away_stays_away(ada):
    saved = endpoints.save_endpoint(ada, endpoint_with("gpt-4o", prices={"gpt-4o": OWN}))
    assert (saved.prices, saved.prices_from_list) == ({"gpt-4o": OWN}, [])
    filled = endpoints.save_endpoint(ada, endpoint_with("gpt-4o", name="other"))
    filled.prices = {"gpt-4o": OWN}
    again = endpoints.save_endpoint(ada, filled)
    assert (again.prices, again.prices_from_list) == ({"gpt-4o": OWN}, [])
    saved = endpoints.save_endpoint(ada, endpoint_with("gpt-4o", name="third"))
    saved.prices = {}
    for _ in range(2):
        saved = endpoints.save_endpoint(ada, saved)
        assert (saved.prices, saved.prices_from_list) == ({}, [])
        saved = Endpoint.objects.get(pk=saved.pk)


def test_the_kept_list_is_what_the_package_says_and_an_endpoint_may_have():
    script = Path(__file__).parents[2] / "scripts" / "price_list.py"
    described = importlib.util.spec_from_file_location("price_list_script", script)
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    document = json.loads(PRICES_FILE.read_text())
    made = module.make_list(date.fromisoformat(document["date"]))
    assert made["source"] == document["source"], "Run make prices."
    assert made["providers"].keys() == document["providers"].keys()
    assert module.written(document) == PRICES_FILE.read_text()
    for name, rows in made["providers"].items():
        assert [row[0] for row in rows] == [row[0] for row in document["providers"][name]]
    rows = [row for found in kept_list().providers.values() for row in found]
    assert len(rows) > 500
    prices = [Price(given, back) for _, given, back in rows if given is not None]
    assert all(0 <= amount <= 100_000 for price in prices for amount in price)


# --- Keys are unreadable without the key file, and stay readable through rotations


def test_what_is_encrypted_is_unreadable_without_the_file_of_its_owner_alone(data_folder):
    token = secrets.encrypt(CANARY)
    path = data_folder / "keys" / "endpoint_keys"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    first = path.read_text()
    assert secrets.decrypt(token) == CANARY
    assert CANARY not in token
    assert secrets.encrypt(CANARY) != token  # equal keys do not look equal
    assert path.read_text() == first
    assert [file.name for file in path.parent.iterdir()] == ["endpoint_keys"]


def test_processes_that_start_together_agree_on_one_key():
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(secrets.encrypt, [CANARY] * 32))
    assert {secrets.decrypt(token) for token in tokens} == {CANARY}
    assert len(secrets.key_file().read_text().splitlines()) == 1


def test_a_lost_key_file_is_named_and_that_of_another_site_opens_nothing(settings, tmp_path):
    token, file = secrets.encrypt(CANARY), secrets.key_file()
    for damage, message in (
        (lambda: file.write_text("nonsense\n"), "is damaged"),
        (lambda: file.write_text(""), "is damaged"),
        (file.unlink, "is gone"),
    ):
        damage()
        with pytest.raises(secrets.SecretsError, match=message) as error:
            secrets.decrypt(token)
        assert str(file) in str(error.value)
        assert "backup" in str(error.value)
    settings.EVALSITE_DATA = tmp_path / "other"
    secrets.encrypt("anything")
    with pytest.raises(secrets.SecretsError, match="enter the endpoint's key again"):
        secrets.decrypt(token)


def store_endpoint(name, key):
    return Endpoint.objects.create(
        name=name, kind=EndpointKind.SIMULATED, key_ciphertext=secrets.encrypt(key) if key else ""
    )


def test_rotate_keys_moves_every_endpoint_to_the_new_key(capsys):
    first, second = store_endpoint("a", "ka"), store_endpoint("b", "kb")
    bare = store_endpoint("c", "")
    before = first.key_ciphertext
    (old,) = secrets.key_file().read_text().splitlines()
    assert rotate_endpoint_keys() == 2
    new, kept = secrets.key_file().read_text().splitlines()
    assert new != old == kept, "the new one goes first"
    first.refresh_from_db()
    assert first.key_ciphertext != before
    assert secrets.decrypt(before) == "ka", "backups still open until old keys are forgotten"
    call_command("rotate_keys", "--forget-old")
    for endpoint, key in ((first, "ka"), (second, "kb")):
        endpoint.refresh_from_db()
        assert secrets.decrypt(endpoint.key_ciphertext) == key
    with pytest.raises(secrets.SecretsError):
        secrets.decrypt(before)
    bare.refresh_from_db()
    assert bare.key_ciphertext == ""
    assert len(secrets.key_file().read_text().splitlines()) == 1
    assert "Encrypted 2 endpoint keys again" in capsys.readouterr().out


def test_a_rotation_that_cannot_read_a_key_changes_nothing():
    readable = store_endpoint("a", CANARY)
    Endpoint.objects.create(name="b", kind=EndpointKind.SIMULATED, key_ciphertext="not a token")
    with pytest.raises(CommandError, match="enter the endpoint's key again"):
        call_command("rotate_keys", "--forget-old")
    before = readable.key_ciphertext
    readable.refresh_from_db()
    assert readable.key_ciphertext == before
    assert secrets.decrypt(before) == CANARY
