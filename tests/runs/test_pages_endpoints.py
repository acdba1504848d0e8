"""Endpoints: a key goes in and never comes out, and a test tells how the connection is."""

import re
from html import unescape

import pytest
from django.urls import reverse

from runs.forms.endpoints import EndpointForm
from runs.models import Endpoint
from runs.roles import Role
from runs.views.endpoints import try_to_save
from tests.harness.factories import client_of, make_person
from workers.simulator.testing import running_simulator

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder", "patient_calls")]

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
def staff(ada):
    return client_of(ada)


def fields(**changes):
    return {
        "name": "main",
        "kind": "openai",
        "base_url": "https://provider.example/v1",
        "model_names": "model-a\nmodel-b\n",
        "max_concurrent": "20",
        "requests_per_minute": "",
        **changes,
    }


def test_the_key_of_a_new_endpoint_is_on_no_page_and_stays_when_none_is_typed(staff):
    refused = staff.post(reverse("endpoint_new"), fields(name="Bad Name", new_key=CANARY))
    assert (refused.status_code, CANARY in refused.text) == (400, False)
    answer = staff.post(reverse("endpoint_new"), fields(new_key=CANARY))
    endpoint = Endpoint.objects.get()
    assert answer["Location"] == endpoint.get_absolute_url()
    assert endpoint.has_key
    assert endpoint.model_names == ["model-a", "model-b"]
    for address in (reverse("endpoints"), endpoint.get_absolute_url(), reverse("run_new")):
        page = staff.get(address).text
        assert CANARY not in page
        assert endpoint.key_ciphertext not in page
        if address == endpoint.get_absolute_url():
            assert "…cdef" in page
    staff.post(endpoint.get_absolute_url(), fields(max_concurrent="5"))
    after = Endpoint.objects.get()
    assert (after.key_ciphertext, after.max_concurrent) == (endpoint.key_ciphertext, 5)


WRONG = [
    ("base_url", "http://127.0.0.1:1/v1", ""),
    ("base_url", "ftp://provider.example", ""),
    ("base_url", "", ""),
    ("name", "no spaces please", ""),
    ("max_concurrent", "0", ""),
    ("new_key", "with space", ""),
    ("prices", "model-a 2.50", "Line 1: write the model"),
    ("prices", "\nmodel-a x 1", "Line 2: the input price 'x' is not"),
    ("prices", "a 1 1\na 2 2", "Line 2: a has a price already"),
    ("prices", "a 1 -1", "output price of 'a' must be a number from 0"),
    ("prices", "a nan 1", "input price of 'a' must be a number from 0"),
    ("more_urls", "http://127.0.0.1:9999", "127.0.0.1:9999 is at a private"),
]


def test_what_is_wrong_is_said_at_the_field(staff, ada, rf):
    request = rf.post("/")
    request.user = ada
    for field, typed, message in WRONG:
        form = EndpointForm(fields(**{field: typed}))
        if form.is_valid():
            try_to_save(request, form)
        assert field in form.errors, typed
        assert message in " ".join(map(str, form.errors[field])), typed
    answer = staff.post(reverse("endpoint_new"), fields(**{field: typed}))
    assert answer.status_code == 400
    assert message in unescape(answer.text)
    assert not Endpoint.objects.exists()


def test_a_connection_test_shows_its_report_and_warns_of_a_model_that_is_not_listed(
    staff, settings, endpoint
):
    address = reverse("endpoint_test", args=[endpoint.pk])
    with running_simulator(latency_ms=0) as simulator:
        settings.SIMULATOR_URL = simulator.url
        for part in ({}, {"X-Part": "report"}):
            page = staff.post(address, headers=part).text
            assert "It works" in page
            assert "sim-large" in page
            assert ("<html" in page) is (not part)
        Endpoint.objects.update(model_names=["sim-small", "sim-smal"])
        page = staff.post(address).text
    assert "The server answers, but it does not list the model sim-smal." in page
    assert "notice-warning" in page
    assert "It works" not in page
    assert "sim-large" in page  # what it lists


def opened(client, endpoint):
    """The page as somebody opens it, with what its form would send."""
    page = client.get(endpoint.get_absolute_url())
    return page.context["form"]["opened"].value()


def test_a_second_tab_does_not_undo_a_change_without_a_word(staff):
    staff.post(reverse("endpoint_new"), fields())
    endpoint = Endpoint.objects.get()
    first = second = opened(staff, endpoint)
    olga = client_of(make_person("olga", role=Role.OPERATOR))
    olga.post(endpoint.get_absolute_url(), fields(max_concurrent="50", opened=first))
    typed = fields(max_concurrent="5", model_names="model-a", opened=second)
    answer = staff.post(endpoint.get_absolute_url(), typed)
    page = answer.text
    assert answer.status_code == 409
    assert "Nothing was saved: olga changed main" in page
    moment = r"after you opened this page\.</b> <span class=\"muted\"><time "
    assert re.search(moment, page)  # when it was changed
    shown = {one.label: (one.stored, one.typed) for one in answer.context["differences"]}
    assert shown["Calls at once"] == ("50", "5")
    assert shown["Models"] == ("model-a\nmodel-b", "model-a")
    assert Endpoint.objects.get().max_concurrent == 50
    again = answer.context["form"]["opened"].value()
    assert f'value="{again}"' in page
    assert 'value="5"' in page  # what was typed is kept
    staff.post(endpoint.get_absolute_url(), {**typed, "opened": again})
    stored = Endpoint.objects.get()
    assert (stored.max_concurrent, stored.model_names) == (5, ["model-a"])
    assert str(stored.updated_by) == "ada"
    again = staff.post(endpoint.get_absolute_url(), {**typed, "opened": again}, follow=True)
    assert "main has these settings already." in again.text  # the same is no conflict
    refused = staff.post(endpoint.get_absolute_url(), fields(new_key=CANARY, opened=first))
    page = refused.text
    assert refused.status_code == 409
    assert "Enter the key once more" in page  # it is neither stored nor sent back
    assert CANARY not in page
    assert not Endpoint.objects.get().has_key


def test_prices_and_servers_are_typed_a_line_each_and_shown_as_typed(staff, bob):
    typed = {"prices": "model-a 2.50 10\n\nllama 3 8b  $0.05  0\n"}
    staff.post(
        reverse("endpoint_new"),
        fields(kind="ollama", more_urls="https://b.example\nhttps://c.example", **typed),
    )
    endpoint = Endpoint.objects.get()
    assert endpoint.more_urls == ["https://b.example", "https://c.example"]
    assert endpoint.prices == {
        "model-a": {"input": 2.5, "output": 10.0},
        "llama 3 8b": {"input": 0.05, "output": 0.0},
    }
    page = staff.get(endpoint.get_absolute_url()).text
    assert "model-a 2.5 10\nllama 3 8b 0.05 0" in page
    assert "+2 servers" in staff.get(reverse("endpoints")).text
    reader = client_of(bob).get(endpoint.get_absolute_url()).text
    assert "$2.50 in, $10.00 out" in reader
