"""The first account is made once, by link; others come by invitation; nobody guesses for long."""

import time
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.signing import TimestampSigner, b62_encode
from django.db import connection
from django.test import Client
from django.urls import resolve, reverse
from django.utils.timezone import now

from runs.models import AuditEntry, Invitation, Scope, SignInFailure
from runs.roles import Role, stored_role_of
from runs.services.people import accounts, throttle
from runs.services.people.invitations import invite, revoke_invitation
from runs.services.people.roles import give_role, set_active
from runs.services.people.throttle import TooManyTries, begin_try, new_try
from tests.api.asking import Asker
from tests.harness.factories import PASSWORD, client_of, make_person

pytestmark = pytest.mark.django_db


def new_token():
    return TimestampSigner(salt=accounts.SETUP_SALT).sign("setup")


def test_the_link_makes_one_administrator_and_then_closes():
    assert accounts.needs_setup()
    link = accounts.make_setup_link()
    token = resolve(link).kwargs["token"]
    assert accounts.check_setup_token(token)
    user = accounts.create_admin(token, "ada", PASSWORD)
    assert user.is_staff
    assert user.is_superuser
    assert user.check_password(PASSWORD)
    assert not accounts.needs_setup()
    assert not accounts.check_setup_token(token)
    with pytest.raises(accounts.SetupClosedError, match="no longer valid"):
        accounts.create_admin(token, "eve", PASSWORD)
    assert User.objects.count() == 1


def test_a_token_of_somebody_elses_making_is_refused():
    elsewhere = TimestampSigner(salt="another").sign("setup")  # signed for another use
    for token in ("", "setup", "setup:x:y", elsewhere, "\x00"):
        assert not accounts.check_setup_token(token)
        with pytest.raises(accounts.SetupClosedError):
            accounts.create_admin(token, "eve", PASSWORD)
    assert accounts.needs_setup()


class PastSigner(TimestampSigner):
    def __init__(self, age):
        super().__init__(salt=accounts.SETUP_SALT)
        self.age = age

    def timestamp(self):
        return b62_encode(int(time.time() - self.age.total_seconds()))


@pytest.mark.parametrize(("hours", "is_good"), [(7 * 24 - 1, True), (7 * 24 + 1, False)])
def test_a_link_lives_for_seven_days(hours, is_good):
    token = PastSigner(timedelta(hours=hours)).sign("setup")
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


def at_once(*acts):
    """Each in a thread of its own, all from the same moment on."""
    together = Barrier(len(acts))

    def begin(act):
        together.wait()
        try:
            act()
        finally:
            connection.close()

    threads = [Thread(target=begin, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.postgresql("locks: two set-ups at once")
@pytest.mark.django_db(transaction=True)
def test_of_two_people_at_once_only_one_becomes_administrator():
    token, refused = new_token(), []

    def become_admin(name):
        try:
            accounts.create_admin(token, name, PASSWORD)
        except accounts.SetupClosedError:
            refused.append(name)

    at_once(lambda: become_admin("ada"), lambda: become_admin("eve"))
    assert User.objects.count() == 1
    assert len(refused) == 1


@pytest.mark.usefixtures("still_clock")
def test_guessing_from_everywhere_is_stopped_too():
    for number in range(throttle.ACCOUNT.free):
        begin_try(new_try("ada", f"10.0.1.{number}"))
    with pytest.raises(TooManyTries):
        begin_try(new_try("ada", "10.9.9.9"))
    begin_try(new_try("bob", "10.9.9.9"))


@pytest.mark.postgresql("locks: guesses at the same moment")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("still_clock")
def test_guesses_at_the_same_moment_see_each_other():
    """Thirty at once would all have found fewer than five failures."""
    checked = []

    def try_it():
        try:
            begin_try(new_try("ada", "10.0.0.1"))
            checked.append(True)
        except TooManyTries:
            pass

    at_once(*[try_it] * 30)
    assert 1 <= len(checked) <= 10  # PostgreSQL may number rows before their elders are stored
    assert SignInFailure.objects.count() == len(checked)


# --- Invitations: an account with the role that was chosen for it, once


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


def test_the_page_shows_the_link_once_and_the_database_never(ada):
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


def test_names_and_passwords_are_judged_as_elsewhere(link):
    for name, password, fields in (
        ("ADA", PASSWORD, {"username"}),
        ("a b", PASSWORD, {"username"}),
        ("bob", "short", {"password"}),
        ("bob-of-sales", "bob-of-sales", {"password"}),
        ("ada", "password1234", {"username", "password"}),
    ):
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


def test_a_wrong_invitation_is_not_made(ada):
    for given in (
        {"role": "root", "days": 3},
        {"role": "", "days": 3},
        {"role": "viewer", "days": 0},
        {"role": "viewer", "days": 91},
        {"role": "viewer", "days": 3, "note": "x" * 81},
    ):
        assert client_of(ada).post(reverse("person_invite"), given).status_code == 400
        assert Asker(ada, Scope.MANAGE).post("/invitations", given).status_code == 422
    assert not Invitation.objects.exists()


def test_a_script_invites_lists_and_takes_back(ada):
    asker = Asker(ada, Scope.READ, Scope.MANAGE)
    made = asker.post("/invitations", {"role": "runner", "note": "Bob"})
    assert made.status_code == 201
    shown = made.json()
    (listed,) = asker.get("/invitations").json()["data"]
    assert listed == {name: value for name, value in shown.items() if name != "link"}
    assert listed["made_by"] == "ada"
    path = shown["link"].removeprefix("http://testserver")
    assert Client().get(path).status_code == 200
    for changed in (True, False):
        answer = asker.ask("delete", f"/invitations/{shown['id']}").json()
        assert answer["changed"] is changed
    assert asker.get("/invitations").json()["data"] == []
    assert Client().get(path).status_code == 404


def test_services_ask_who_invites(ada, link):
    operator = make_person("olga", role=Role.OPERATOR)
    with pytest.raises(PermissionDenied):
        invite(operator, Role.VIEWER, 7)
    with pytest.raises(PermissionDenied):
        revoke_invitation(operator, link.invitation)
