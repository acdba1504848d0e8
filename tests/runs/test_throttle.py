"""Guessing passwords gets slower and slower, whoever it is about; its owner still gets in.

The clock stands still, or guesses that take longer than a wait would be let through.
"""

from contextlib import suppress
from datetime import timedelta
from time import process_time

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from evalsite.proxies import parse_proxies
from runs.models import SignInFailure
from runs.services.people import throttle
from runs.services.people.throttle import TooManyTries, begin_try, forgive, new_try
from tests.harness.factories import PASSWORD, make_person_with_password
from tests.harness.quick_django import QuickHasher
from tests.runs.conftest import at_once

pytestmark = pytest.mark.django_db

REFUSED = "Too many tries. Wait"
WRONG = "do not belong together"
DEVICE = django_settings.DEVICE_COOKIE_NAME
HERE, ELSEWHERE = "10.0.0.1", "10.0.0.2"


@pytest.fixture(autouse=True)
def clock(time_machine):
    time_machine.move_to(now(), tick=False)
    return time_machine


@pytest.fixture
def alice(db):
    return make_person_with_password("alice")


def sign_in(client, username="alice", password=PASSWORD, address=HERE, **more):
    data = {"username": username, "password": password}
    return client.post(reverse("sign_in"), data, REMOTE_ADDR=address, **more)


def guess(username="alice", address=HERE, **more):
    return sign_in(Client(), username, "wrong guess", address, **more)


def fail(times, username="alice", address=HERE):
    """Wrong guesses that were let through, without their pages."""
    for _ in range(times):
        begin_try(new_try(username, address))


def was_checked(answer):
    page = answer.text
    assert (REFUSED in page) != (WRONG in page), page
    return WRONG in page


def gets_in(answer):
    return answer.status_code == 302


def test_the_sixth_try_must_wait_and_other_addresses_need_not(alice):
    fail(4)
    assert [was_checked(guess()) for _ in range(2)] == [True, False]
    assert not gets_in(sign_in(Client()))
    for spelling in ("ALICE", " alice ", "Alice"):
        assert not was_checked(guess(spelling)), "another spelling does not help"
    given = {"username": "alice", "password": PASSWORD}
    answer = Client().post(reverse("admin:login"), given, REMOTE_ADDR=HERE, follow=True)
    assert answer.request["PATH_INFO"] == reverse("sign_in"), "the admin has no door of its own"
    assert not answer.wsgi_request.user.is_authenticated
    assert gets_in(sign_in(Client(), address=ELSEWHERE))


def test_each_failure_doubles_the_wait_and_a_refused_try_does_not_make_it_longer(clock):
    tried, waits = new_try("alice", HERE), []
    fail(5)
    for _ in range(8):
        for _ in range(3):
            with pytest.raises(TooManyTries) as refused:
                begin_try(tried)
        waits.append(refused.value.seconds)
        clock.shift(refused.value.seconds)
        begin_try(tried)
    assert waits == [15, 30, 60, 120, 240, 480, 900, 900]
    assert SignInFailure.objects.count() == 5 + 8


def test_one_password_for_many_names_is_slowed_down_by_its_address():
    for number in range(9):
        fail(1, f"name{number}")
    checked = [was_checked(guess(f"name{number}")) for number in (9, 10)]
    assert checked == [True, False]
    assert was_checked(guess("name99", ELSEWHERE))
    checked = [was_checked(guess(f"n{number}", f"2001:db8::{number}")) for number in range(11)]
    assert checked == [True] * 10 + [False], "an IPv6 network is one address"


def test_guessing_from_everywhere_is_stopped_too():
    for number in range(throttle.ACCOUNT.free):
        fail(1, "ada", f"10.0.1.{number}")
    with pytest.raises(TooManyTries):
        begin_try(new_try("ada", "10.9.9.9"))
    begin_try(new_try("bob", "10.9.9.9"))


@pytest.mark.postgresql("locks: guesses at the same moment")
@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_moment_see_each_other():
    """Thirty at once would all have found fewer than five failures."""

    def is_checked():
        try:
            begin_try(new_try("ada", HERE))
        except TooManyTries:
            return False
        return True

    checked = sum(at_once(*[is_checked] * 30))
    assert 1 <= checked <= 10  # PostgreSQL may number rows before their elders are stored
    assert SignInFailure.objects.count() == checked


def come_from_everywhere(set_constant):
    """As many names as all may try together, each from an address of its own."""
    set_constant(throttle, "ALL", throttle.ALL._replace(free=20))
    for number in range(20):
        begin_try(new_try(f"name{number}", f"10.0.{number}.1"))


def test_a_botnet_that_tries_many_names_is_slowed_down(clock, set_constant):
    come_from_everywhere(set_constant)
    assert not was_checked(guess("another", "10.9.9.9"))
    clock.shift(1)
    assert was_checked(guess("another", "10.9.9.9"))


