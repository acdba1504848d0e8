"""Administrators give and take roles and close accounts; who is told whom to ask, and addresses."""

import logging
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpResponse
from django.test import Client
from django.urls import include, path, reverse

from runs.models import EndpointKind, Run, Scope
from runs.roles import PERMISSIONS, Permission, Role, role_of
from runs.routing import socket
from runs.services.people.roles import give_role, set_active
from runs.services.people.tokens import create_token
from tests.api.asking import Asker
from tests.harness.factories import add_score, client_of, make_dataset, make_person, make_run
from tests.harness.table import table
from tests.runs.comparing_parts import make_selection

pytestmark = pytest.mark.django_db


def forgotten(request):
    return HttpResponse("everybody sees this")


# The site, and a page whose author forgot to say who may open it.
urlpatterns = [path("forgotten/", forgotten), path("", include("evalsite.urls"))]


@pytest.fixture
def vic(db):
    """A viewer."""
    return make_person("vic", role=Role.VIEWER)


def fresh(person: User) -> User:
    return User.objects.get(pk=person.pk)


@table(*Role, None)
def test_an_administrator_gives_a_role_that_holds_at_once(ada, vic, role):
    browser = client_of(vic)
    sent = {"role": role.value if role else ""}
    assert client_of(ada).post(reverse("person_role", args=[vic.pk]), sent).status_code == 302
    assert role_of(fresh(vic)) == role
    may_launch = role is not None and Permission.LAUNCH in PERMISSIONS[role]
    assert browser.get(reverse("run_new")).status_code == (200 if may_launch else 403)
    assert fresh(vic).is_superuser == (role == Role.ADMIN)


def test_accounts_from_before_there_were_roles_go_on_as_they_did():
    before = {name: make_person(name, role=None) for name in ("alice", "bob")}
    root = make_person("root", staff=True, role=None)
    import_module("runs.migrations.0013_roles").give_roles(apps, None)
    assert {role_of(fresh(person)) for person in before.values()} == {Role.RUNNER}
    assert role_of(fresh(root)) == Role.ADMIN


def test_no_one_changes_their_own_account_or_role(ada, caplog, django_capture_on_commit_callbacks):
    for name in ("person_role", "person_active"):
        assert client_of(ada).post(reverse(name, args=[ada.pk])).status_code == 403
    assert role_of(fresh(ada)) == Role.ADMIN
    second, third = (make_person(name, staff=True) for name in ("second", "third"))
    with caplog.at_level(logging.INFO), django_capture_on_commit_callbacks(execute=True):
        give_role(ada, second.pk, Role.VIEWER)
        set_active(ada, third.pk, is_active=False)
    told = [record.getMessage() for record in caplog.records]
    assert "ada gave second the role viewer." in told
    assert "ada closed the account of third." in told
    assert role_of(fresh(second)) == Role.VIEWER
    assert client_of(second).get(reverse("people")).status_code == 403
    with pytest.raises(PermissionDenied):
        set_active(third, ada.pk, is_active=False)
    assert fresh(ada).is_active


def test_a_closed_account_is_signed_out_and_its_tokens_are_refused(ada, vic):
    browser = client_of(vic)
    headers = {"Authorization": f"Bearer {create_token(vic, 'x', [Scope.READ]).text}"}
    assert Client().get("/api/v1/runs", headers=headers).status_code == 200
    admin, address = client_of(ada), reverse("person_active", args=[vic.pk])
    admin.post(address, {"active": "no"})
    assert browser.get(reverse("runs")).status_code == 302
    assert Client().get("/api/v1/runs", headers=headers).status_code == 401
    assert "closed" in admin.get(reverse("people")).content.decode()
    admin.post(address, {"active": "yes"})
    assert Client().get("/api/v1/runs", headers=headers).status_code == 200


