"""What people do with their own account: password, one-time links, theme and time zone."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from runs.models import AuditEntry, Profile
from runs.roles import Role, role_of
from runs.selectors.profiles import time_zones
from runs.services.people.passwords import link_for
from runs.services.people.profiles import change_profile
from runs.services.people.tokens import authenticate_token, create_token, revoke_token
from tests.api.asking import Asker
from tests.harness.factories import PASSWORD, client_of, make_person_with_password, make_run

pytestmark = pytest.mark.django_db

NEW = "seven slow snails racing"
PAGE = "/password/"


@pytest.fixture
def alice(db):
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
    kept, revoked = (create_token(alice, name, ["read"]) for name in ("nightly", "of old"))
    revoke_token(revoked.token)
    here, elsewhere = sign_in(), sign_in()
    page = here.get(PAGE).text
    assert (kept.token.prefix in page, revoked.token.prefix in page) == (True, False)
    assert reverse("tokens") in page
    key = here.session.session_key
    assert change(here)["Location"] == PAGE
    assert "Your password is changed" in here.get(PAGE).text
    assert here.session.session_key != key
    assert not is_signed_in(elsewhere)
    assert is_signed_in(sign_in(password=NEW))
    assert not is_signed_in(sign_in())
    assert authenticate_token(kept.text), "tokens go on"


@pytest.mark.usefixtures("still_clock")
def test_this_browser_stays_known_and_others_do_not(alice):
    alice.groups.clear()  # a change needs no role
    here, elsewhere = sign_in(), sign_in()
    assert change(here).status_code == 302
    for _ in range(6):
        sign_in(password="wrong guess")
    for browser, gets_in in ((here, True), (elsewhere, False)):
        browser.post(reverse("sign_out"))
        browser.post(reverse("sign_in"), {"username": "alice", "password": NEW})
        assert is_signed_in(browser) == gets_in


WRONG_CHANGES = [
    ({"old": "not mine"}, "This is not your password"),
    ({"new": PASSWORD, "again": PASSWORD}, "This is the password you have"),
    ({"again": "something else"}, "The two passwords differ"),
    ({"new": "short", "again": "short"}, "at least 12 characters"),
    ({"new": "", "again": ""}, "This field is required"),
]


@pytest.mark.usefixtures("still_clock")
def test_a_change_that_is_wrong_says_so_and_whoever_finds_an_open_session_cannot_guess(alice):
    browser = client_of(alice)
    for given, complaint in WRONG_CHANGES:
        answer = change(browser, **given)
        assert (answer.status_code, complaint in answer.text) == (400, True), complaint
        assert PASSWORD not in answer.text
    pages = [change(browser, old=f"guess {number}").text for number in range(7)]
    assert ["Too many tries. Wait" in page for page in pages] == [False] * 5 + [True] * 2
    assert not change(browser).has_header("Location")
    assert User.objects.get().check_password(PASSWORD)
    assert is_signed_in(sign_in()), "the owner still signs in"


def choose(browser, path, new=NEW, again=NEW):
    return browser.post(path, {"password": new, "password_again": again})


def link_on(answer):
    found = re.search(r"http://testserver(/password/\d+/[\w-]+/)", answer.text)
    assert found is not None
    return found[1]


@pytest.mark.postgresql("locks: of two who use a link at once, one is first")
def test_an_administrator_adds_a_person_who_chooses_the_password(ada):
    admin = client_of(ada)
    for username, complaint in (
        ("", "This field is required"),
        ("Ada", "There is an account of this name already"),
        ("x" * 151, "at most 150 characters"),
    ):
        answer = admin.post(reverse("person_add"), {"username": username, "role": "viewer"})
        assert (answer.status_code, complaint in answer.text) == (400, True), complaint
    assert User.objects.count() == 1
    path = link_on(admin.post(reverse("person_add"), {"username": "bob", "role": "viewer"}))
    bob = User.objects.get(username="bob")
    assert role_of(bob) == Role.VIEWER
    assert not bob.has_usable_password()
    assert path not in admin.get(reverse("people")).text, "it is shown once"
    stranger = Client()
    assert "bob" in stranger.get(path).text
    assert choose(stranger, path)["Location"] == reverse("home")
    assert is_signed_in(stranger)
    assert is_signed_in(sign_in("bob", NEW))
    assert Client().get(path).status_code == choose(Client(), path).status_code == 404


def test_a_new_password_for_somebody_who_forgot_theirs(ada, alice):
    elsewhere = sign_in()
    path = link_on(client_of(ada).post(reverse("person_password", args=[alice.pk])))
    assert is_signed_in(elsewhere), "until a new one is chosen, nothing changes"
    assert "at least 12 characters" in choose(Client(), path, "short", "short").text
    assert choose(Client(), path).status_code == 302
    assert not is_signed_in(elsewhere)
    assert choose(Client(), path).status_code == 404
    assert django_settings.DEVICE_COOKIE_NAME in sign_in(password=NEW).cookies
    assert client_of(ada).post(reverse("person_password", args=[ada.pk])).status_code == 403, (
        "nobody makes one for the own account"
    )


def test_a_link_is_for_one_open_account_for_three_days_and_until_a_sign_in(
    ada, alice, time_machine
):
    def opens(path):
        return Client().get(path).status_code == 200

    path = link_for(alice).path
    assert opens(path)
    time_machine.move_to(now() + timedelta(days=3, seconds=1))
    assert not opens(path)
    path = link_for(alice).path
    assert opens(path)
    token = path.split("/")[3]
    for wrong in ([ada.pk, token], [alice.pk, token[:-1]], [alice.pk, "x-y"], [0, token]):
        assert not opens(reverse("password_link", args=wrong)), wrong
    sign_in()
    assert not opens(path)
    path = link_for(User.objects.get(pk=alice.pk)).path
    assert opens(path)
    admin = client_of(ada)
    admin.post(reverse("person_active", args=[alice.pk]), {"active": "no"})
    assert not opens(path)
    assert admin.post(reverse("person_password", args=[alice.pk])).status_code == 403


# --- Theme and time zone: chosen once, for all devices, and no page asks for more rows

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
LONDON, KATHMANDU = "Europe/London", "Asia/Kathmandu"


def page(client, view="profile", *args):
    answer = client.get(reverse(view, args=args))
    assert answer.status_code == 200
    return answer.text


def test_a_choice_holds_on_other_devices_over_what_they_remember(client, bob):
    for cookie, shown in {"dark": "dark", '"><script>': "system"}.items():
        client.cookies["theme"] = cookie
        stranger = client.get(reverse("sign_in")).text
        assert f'<html lang="en" data-theme="{shown}">' in stranger  # before it is painted
    desk, phone = client_of(bob), client_of(bob)
    phone.cookies["theme"] = "light"
    assert 'data-theme="light"' in page(phone)
    desk.post(reverse("profile"), {"theme": "dark", "time_zone": LONDON})
    for device in (desk, phone):
        assert f'data-theme="dark" data-zone="{LONDON}"' in (shown := page(device))
    assert f'href="{PAGE}"' in shown
    switched = desk.post(reverse("theme"), {"theme": "system", "next": reverse("datasets")})
    assert switched["Location"] == reverse("datasets")  # without scripts
    shown = page(phone)
    assert 'data-theme="system"' in shown
    assert f'href="{reverse("profile")}"' in shown
    phone.cookies["theme_unsaved"] = "light"  # under way: it counts in its browser until then
    assert 'data-theme="light"' in page(phone)
    assert phone.post(reverse("theme"), {"theme": "light"}).cookies["theme_unsaved"]["max-age"] == 0
    assert 'data-theme="light"' in page(desk)


ZONES = {
    "": "1 Jul 2026, 12:00:00 UTC",
    LONDON: "1 Jul 2026, 13:00:00 BST",
    KATHMANDU: "1 Jul 2026, 17:45:00 +0545",
    "Atlantis/Sunken": "1 Jul 2026, 12:00:00 UTC",  # of a machine that knew it
}


@pytest.mark.usefixtures("remembered_health")
def test_pages_show_times_in_the_zone_which_comes_with_the_account_and_files_do_not(bob, dataset):
    run, client, asked = make_run(bob, dataset, ended=NOON), client_of(bob), []
    page(client, "run_configuration", run.pk)  # the first one starts the session
    for zone, shown in ZONES.items():
        if zone:
            Profile.objects.update_or_create(person=bob, defaults={"time_zone": zone})
        with CaptureQueriesContext(connection) as found:
            assert shown in page(client, "run_configuration", run.pk)
        asked.append(len(found))
    assert len(set(asked)) == 1, "with and without a profile"
    assert Asker(bob).get(f"/runs/{run.pk}").json()["ended"].startswith("2026-07-01T12:00:00")


@pytest.mark.postgresql("locks: a profile is made or held")
def test_a_script_changes_what_it_names_and_nothing_else(bob):
    assert {"UTC", LONDON, "America/New_York", "Pacific/Auckland"} < set(time_zones())
    assert max(map(len, time_zones())) <= (Profile._meta.get_field("time_zone").max_length or 0)
    asker, browser = Asker(bob), client_of(bob)
    for chosen, field in (
        ({"theme": "pink", "time_zone": "UTC"}, "theme"),
        ({"theme": "dark", "time_zone": "../../etc/passwd"}, "time_zone"),
    ):
        answer = asker.patch("/me", chosen)
        assert (answer.status_code, field in answer.text) == (422, True)
    answer = browser.post(reverse("profile"), chosen)
    assert (answer.status_code, list(answer.context["form"].errors)) == (400, [field])
    assert not Profile.objects.exists()
    change_profile(bob, theme="dark")
    assert Asker(bob, "manage").patch("/me", {"time_zone": LONDON}).json()["changed"]
    assert not asker.patch("/me", {"time_zone": LONDON}).json()["changed"]
    me = browser.get("/api/v1/me").json()
    assert (me["theme"], me["time_zone"]) == ("dark", LONDON)
    told = AuditEntry.objects.filter(action="profile.changed").order_by("pk")
    assert [row.detail for row in told] == ["theme dark", f"time zone {LONDON}"]
