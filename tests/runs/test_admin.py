"""In the admin an operator sets things up, sees everything, and never sees a key."""

import json
import logging

import pytest
import yaml
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.urls import reverse

from runs import secrets
from runs.models import Configuration, Endpoint, EndpointKind
from runs.selectors.endpoints.manner import headers_of, own_proxy

CANARY = "sk-canary-0123456789abcdef"
DOCUMENT = {
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": [{"name": "plain", "user": "{{question}}"}],
    "models": ["simulated/sim-small"],
    "scorers": [{"numeric": {"tolerance": 0.001}}],
}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()


@pytest.fixture
def page(client, ada):
    ada.is_superuser = True
    ada.save()
    client.force_login(ada)
    return client


def address(model, name="changelist", *args):
    return reverse(f"admin:runs_{model._meta.model_name}_{name}", args=args)


def text_of(response):
    return response.content.decode()


def endpoint_form(**fields):
    return {
        "name": "openai-main",
        "kind": "openai",
        "base_url": "https://provider.example/v1",
        "model_names": "small\nlarge",
        "max_concurrent": "20",
        "requests_per_minute": "",
        "new_key": "",
        **fields,
    }


def configuration_form(document=DOCUMENT, **fields):
    text = document if isinstance(document, str) else yaml.safe_dump(document)
    return {"name": "sums", "description": "", "document": text, **fields}


def every_page(page):
    """Every list, add, view, history and delete page of the admin, with what it answered."""
    addresses = [reverse("admin:index"), reverse("admin:app_list", args=["runs"])]
    for model in admin.site._registry:
        prefix = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        addresses += [reverse(f"{prefix}_changelist"), reverse(f"{prefix}_add")]
        for pk in model._default_manager.values_list("pk", flat=True)[:3]:
            addresses += [
                reverse(f"{prefix}_{name}", args=[pk]) for name in ("change", "history", "delete")
            ]
    return [(address, page.get(address)) for address in addresses]


def test_a_stranger_is_sent_to_the_sign_in_page_that_counts_failures(client):
    answer = client.get(reverse("admin:index"), follow=True)
    assert answer.redirect_chain[-1][0].startswith(reverse("sign_in"))
    answer = client.post(reverse("admin:login"), {"username": "ada", "password": "x"})
    assert answer.status_code == 302


def test_a_member_who_is_not_staff_is_refused_and_not_sent_in_circles(client, bob):
    client.force_login(bob)
    answer = client.get(reverse("admin:index"), follow=True)
    assert answer.status_code == 403


ACCOUNT_PAGES = [
    "auth/",
    "auth/user/",
    "auth/user/add/",
    "auth/user/{pk}/change/",
    "auth/user/{pk}/password/",
    "auth/user/{pk}/delete/",
    "auth/group/",
    "auth/group/add/",
    "auth/group/{group}/change/",
    "auth/group/{group}/delete/",
]
SENT = {
    "username": "eve",
    "password1": "nine quiet herons wading",
    "password2": "nine quiet herons wading",
    "usable_password": "true",
    "is_superuser": "on",
    "is_staff": "on",
    "name": "admins",
    "post": "yes",
    "action": "delete_selected",
}


def test_accounts_and_roles_are_changed_on_the_page_people_only(page, ada):
    """There, nobody closes their own account, so that one administrator stays."""
    group = Group.objects.get(name="admin")
    groups = set(Group.objects.values_list())
    sent = {**SENT, "_selected_action": [ada.pk]}
    answers = {}
    for path in ACCOUNT_PAGES:
        here = f"{reverse('admin:index')}{path.format(pk=ada.pk, group=group.pk)}"
        answers[path] = (page.get(here).status_code, page.post(here, sent).status_code)
    assert {path: found for path, found in answers.items() if found != (404, 404)} == {}
    kept = User.objects.get()
    assert (kept.username, kept.is_superuser, kept.is_active) == ("ada", True, True)
    assert set(Group.objects.values_list()) == groups


def test_the_admin_knows_no_table_of_accounts_sessions_or_tokens():
    tables = {model._meta.label for model in admin.site._registry}
    assert not {name for name in tables if not name.startswith("runs.")}
    assert not tables & {"runs.ApiToken", "runs.SignInFailure"}


def test_the_admin_sends_people_to_the_one_page_that_changes_passwords(page):
    for send in (page.get, page.post):
        assert send(reverse("admin:password_change"))["Location"] == reverse("password")