def test_getting_in_forgives_only_its_address_and_an_hour_everything(clock):
    fail(4)
    fail(5, address=ELSEWHERE)
    forgive(new_try("alice", HERE))
    begin_try(new_try("alice", HERE))
    with pytest.raises(TooManyTries):
        begin_try(new_try("alice", ELSEWHERE))
    clock.shift(timedelta(hours=1))
    begin_try(new_try("my secret password", ELSEWHERE))
    (kept,) = SignInFailure.objects.values()
    assert "secret" not in str(kept), "a name is not kept as typed"
    begin_try(new_try("alice", ELSEWHERE))


def test_nobody_can_lock_out_a_browser_that_the_account_knows(alice, set_constant):
    """Behind a proxy that is not trusted everybody has one address: the worst case."""
    own = known_browser()
    come_from_everywhere(set_constant)
    for number in range(30):
        with suppress(TooManyTries):
            begin_try(new_try("alice" if number % 2 else f"name{number}", HERE))
    assert not gets_in(sign_in(Client()))
    assert gets_in(sign_in(own))


def known_browser(name="alice"):
    """It has signed in once, and out again."""
    browser = Client()
    assert gets_in(sign_in(browser, name))
    browser.post(reverse("sign_out"))
    return browser


def test_a_known_browser_has_an_allowance_of_its_own_and_a_forged_one_is_a_stranger(alice):
    own = known_browser()
    cookie = own.cookies[DEVICE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert cookie["max-age"] == 180 * 24 * 3600
    assert str(User.objects.get().password) not in cookie.value
    checked = [was_checked(sign_in(own, password="wrong guess")) for _ in range(6)]
    assert checked == [True] * 5 + [False]
    assert gets_in(sign_in(Client())), "its failures are nobody else's"
    known = own.cookies[DEVICE].value
    fail(5)
    for forged in (known[:-1] + "x", "", "x:y:z"):
        thief = Client()
        thief.cookies[DEVICE] = forged
        assert not gets_in(sign_in(thief)), forged
    alice.set_password("another long password")
    alice.save()
    assert not gets_in(sign_in(own, password="another long password"))


def test_a_known_browser_is_known_to_its_own_accounts_only(alice, clock):
    make_person_with_password("eve")
    browser = known_browser("eve")
    fail(5)
    assert not gets_in(sign_in(browser)), "eve's browser says nothing about alice"
    clock.shift(15)
    assert gets_in(sign_in(browser))
    for name in ("alice", "eve"):
        browser.post(reverse("sign_out"))
        fail(5, name)
        assert gets_in(sign_in(browser, name)), "both have signed in from it"


def test_behind_a_trusted_proxy_people_do_not_wait_for_each_other(alice, settings):
    proxy = {"address": "172.16.0.2", "headers": {"X-Forwarded-For": "9.9.9.9, 5.5.5.5"}}
    settings.TRUSTED_PROXIES = parse_proxies(("1",))
    fail(4, address="5.5.5.5")
    assert [was_checked(guess(**proxy)) for _ in range(2)] == [True, False]
    proxy["headers"] = {"X-Forwarded-For": "6.6.6.6"}
    assert gets_in(sign_in(Client(), **proxy))


def test_the_limits_hold_without_redis(alice, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    fail(4)
    assert [was_checked(guess()) for _ in range(2)] == [True, False]
    assert gets_in(sign_in(Client(), address=ELSEWHERE))


def test_every_kind_of_account_is_hashed_for_once_and_told_the_same(alice):
    hashed = QuickHasher.hashed
    User.objects.create_user("nopassword")
    closed = make_person_with_password("closed")
    closed.is_active = False
    closed.save()
    told = set()
    for name in ("alice", "nobody", "nopassword", "closed"):
        hashed.clear()
        answer = guess(name)
        told.add((answer.status_code, answer.text.partition("notice-body")[2].partition("<")[0]))
        assert len(hashed) == 1, name
    ((status, words),) = told
    assert (status, bool(words)) == (400, True)
    hashed.clear()
    assert WRONG in sign_in(Client(), "closed").text
    assert hashed == [PASSWORD]


@pytest.mark.alone
def test_an_unknown_name_takes_as_long_as_a_known_one(real_hashers):
    """With the real hasher. The order changes, so that both have the same neighbours."""
    make_person_with_password("alice")
    seconds: dict[str, list[float]] = {"alice": [], "nobody": []}
    for round_number in range(4):
        for name in sorted(seconds, reverse=bool(round_number % 2)):
            SignInFailure.objects.all().delete()
            started = process_time()  # without what other processes took meanwhile
            assert was_checked(guess(name))
            seconds[name].append(process_time() - started)
    known, unknown = (min(values) for values in seconds.values())
    assert abs(known - unknown) <= 0.2 * max(known, unknown)


def test_djangos_signals_tell_of_every_sign_in_that_was_checked(alice):
    heard = []

    def failed(sender, credentials, request, **_):
        heard.append(("failed", credentials["username"], request.META["REMOTE_ADDR"]))

    def succeeded(sender, user, request, **_):
        heard.append(("in", user.get_username(), request.META["REMOTE_ADDR"]))

    user_login_failed.connect(failed)
    user_logged_in.connect(succeeded)
    try:
        guess()
        sign_in(Client())
    finally:
        user_login_failed.disconnect(failed)
        user_logged_in.disconnect(succeeded)
    assert heard == [("failed", "alice", HERE), ("in", "alice", HERE)]
