"""The first account is made once, by link; others are invited, and sign in."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.signing import TimestampSigner
from django.test import Client
from django.urls import resolve, reverse
from django.utils.timezone import now

from runs.models import AuditEntry, Invitation, Scope
from runs.roles import Role, stored_role_of
from runs.selectors.quotas import quota_of
from runs.services.people import accounts
from runs.services.people.invitations import invite, revoke_invitation
from runs.services.people.roles import give_role, set_active
from tests.api.asking import Asker
from tests.harness.factories import PASSWORD, client_of, make_person, make_person_with_password
from tests.runs.conftest import at_once

pytestmark = pytest.mark.django_db


def new_token():
    return TimestampSigner(salt=accounts.SETUP_SALT).sign("setup")


def sign_in(client, username="alice", password=PASSWORD, **more):
    data = {"username": username, "password": password, **more}
    return client.post(reverse("sign_in"), data)


def test_signing_in_leads_to_where_one_wanted_to_go_and_never_to_another_site(client):
    make_person_with_password("alice")
    wanted = reverse("datasets")
    assert client.get(client.get(wanted)["Location"]).status_code == 200
    assert sign_in(client, next=wanted)["Location"] == wanted
    assert client.get(wanted).status_code == 200
    for elsewhere in ("https://evil.example/", "//evil.example", "javascript:alert(1)", r"\\evil"):
        assert sign_in(client, next=elsewhere)["Location"] == "/", elsewhere
    assert client.post(reverse("sign_out"))["Location"] == reverse("sign_in")
    assert client.get(wanted).status_code == 302


def test_the_link_makes_one_administrator_and_then_closes(client):
    assert "one-time link" in client.get(reverse("sign_in")).text  # where it is to be found
    link = accounts.make_setup_link()
    token = resolve(link).kwargs["token"]
    assert client.get(link).status_code == 200
    wrong = {"username": "ada", "password": PASSWORD, "password_again": "short"}
    refused = client.post(link, wrong)
    page = refused.text
    assert (refused.status_code, "The two passwords differ" in page) == (400, True)
    assert ('value="ada"' in page, f'value="{PASSWORD}"' in page) == (True, False)
    weak = {"username": "ada", "password": "password1234", "password_again": "password1234"}
    assert "too common" in client.post(link, weak).text
    assert accounts.needs_setup()
    right = {**wrong, "password_again": PASSWORD}
    assert client.post(link, right)["Location"] == reverse("runs")
    user = User.objects.get()
    assert (user.is_staff, user.is_superuser, user.check_password(PASSWORD)) == (True,) * 3
    assert client.get(reverse("runs")).status_code == 200  # signed in
    quotas = [quota_of(make_person(role.value, role=role)) for role in (Role.RUNNER, Role.AUTHOR)]
    assert {(q.trials_per_run, q.active_runs, q.stored_megabytes) for q in quotas} == {
        (200_000, 5, 2_000)
    }
    assert not accounts.needs_setup()
    assert client.get(link).status_code == 404
    with pytest.raises(accounts.SetupClosedError, match="no longer valid"):
        accounts.create_admin(token, "eve", PASSWORD)
    assert User.objects.filter(is_staff=True).count() == 1


def test_a_token_of_somebody_elses_making_is_refused_and_a_link_lives_for_seven_days(time_machine):
    elsewhere = TimestampSigner(salt="another").sign("setup")  # signed for another use
    for token in ("", "setup", "setup:x:y", elsewhere, "\x00"):
        assert not accounts.check_setup_token(token)
        with pytest.raises(accounts.SetupClosedError):
            accounts.create_admin(token, "eve", PASSWORD)
    assert accounts.needs_setup()
    token, made = new_token(), now()
    for hours, is_good in ((-1, True), (1, False)):
        time_machine.move_to(made + timedelta(days=7, hours=hours))
        assert accounts.check_setup_token(token) == is_good


WEAK = [
    ("ada", "short", {"password"}),
    ("ada", "password1234", {"password"}),
    ("ada", "184629573018", {"password"}),
    ("ada-of-lovelace", "ada-of-lovelace", {"password"}),
    ("", PASSWORD, {"username"}),
    ("a b", PASSWORD, {"username"}),
    ("x" * 151, PASSWORD, {"username"}),
    ("", "short", {"username", "password"}),
]


def test_a_weak_start_is_refused_field_by_field():
    for username, password, fields in WEAK:
        with pytest.raises(ValidationError) as error:
            accounts.create_admin(new_token(), username, password)
        assert set(error.value.message_dict) == fields
    assert accounts.needs_setup()


@pytest.mark.postgresql("locks: two set-ups at once")
@pytest.mark.django_db(transaction=True)
def test_of_two_people_at_once_only_one_becomes_administrator():
    token = new_token()

    def become_admin(name):
        try:
            return accounts.create_admin(token, name, PASSWORD)
        except accounts.SetupClosedError:
            return None

    made = at_once(partial(become_admin, "ada"), partial(become_admin, "eve"))
    assert User.objects.get() in made
    assert made.count(None) == 1


# --- Invitations: an account with the role that was chosen for it, once


@pytest.fixture
def link(ada):
    return invite(ada, Role.AUTHOR, 7, "Bob of sales")


def come(path, name="bob", password=PASSWORD, client=None):
    given = {"username": name, "password": password, "password_again": password}
    return (client or Client()).post(path, given)


def test_a_link_makes_one_account_with_its_role_and_then_leads_nowhere(link):
    browser = Client()
    page = browser.get(link.path).text
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


def test_the_page_shows_the_link_once_and_the_database_never(ada):
    admin = client_of(ada)
    answer = admin.post(reverse("person_invite"), {"role": "viewer", "days": 3, "note": "Bob"})
    path = answer.context["invited"].path
    token = path.split("/")[2]
    assert f"http://testserver{path}" in answer.text
    assert token not in admin.get(reverse("people")).text
    stored = str(list(Invitation.objects.values())) + str(list(AuditEntry.objects.values()))
    assert token not in stored
    assert timedelta(days=2.9) < Invitation.objects.get().expires - now() < timedelta(days=3.1)
    assert come(path).status_code == 302
    assert stored_role_of(User.objects.get(username="bob")) == Role.VIEWER


ENDS = {
    "taken back": lambda ada, link: client_of(ada).post(
        reverse("invitation_revoke", args=[link.invitation.pk])
    ),
    "too old": lambda ada, link: Invitation.objects.update(expires=now()),
    "its maker is no administrator": lambda ada, link: give_role(
        make_person("root", staff=True), ada.pk, Role.OPERATOR
    ),
    "the account of its maker is closed": lambda ada, link: set_active(
        make_person("root", staff=True), ada.pk, is_active=False
    ),
    "its maker is erased": lambda ada, link: User.objects.filter(pk=ada.pk).delete(),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_link_ends_with_its_time_or_its_maker(ada, link, end):
    assert Client().get(link.path).status_code == 200
    end(ada, link)
    assert Client().get(link.path).status_code == 404
    assert come(link.path).status_code == 404
    assert not User.objects.filter(username="bob").exists()


@pytest.mark.usefixtures("still_clock")
def test_who_tries_too_often_has_to_wait(link):
    """Names and passwords are judged as elsewhere."""
    for name, password, fields in (
        ("ADA", PASSWORD, {"username"}),
        ("a b", PASSWORD, {"username"}),
        ("bob", "short", {"password"}),
        ("bob-of-sales", "bob-of-sales", {"password"}),
        ("ada", "password1234", {"username", "password"}),
    ):
        answer = come(link.path, name, password)
        assert (answer.status_code, set(answer.context["form"].errors)) == (400, fields)
    assert "Too many tries" in str(come(link.path).context["form"].errors["__all__"])
    assert User.objects.count() == 1


def test_a_script_invites_lists_and_takes_back_if_it_may(ada):
    asker = Asker(ada, Scope.READ, Scope.MANAGE)
    wrong: list[dict[str, Any]] = [
        {"role": "root", "days": 3},
        {"role": "", "days": 3},
        {"role": "viewer", "days": 0},
        {"role": "viewer", "days": 91},
        {"role": "viewer", "days": 3, "note": "x" * 81},
    ]
    assert [asker.post("/invitations", given).status_code for given in wrong] == [422] * 5
    assert client_of(ada).post(reverse("person_invite"), wrong[-1]).status_code == 400
    assert not Invitation.objects.exists()
    made = asker.post("/invitations", {"role": "runner", "note": "Bob"})
    assert made.status_code == 201
    shown = made.json()
    (listed,) = asker.get("/invitations").json()["data"]
    assert listed == {name: value for name, value in shown.items() if name != "link"}
    assert listed["made_by"] == "ada"
    path = shown["link"].removeprefix("http://testserver")
    assert Client().get(path).status_code == 200
    for changed in (True, False):
        assert asker.ask("delete", f"/invitations/{shown['id']}").json()["changed"] is changed
    assert asker.get("/invitations").json()["data"] == []
    assert Client().get(path).status_code == 404
    operator = make_person("olga", role=Role.OPERATOR)
    for act, about in ((invite, (Role.VIEWER, 7)), (revoke_invitation, Invitation.objects.all())):
        with pytest.raises(PermissionDenied):
            act(operator, *about)
