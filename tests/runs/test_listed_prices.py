"""Prices from the kept list: filled in with their date, beaten by a person's own."""

import importlib.util
import json
from datetime import date
from pathlib import Path

import pytest
from django.urls import reverse

from runs.models import Endpoint
from runs.services.endpoints import save_endpoint
from tests.harness.factories import client_of, make_person
from workers.engine.calling.prices import Price
from workers.engine.price_list import PRICES_FILE, kept_list, listed_price

pytestmark = pytest.mark.django_db

OPENAI = "https://api.openai.com/v1"
OWN = {"input": 1.0, "output": 2.0}


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path


@pytest.fixture
def ada():
    return make_person("ada", staff=True)


def endpoint_with(*models, **fields):
    given = {"name": "main", "kind": "openai", "base_url": OPENAI, "model_names": list(models)}
    return Endpoint(**{**given, **fields})


def listed(model):
    price = listed_price(OPENAI, model)
    assert price is not None
    return {"input": price.input, "output": price.output}


@pytest.mark.parametrize(
    ("url", "model", "is_known"),
    [
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
    ],
)
def test_what_the_list_knows(url, model, is_known):
    assert (listed_price(url, model) is not None) is is_known


def test_known_prices_are_filled_in_and_unknown_ones_stay_unknown(ada):
    saved = save_endpoint(ada, endpoint_with("gpt-4o", "mine"))
    stored = Endpoint.objects.get(pk=saved.pk)
    assert stored.prices == {"gpt-4o": listed("gpt-4o")}
    assert stored.prices_from_list == ["gpt-4o"]
    assert stored.price_list_date == kept_list().day
    assert stored.models_without_price == ["mine"]


def test_a_persons_own_price_wins(ada):
    saved = save_endpoint(ada, endpoint_with("gpt-4o", prices={"gpt-4o": OWN}))
    assert (saved.prices, saved.prices_from_list) == ({"gpt-4o": OWN}, [])
    filled = save_endpoint(ada, endpoint_with("gpt-4o", name="other"))
    filled.prices = {"gpt-4o": OWN}
    again = save_endpoint(ada, filled)
    assert (again.prices, again.prices_from_list) == ({"gpt-4o": OWN}, [])


def test_what_came_from_an_older_list_is_brought_up_to_date(ada):
    saved = save_endpoint(ada, endpoint_with("gpt-4o"))
    old = {"input": 5.0, "output": 15.0}
    Endpoint.objects.update(
        prices={"gpt-4o": old}, listed_prices={"gpt-4o": {**old, "date": "2024-06-01"}}
    )
    saved.refresh_from_db()
    assert saved.price_list_date == date(2024, 6, 1)
    assert save_endpoint(ada, saved).prices == {"gpt-4o": listed("gpt-4o")}


def test_a_price_that_was_taken_away_stays_away(ada):
    saved = save_endpoint(ada, endpoint_with("gpt-4o"))
    saved.prices = {}
    for _ in range(2):
        saved = save_endpoint(ada, Endpoint.objects.get(pk=save_endpoint(ada, saved).pk))
        assert (saved.prices, saved.prices_from_list) == ({}, [])


def test_a_model_that_is_added_later_gets_its_price(ada):
    saved = save_endpoint(ada, endpoint_with("gpt-4o"))
    saved.model_names = ["gpt-4o", "gpt-4o-mini"]
    assert save_endpoint(ada, saved).prices_from_list == ["gpt-4o", "gpt-4o-mini"]


def test_the_page_says_where_a_price_comes_from(ada):
    page, viewer = client_of(ada), client_of(make_person("vera"))
    sent = {"name": "main", "kind": "openai", "base_url": OPENAI, "max_concurrent": "4"}
    page.post(reverse("endpoint_new"), {**sent, "model_names": "gpt-4o\nmine"})
    stored = Endpoint.objects.get()
    day = f"{kept_list().day:%-d %b %Y}"
    shown = page.get(stored.get_absolute_url()).content.decode()
    assert f"From the price list of {day}" in shown
    assert 'Unknown: <span class="mono">mine</span>' in shown
    assert f"from the list of {day}" in viewer.get(stored.get_absolute_url()).content.decode()


def test_the_kept_list_is_what_the_package_says():
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


def test_every_price_is_one_that_an_endpoint_may_have():
    rows = [row for found in kept_list().providers.values() for row in found]
    assert len(rows) > 500
    prices = [Price(given, back) for _, given, back in rows if given is not None]
    assert all(0 <= amount <= 100_000 for price in prices for amount in price)
