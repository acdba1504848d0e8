"""Endpoints are changed by staff only; keys go in encrypted and never come out."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError

from runs import secrets
from runs.models import Endpoint, EndpointKind
from runs.services import endpoints
from runs.services.removing.archiving import delete_endpoint, remove_endpoint

CANARY = "sk-canary-0123456789abcdef"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()


@pytest.fixture
def staff():
    return User.objects.create(username="ada", is_staff=True)


@pytest.fixture
def member():
    return User.objects.create(username="bob")


def new_endpoint(**fields):
    given = {"name": "openai-main", "kind": EndpointKind.OPENAI, "model_names": ["small"]}
    return Endpoint(**{**given, "base_url": "https://provider.example/v1", **fields})


def test_a_key_is_stored_encrypted_with_a_hint_and_who_set_it(staff):
    saved = endpoints.save_endpoint(staff, new_endpoint(), f"  {CANARY}\n")
    stored = Endpoint.objects.get(pk=saved.pk)
    assert secrets.decrypt(stored.key_ciphertext) == CANARY
    assert stored.key_hint == "cdef"
    assert stored.key_set_by == staff
    assert stored.key_set_at is not None
    columns = Endpoint.objects.values_list().get(pk=saved.pk)
    assert not any(CANARY in str(column) for column in columns)


def test_a_save_without_a_new_key_keeps_the_old_one(staff):
    saved = endpoints.save_endpoint(staff, new_endpoint(), CANARY)
    saved.max_concurrent = 7
    endpoints.save_endpoint(staff, saved, None)
    stored = Endpoint.objects.get(pk=saved.pk)
    assert stored.max_concurrent == 7
    assert secrets.decrypt(stored.key_ciphertext) == CANARY


def test_an_empty_new_key_removes_the_old_one(staff):
    saved = endpoints.save_endpoint(staff, new_endpoint(), CANARY)
    endpoints.save_endpoint(staff, saved, "")
    stored = Endpoint.objects.get(pk=saved.pk)
    assert not stored.has_key
    assert (stored.key_hint, stored.key_set_at, stored.key_set_by) == ("", None, None)


def test_a_form_that_was_open_too_long_does_not_bring_back_an_old_key(staff):
    saved = endpoints.save_endpoint(staff, new_endpoint(), CANARY)
    stale = Endpoint.objects.get(pk=saved.pk)
    endpoints.save_endpoint(staff, saved, "sk-replaced-0123456789")
    stale.max_concurrent = 3
    endpoints.save_endpoint(staff, stale, None)
    stored = Endpoint.objects.get(pk=saved.pk)
    assert stored.max_concurrent == 3
    assert secrets.decrypt(stored.key_ciphertext) == "sk-replaced-0123456789"


def test_of_a_short_key_no_letter_is_shown(staff):
    assert endpoints.save_endpoint(staff, new_endpoint(), "short-key").key_hint == ""


def test_only_staff_change_endpoints(staff, member):
    with pytest.raises(PermissionDenied):
        endpoints.save_endpoint(member, new_endpoint(), None)
    saved = endpoints.save_endpoint(staff, new_endpoint(), None)
    with pytest.raises(PermissionDenied):
        delete_endpoint(member, saved)
    with pytest.raises(PermissionDenied):
        remove_endpoint(member, saved)
    assert Endpoint.objects.filter(pk=saved.pk, remove_after=None).exists()
    delete_endpoint(staff, saved)
    assert Endpoint.objects.get().remove_after
    remove_endpoint(staff, saved)
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize(
    ("fields", "key", "field", "message"),
    [
        ({"name": "Open AI"}, None, "name", "lower-case"),
        ({"name": ""}, None, "name", "blank"),
        ({"kind": "other"}, None, "kind", "not a valid choice"),
        ({"base_url": ""}, None, "base_url", "needs a base URL"),
        ({"base_url": "http://10.0.0.1/v1"}, None, "base_url", "under Private addresses"),
        ({"base_url": "http://169.254.169.254/"}, None, "base_url", "never called"),
        ({"base_url": "ftp://provider.example"}, None, "base_url", "http:// or https://"),
        ({"base_url": "https://a.example/" + "x" * 300}, None, "base_url", "at most 300"),
        ({"max_concurrent": 0}, None, "max_concurrent", "greater than or equal to 1"),
        ({"requests_per_minute": 0}, None, "requests_per_minute", "greater than or equal to 1"),
        ({"model_names": "small"}, None, "model_names", "list of model names"),
        ({"model_names": [""]}, None, "model_names", "list of model names"),
        ({"model_names": [{"id": 1}]}, None, "model_names", "list of model names"),
        ({"more_urls": "https://b.example"}, None, "more_urls", "list of URLs"),
        ({"more_urls": [""]}, None, "more_urls", "list of URLs"),
        ({"more_urls": [3]}, None, "more_urls", "list of URLs"),
        ({"more_urls": ["http://10.0.0.1"]}, None, "more_urls", "10.0.0.1:80 is at a private"),
        ({"more_urls": ["http://169.254.169.254"]}, None, "more_urls", "never called"),
        ({"more_urls": ["https://u:p@b.example"]}, None, "more_urls", "user name"),
        ({"more_urls": ["https://b.example/?key=1"]}, None, "more_urls", "before any ?"),
        ({"more_urls": ["https://b.example/" + "x" * 300]}, None, "more_urls", "at most 300"),
        ({"more_urls": [f"https://{n}.example" for n in range(51)]}, None, "more_urls", "most 50"),
        ({"prices": []}, None, "prices", "mapping of model names"),
        ({"prices": {"small": {"input": -1, "output": 1}}}, None, "prices", "from 0 to"),
        ({"prices": {"x" * 201: {"input": 1, "output": 1}}}, None, "prices", "1 to 200"),
        ({}, "sk-\r\nX-Evil: 1", "new_key", "printable ASCII"),
        ({}, "sk-ключ", "new_key", "printable ASCII"),
        ({}, "x" * 4097, "new_key", "at most 4096"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_saved(
    staff, fields, key, field, message
):
    with pytest.raises(ValidationError) as error:
        endpoints.save_endpoint(staff, new_endpoint(**fields), key)
    assert any(message in text for text in error.value.message_dict[field])
    assert not Endpoint.objects.exists()


def test_everything_wrong_is_said_at_once(staff):
    with pytest.raises(ValidationError) as error:
        endpoints.save_endpoint(staff, new_endpoint(name="", base_url="", model_names=3), "ü")
    assert set(error.value.message_dict) == {"name", "base_url", "model_names", "new_key"}


def test_a_stored_key_is_not_sent_to_a_new_host(staff):
    saved = endpoints.save_endpoint(staff, new_endpoint(), CANARY)
    saved.base_url = "https://elsewhere.example/v1"
    with pytest.raises(ValidationError, match="enter the key again"):
        endpoints.save_endpoint(staff, saved, None)
    assert Endpoint.objects.get().base_url == "https://provider.example/v1"
    endpoints.save_endpoint(staff, saved, CANARY)
    saved.base_url = "https://elsewhere.example/v2"
    endpoints.save_endpoint(staff, saved, None)


def test_a_stored_key_is_not_sent_to_a_new_further_server(staff):
    saved = endpoints.save_endpoint(staff, new_endpoint(), CANARY)
    saved.more_urls = ["https://elsewhere.example"]
    with pytest.raises(ValidationError, match="enter the key again") as error:
        endpoints.save_endpoint(staff, saved, None)
    assert set(error.value.message_dict) == {"more_urls"}
    assert Endpoint.objects.get().more_urls == []
    endpoints.save_endpoint(staff, saved, CANARY)
    saved.more_urls = []  # a server fewer: the key goes nowhere new
    endpoints.save_endpoint(staff, saved, None)


def test_prices_and_servers_are_stored(staff):
    prices = {"small": {"input": 0.15, "output": 0.6}}
    given = new_endpoint(kind="ollama", more_urls=["https://b.example"], prices=prices)
    saved = endpoints.save_endpoint(staff, given, None)
    saved.prices = {**prices, "free": {"input": 0, "output": 0}}
    endpoints.save_endpoint(staff, saved, None)
    stored = Endpoint.objects.get(pk=saved.pk)
    assert stored.more_urls == ["https://b.example"]
    assert stored.prices == saved.prices