def test_a_refusal_says_what_it_takes_and_whom_to_ask_and_offers_no_role_or_scope_in_vain(ada, vic):
    page = client_of(vic).post(reverse("run_demo")).content.decode()
    assert "You may not start or control runs. Your role is viewer" in page
    assert "the role runner or a higher one. Ask an administrator (ada)" in page
    headers = {"Authorization": f"Bearer {create_token(vic, 'x', list(Scope)).text}"}
    told = Client().post("/api/v1/runs", headers=headers).json()["detail"]
    assert told.startswith("You may not start or control runs.")
    address = reverse("person_role", args=[vic.pk])
    answer = client_of(ada).post(address, {"role": "king"}, follow=True)
    assert "Choose one of: viewer, runner" in answer.content.decode()
    assert role_of(fresh(vic)) == Role.VIEWER
    page = client_of(vic).get(reverse("tokens")).content.decode()
    assert 'value="read"' in page
    assert 'value="run"' not in page
    answer = client_of(make_person("new", role=None)).get(reverse("runs"))
    assert (answer.status_code, "Your account has no role yet" in answer.text) == (403, True)
    assert reverse("sign_out") in answer.text


def test_a_run_is_seen_by_viewers_while_it_is_shared(alice, vic):
    run = make_run(alice, make_dataset(alice))
    owner, viewer = client_of(alice), client_of(vic)
    assert viewer.get(run.get_absolute_url()).status_code == 404
    owner.post(reverse("run_share", args=[run.pk]), {"share": "yes"})
    assert "by alice" in viewer.get(run.get_absolute_url()).text
    assert run.name in viewer.get(reverse("runs")).text
    assert "alice shared this run." in owner.get(reverse("run_events", args=[run.pk])).text
    owner.post(reverse("run_share", args=[run.pk]), {"share": "no"})
    assert viewer.get(run.get_absolute_url()).status_code == 404


@pytest.mark.urls(__name__)
def test_a_page_that_declares_nothing_is_refused_to_everybody(ada):
    answer = client_of(ada).get("/forgotten/")
    assert answer.status_code == 403
    assert "does not say who may open it" in answer.content.decode()


def test_a_socket_that_declares_nothing_cannot_be_routed():
    class Forgotten:
        pass

    with pytest.raises(ImproperlyConfigured, match="Forgotten declares no permission"):
        socket("ws/forgotten/", Forgotten)


TOLD = ("gpu.internal.example", "spare.internal.example", "org-of-the-company", "X-Team", "jane@")


def test_viewers_are_told_no_addresses_proxies_and_options(alice, endpoint, dataset):
    endpoint.kind, endpoint.options = EndpointKind.OPENAI, {"organization": TOLD[2]}
    endpoint.base_url, endpoint.more_urls = f"https://{TOLD[0]}/v1", [f"https://{TOLD[1]}/v1"]
    endpoint.header_names, endpoint.proxy_shown = [TOLD[3]], f"http://{TOLD[4]}proxy.example:80"
    endpoint.private_addresses = [f"{TOLD[0]}:443"]
    endpoint.save()
    run = make_run(alice, dataset, is_shared=True)
    add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0)
    pages = [reverse("endpoints"), endpoint.get_absolute_url(), reverse("trial", args=[run.pk, 0])]
    routes = ["/endpoints", f"/endpoints/{endpoint.name}"]
    for person, told in ((alice, True), (make_person("vera", role=Role.VIEWER), False)):
        client, asker = client_of(person), Asker(person)
        seen = [client.get(page).text for page in pages]
        seen += [asker.get(route).text for route in routes]
        assert [any(word in text for word in TOLD) for text in seen] == [told] * 5


def test_viewers_take_no_file_with_addresses_along(alice, dataset):
    """The matrix of roles asks the same of the API's route."""
    run = make_selection(alice, dataset)
    Run.objects.update(is_shared=True)
    file = reverse("run_file", args=[run.pk, "litellm.yaml"])
    vera = make_person("vera", role=Role.VIEWER)
    assert [client_of(one).get(file).status_code for one in (alice, vera)] == [200, 403]
    assert "litellm" in client_of(alice).get(run.get_absolute_url()).text
    assert "litellm" not in client_of(vera).get(run.get_absolute_url()).text