def test_an_endpoint_is_added_with_its_key_encrypted(page, ada):
    answer = page.post(address(Endpoint, "add"), endpoint_form(new_key=CANARY))
    assert answer.status_code == 302
    stored = Endpoint.objects.get()
    assert stored.model_names == ["small", "large"]
    assert secrets.decrypt(stored.key_ciphertext) == CANARY
    assert stored.key_set_by == ada
    shown = text_of(page.get(address(Endpoint, "change", stored.pk)))
    assert "…cdef" in shown
    assert "by ada" in shown


def test_a_key_is_kept_replaced_or_removed(page):
    page.post(address(Endpoint, "add"), endpoint_form(new_key=CANARY))
    stored = Endpoint.objects.get()
    for change, key in (
        ({}, CANARY),
        ({"new_key": "sk-another-9876543210"}, "sk-another-9876543210"),
        ({"remove_key": "on"}, None),
    ):
        answer = page.post(address(Endpoint, "change", stored.pk), endpoint_form(**change))
        assert answer.status_code == 302
        stored.refresh_from_db()
        assert (secrets.decrypt(stored.key_ciphertext) if stored.has_key else None) == key


def password_of(endpoint):
    proxy = own_proxy(endpoint)
    return proxy and proxy.password


def test_headers_proxy_and_what_its_kind_can_be_told_are_stored_and_kept(page):
    told = {"kind": "azure", "base_url": "https://ours.openai.azure.com"}
    told |= {"new_headers": f"X-Team: {CANARY}", "option_azure_api_version": "2025-01-01-preview"}
    told |= {"new_proxy": f"http://ada:{CANARY}@8.8.8.8:3128"}
    assert page.post(address(Endpoint, "add"), endpoint_form(**told)).status_code == 302
    stored = Endpoint.objects.get()
    assert headers_of(stored) == {"X-Team": CANARY}
    assert password_of(stored) == CANARY
    assert stored.options == {"api_version": "2025-01-01-preview"}
    shown = text_of(page.get(address(Endpoint, "change", stored.pk)))
    assert "Set: X-Team" in shown
    assert CANARY not in shown
    kept = {**told, "new_headers": "", "new_proxy": stored.proxy_shown}
    page.post(address(Endpoint, "change", stored.pk), endpoint_form(**kept))
    stored.refresh_from_db()
    assert (headers_of(stored), password_of(stored)) == ({"X-Team": CANARY}, CANARY)


WRONG_ENDPOINTS = [
    ({"base_url": "http://10.0.0.1/v1"}, "base_url", "under Private addresses"),
    ({"name": "Not Good"}, "name", "lower-case"),
    ({"new_key": "with space inside"}, "new_key", "printable ASCII"),
    ({"new_key": CANARY, "remove_key": "on"}, "remove_key", "not both"),
    ({"new_proxy": "proxy.example"}, "new_proxy", "Write it as"),
]


def test_a_wrong_endpoint_is_refused_at_its_field(page):
    for fields, field, message in WRONG_ENDPOINTS:
        answer = page.post(address(Endpoint, "add"), endpoint_form(**fields))
        assert answer.status_code == 200, fields
        assert message in str(answer.context["adminform"].form.errors[field])
    assert not Endpoint.objects.exists()


def test_a_connection_is_tested_from_the_list(page):
    Endpoint.objects.create(
        name="lost", kind=EndpointKind.OPENAI, base_url="http://127.0.0.1:9999/v1"
    )
    chosen = {"action": "test_connections", "_selected_action": [Endpoint.objects.get().pk]}
    shown = text_of(page.post(address(Endpoint), chosen, follow=True))
    assert "Lost: 127.0.0.1:9999 is at a private address (loopback)" in shown


