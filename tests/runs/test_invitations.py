"""Somebody who was handed a link makes an account with the role that was chosen for it, once."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from runs.models import AuditEntry, Invitation, Scope
from runs.roles import Role, stored_role_of
from runs.services.people.invitations import invite, revoke_invitation
from runs.services.people.roles import give_role, set_active
from runs.services.people.tokens import create_token
from tests.harness.factories import PASSWORD, client_of, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return make_person("ada", staff=True)


@pytest.fixture
def link(ada):
    return invite(ada, Role.AUTHOR, 7, "Bob of sales")


def come(path, name="bob", password=PASSWORD, client=None):
    given = {"username": name, "password": password, "password_again": password}
    return (client or Client()).post(path, given)


def test_a_link_makes_one_account_with_its_role_and_then_leads_nowhere(link):
    browser = Client()
    page = browser.get(link.path).content.decode()
    assert "ada invites you to this site as <b>author</b>" in " ".join(page.split())
    assert come(link.path, client=browser).status_code == 302
    bob = User.objects.get(username="bob")
    assert (stored_role_of(bob), bob.is_staff, bob.check_password(PASSWORD)) == (
        Role.AUTHOR,
        False,
        True,
    )
    assert browser.get(reverse("runs")).status_code == 200  # signed in
    assert Client().get(link.path).status_code == 404
    assert come(link.path, "eve").status_code == 404
    assert User.objects.count() == 2
    told = AuditEntry.objects.filter(actor="bob").values_list("action", "detail")
    assert ("person.added", "invited by ada as author") in told
    assert ("invitation.used", "by bob") in told


def test_the_page_shows_the_link_once_and_the_database_never(ada, client):
    admin = client_of(ada)
    answer = admin.post(reverse("person_invite"), {"role": "viewer", "days": 3, "note": "Bob"})
    path = answer.context["invited"].path
    token = path.split("/")[2]
    assert f"http://testserver{path}" in answer.content.decode()
    assert token not in admin.get(reverse("people")).content.decode()
    stored = str(list(Invitation.objects.values())) + str(list(AuditEntry.objects.values()))
    assert token not in stored
    made = Invitation.objects.get()
    assert timedelta(days=2.9) < made.expires - now() < timedelta(days=3.1)
    assert come(path).status_code == 302
    assert stored_role_of(User.objects.get(username="bob")) == Role.VIEWER


def take_back(ada, link):
    client_of(ada).post(reverse("invitation_revoke", args=[link.invitation.pk]))


def grow_old(ada, link):
    Invitation.objects.update(expires=now())


def demote(ada, link):
    give_role(make_person("root", staff=True), ada.pk, Role.OPERATOR)


def close(ada, link):
    set_active(make_person("root", staff=True), ada.pk, is_active=False)


def erase(ada, link):
    User.objects.filter(pk=ada.pk).delete()


@pytest.mark.parametrize("end", [take_back, grow_old, demote, close, erase])
def test_a_link_ends_with_its_time_or_its_maker(ada, link, end):
    assert Client().get(link.path).status_code == 200
    end(ada, link)
    assert Client().get(link.path).status_code == 404
    assert come(link.path).status_code == 404
    assert not User.objects.filter(username="bob").exists()


@pytest.mark.parametrize(
    ("name", "password", "fields"),
    [
        ("ADA", PASSWORD, {"username"}),
        ("a b", PASSWORD, {"username"}),
        ("bob", "short", {"password"}),
        ("bob-of-sales", "bob-of-sales", {"password"}),
        ("ada", "password1234", {"username", "password"}),
    ],
)
def test_names_and_passwords_are_judged_as_elsewhere(link, name, password, fields):
    answer = come(link.path, name, password)
    assert answer.status_code == 400
    assert set(answer.context["form"].errors) == fields
    assert User.objects.count() == 1
    assert Client().get(link.path).status_code == 200


@pytest.mark.usefixtures("still_clock")
def test_who_tries_too_often_has_to_wait(link):
    for _ in range(5):
        assert "password" in come(link.path, password="short").context["form"].errors
    refused = come(link.path).context["form"].errors["__all__"]
    assert "Too many tries" in str(refused)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "given",
    [
        {"role": "root", "days": 3},
        {"role": "", "days": 3},
        {"role": "viewer", "days": 0},
        {"role": "viewer", "days": 91},
        {"role": "viewer", "days": 3, "note": "x" * 81},
    ],
)
def test_a_wrong_invitation_is_not_made(ada, given):
    assert client_of(ada).post(reverse("person_invite"), given).status_code == 400
    token = create_token(ada, "x", [Scope.MANAGE]).text
    assert ask(token, "post", "", given).status_code == 422
    assert not Invitation.objects.exists()


def ask(token, method, path, body=None):
    options = {"content_type": "application/json", "headers": {"Authorization": f"Bearer {token}"}}
    if body is not None:
        options["data"] = body
    return getattr(Client(), method)(f"/api/v1/invitations{path}", **options)


def test_a_script_invites_lists_and_takes_back(ada):
    token = create_token(ada, "x", [Scope.READ, Scope.MANAGE]).text
    made = ask(token, "post", "", {"role": "runner", "note": "Bob"})
    assert made.status_code == 201
    shown = made.json()
    (listed,) = ask(token, "get", "").json()["data"]
    assert listed == {name: value for name, value in shown.items() if name != "link"}
    assert listed["made_by"] == "ada"
    path = shown["link"].removeprefix("http://testserver")
    assert Client().get(path).status_code == 200
    for changed in (True, False):
        assert ask(token, "delete", f"/{shown['id']}").json()["changed"] is changed
    assert ask(token, "get", "").json()["data"] == []
    assert Client().get(path).status_code == 404


def test_services_ask_who_invites(ada, link):
    operator = make_person("olga", role=Role.OPERATOR)
    with pytest.raises(PermissionDenied):
        invite(operator, Role.VIEWER, 7)
    with pytest.raises(PermissionDenied):
        revoke_invitation(operator, link.invitation)
