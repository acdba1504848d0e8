"""A person changes their password; somebody without one chooses it at a link that works once."""

import re
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.roles import Role, role_of
from runs.services.people.passwords import LinkTokens, link_for
from runs.services.people.tokens import authenticate_token, create_token, revoke_token
from tests.harness.factories import PASSWORD, client_of, make_person, make_person_with_password

pytestmark = pytest.mark.django_db

NEW = "seven slow snails racing"
PAGE = "/password/"


@pytest.fixture
def alice():
    return make_person_with_password("alice")


def sign_in(name="alice", password=PASSWORD):
    browser = Client()
    browser.post(reverse("sign_in"), {"username": name, "password": password})
    return browser


def is_signed_in(browser):
    return browser.get(PAGE).status_code == 200


def change(browser, old=PASSWORD, new=NEW, again=NEW):
    return browser.post(PAGE, {"old_password": old, "password": new, "password_again": again})


def test_a_new_password_ends_every_other_session_and_keeps_this_one(alice):
    here, elsewhere = sign_in(), sign_in()
    key = here.session.session_key
    answer = change(here)
    assert answer["Location"] == PAGE
    assert "Your password is changed" in here.get(PAGE).content.decode()
    assert here.session.session_key != key
    assert not is_signed_in(elsewhere)
    assert is_signed_in(sign_in(password=NEW))
    assert not is_signed_in(sign_in())


def test_this_browser_stays_known_and_others_do_not(alice):
    here, elsewhere = sign_in(), sign_in()
    change(here)
    for _ in range(6):
        sign_in(password="wrong guess")
    for browser, gets_in in ((here, True), (elsewhere, False)):
        browser.post(reverse("sign_out"))
        browser.post(reverse("sign_in"), {"username": "alice", "password": NEW})
        assert is_signed_in(browser) == gets_in


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"old": "not mine"}, "This is not your password"),
        ({"new": PASSWORD, "again": PASSWORD}, "This is the password you have"),
        ({"again": "something else"}, "The two passwords differ"),
        ({"new": "short", "again": "short"}, "at least 12 characters"),
        ({"new": "password1234", "again": "password1234"}, "too common"),
        ({"new": "184629573018", "again": "184629573018"}, "entirely numeric"),
        ({"new": "", "again": ""}, "This field is required"),
    ],
)
def test_a_change_that_is_wrong_says_so_and_changes_nothing(alice, given, complaint):
    browser = sign_in()
    answer = change(browser, **given)
    assert answer.status_code == 400
    assert complaint in answer.content.decode()
    assert User.objects.get().check_password(PASSWORD)
    assert PASSWORD not in answer.content.decode()


@pytest.mark.usefixtures("still_clock")
def test_whoever_finds_an_open_session_cannot_guess_the_password_there(alice):
    browser = sign_in()
    pages = [change(browser, old=f"guess {number}").content.decode() for number in range(7)]
    told = ["Too many tries. Wait" in page for page in pages]
    assert told == [False] * 5 + [True] * 2
    assert not change(browser).has_header("Location")
    assert is_signed_in(sign_in()), "the owner still signs in"


def test_the_page_lists_the_tokens_that_go_on(alice):
    kept, revoked = (create_token(alice, name, ["read"]) for name in ("nightly", "of old"))
    revoke_token(revoked.token)
    browser = sign_in()
    page = browser.get(PAGE).content.decode()
    assert kept.token.prefix in page
    assert revoked.token.prefix not in page
    assert reverse("tokens") in page
    change(browser)
    assert authenticate_token(kept.text)


def test_every_page_leads_to_it_by_the_profile(alice):
    browser, profile = sign_in(), reverse("profile")
    assert f'href="{profile}"' in browser.get(reverse("runs")).content.decode()
    assert f'href="{PAGE}"' in browser.get(profile).content.decode()


def test_an_account_without_a_role_may_change_its_password(alice):
    alice.groups.clear()
    assert change(sign_in()).status_code == 302


# --- One-time links


def choose(browser, path, new=NEW, again=NEW):
    return browser.post(path, {"password": new, "password_again": again})


def link_on(answer) -> str:
    found = re.search(r"http://testserver(/password/\d+/[\w-]+/)", answer.content.decode())
    assert found is not None
    return found[1]


@pytest.fixture
def ada():
    return make_person("ada", staff=True, role=Role.ADMIN)


def test_an_administrator_adds_a_person_who_chooses_the_password(ada):
    admin = client_of(ada)
    path = link_on(admin.post(reverse("person_add"), {"username": "bob", "role": "viewer"}))
    bob = User.objects.get(username="bob")
    assert role_of(bob) == Role.VIEWER
    assert not bob.has_usable_password()
    assert path not in admin.get(reverse("people")).content.decode(), "it is shown once"
    stranger = Client()
    assert "bob" in stranger.get(path).content.decode()
    assert choose(stranger, path)["Location"] == reverse("home")
    assert is_signed_in(stranger)
    assert is_signed_in(sign_in("bob", NEW))
    assert Client().get(path).status_code == choose(Client(), path).status_code == 404


@pytest.mark.parametrize(
    ("username", "complaint"),
    [
        ("", "This field is required"),
        ("a b", "Enter a valid username"),
        ("Ada", "There is an account of this name already"),
        ("x" * 151, "at most 150 characters"),
    ],
)
def test_a_person_who_cannot_be_added_is_not(ada, username, complaint):
    answer = client_of(ada).post(reverse("person_add"), {"username": username, "role": "viewer"})
    assert answer.status_code == 400
    assert complaint in answer.content.decode()
    assert User.objects.count() == 1


def test_a_new_password_for_somebody_who_forgot_theirs(ada, alice):
    elsewhere = sign_in()
    path = link_on(client_of(ada).post(reverse("person_password", args=[alice.pk])))
    assert is_signed_in(elsewhere), "until a new one is chosen, nothing changes"
    answer = choose(Client(), path, "short", "short")
    assert "at least 12 characters" in answer.content.decode()
    assert choose(Client(), path).status_code == 302
    assert not is_signed_in(elsewhere)
    assert choose(Client(), path).status_code == 404
    assert django_settings.DEVICE_COOKIE_NAME in sign_in(password=NEW).cookies


def test_a_sign_in_uses_up_the_link(alice):
    path = link_for(alice).path
    sign_in()
    assert Client().get(path).status_code == 404


def test_a_closed_account_has_no_link(ada, alice):
    path = link_for(alice).path
    admin = client_of(ada)
    admin.post(reverse("person_active", args=[alice.pk]), {"active": "no"})
    assert Client().get(path).status_code == 404
    assert admin.post(reverse("person_password", args=[alice.pk])).status_code == 403


def test_a_link_of_somebody_else_opens_no_other_account(ada, alice):
    token = link_for(alice).path.split("/")[3]
    for wrong in ([ada.pk, token], [alice.pk, token[:-1]], [alice.pk, "x-y"], [0, token]):
        assert Client().get(reverse("password_link", args=wrong)).status_code == 404


class PastTokens(LinkTokens):
    def _now(self):
        return super()._now() - timedelta(days=3, seconds=1)


def test_a_link_lives_for_three_days(alice):
    path = reverse("password_link", args=[alice.pk, PastTokens().make_token(alice)])
    assert Client().get(path).status_code == 404


def test_nobody_makes_a_link_for_their_own_account(ada):
    assert client_of(ada).post(reverse("person_password", args=[ada.pk])).status_code == 403