def test_an_endpoint_is_deleted_from_page_and_list(page):
    for name in ("one", "two"):
        page.post(address(Endpoint, "add"), endpoint_form(name=name))
    one, two = Endpoint.objects.order_by("name")
    page.post(address(Endpoint, "delete", one.pk), {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [two.pk], "post": "yes"}
    page.post(address(Endpoint), chosen)
    assert not Endpoint.objects.exists()


def dump_of_the_database():
    """Every row of every table, as text."""
    lines = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            lines += [f"{table}: {row!r}" for row in cursor.fetchall()]
    return "\n".join(lines)


def test_a_key_is_on_no_page_in_no_log_and_not_in_the_database(page, caplog):
    """And every page of the admin opens."""
    caplog.set_level(logging.DEBUG)
    page.post(address(Configuration, "add"), configuration_form())
    answers = [page.post(address(Endpoint, "add"), endpoint_form(new_key=CANARY), follow=True)]
    stored = Endpoint.objects.get()
    change = address(Endpoint, "change", stored.pk)
    opened = dict(every_page(page))
    assert {answer.status_code for answer in opened.values()} == {200, 403}
    refused = {address for address, answer in opened.items() if answer.status_code == 403}
    assert all(address.endswith(("/add/", "/delete/")) for address in refused)
    assert "evalsite" in text_of(opened[reverse("admin:index")])
    answers += [
        page.post(change, endpoint_form(new_key=CANARY, name="Bad Name")),
        page.post(change, endpoint_form(new_key=CANARY, max_concurrent="7"), follow=True),
        *opened.values(),
        page.get(change),
        page.get(address(Endpoint, "history", stored.pk)),
    ]
    assert Endpoint.objects.get().max_concurrent == 7
    assert not [answer for answer in answers if CANARY in text_of(answer)]
    assert not [answer for answer in answers if stored.key_ciphertext in text_of(answer)]
    assert CANARY not in caplog.text
    assert CANARY not in dump_of_the_database()
    assert "openai-main" in dump_of_the_database()  # the dump does see what is stored


@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps], ids=["YAML", "JSON"])
def test_a_configuration_is_written_as_yaml_or_json(page, ada, write):
    form = configuration_form(write(DOCUMENT), description="Adds", is_preset="on")
    answer = page.post(address(Configuration, "add"), form)
    assert answer.status_code == 302
    stored = Configuration.objects.get()
    assert stored.document == DOCUMENT
    assert (stored.kind, stored.version, stored.is_preset) == ("evaluate", 1, True)
    assert stored.owner == ada
    shown = text_of(page.get(address(Configuration, "change", stored.pk)))
    assert "kind: evaluate" in shown


def test_a_changed_document_is_the_next_version_and_an_unchanged_one_is_not(page):
    page.post(address(Configuration, "add"), configuration_form())
    change = address(Configuration, "change", Configuration.objects.get().pk)
    page.post(change, configuration_form(description="Now described"))
    assert Configuration.objects.get().version == 1
    page.post(change, configuration_form({**DOCUMENT, "repeats": 3}))
    stored = Configuration.objects.get()
    assert stored.version == 2
    assert stored.document["repeats"] == 3


WRONG_DOCUMENTS = [
    ("kind: [", ["in line 1"]),
    ("just text", ["A configuration is a mapping"]),
    ({**DOCUMENT, "scorers": [{"numeric": {"tol": 1}}]}, ["scorers", "It takes: tolerance"]),
    ({**DOCUMENT, "repeats": 0, "models": []}, ["repeats: ", "models: "]),
    ("a: &a [x]\nb: *a", ["aliases"]),
]


def test_every_problem_of_a_document_is_shown_at_its_field(page):
    for document, problems in WRONG_DOCUMENTS:
        sent = configuration_form(document)
        answer = page.post(address(Configuration, "add"), sent)
        assert answer.status_code == 200, document
        form = answer.context["adminform"].form
        errors = " ".join(form.errors["document"])
        assert all(problem in errors for problem in problems), errors
        assert form["document"].value() == sent["document"]  # not lost
    assert not Configuration.objects.exists()


def test_a_name_stays_what_it_is(page):
    page.post(address(Configuration, "add"), configuration_form())
    again = page.post(address(Configuration, "add"), configuration_form())
    assert "already exists" in text_of(again)
    change = address(Configuration, "change", Configuration.objects.get().pk)
    page.post(change, configuration_form(name="other"))
    assert [stored.name for stored in Configuration.objects.all()] == ["sums"]


def test_presets_are_offered_and_withdrawn_from_the_list(page):
    page.post(address(Configuration, "add"), configuration_form())
    chosen = [Configuration.objects.get().pk]
    for action, expected in (("offer_as_preset", True), ("withdraw_preset", False)):
        page.post(address(Configuration), {"action": action, "_selected_action": chosen})
        assert Configuration.objects.get().is_preset is expected
