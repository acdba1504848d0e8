"""The first account is made once, by link; no account can be guessed at from everywhere."""

import time
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.signing import TimestampSigner, b62_encode
from django.db import connection
from django.urls import resolve

from runs.models import SignInFailure
from runs.services.people import accounts, throttle
from runs.services.people.throttle import TooManyTries, begin_try, new_try

PASSWORD = "correct horse battery staple"


def new_token():
    return TimestampSigner(salt=accounts.SETUP_SALT).sign("setup")


@pytest.mark.django_db
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


@pytest.mark.django_db
@pytest.mark.parametrize(
    "token",
    [
        "",
        "setup",
        "setup:x:y",
        pytest.param(TimestampSigner(salt="another").sign("setup"), id="signed for another use"),
        "\x00",
    ],
)
def test_a_token_of_somebody_elses_making_is_refused(token):
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


@pytest.mark.django_db
@pytest.mark.parametrize(("hours", "is_good"), [(7 * 24 - 1, True), (7 * 24 + 1, False)])
def test_a_link_lives_for_seven_days(hours, is_good):
    token = PastSigner(timedelta(hours=hours)).sign("setup")
    assert accounts.check_setup_token(token) == is_good


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("username", "password", "fields"),
    [
        ("ada", "short", {"password"}),
        ("ada", "password1234", {"password"}),
        ("ada", "184629573018", {"password"}),
        ("ada-of-lovelace", "ada-of-lovelace", {"password"}),
        ("", PASSWORD, {"username"}),
        ("a b", PASSWORD, {"username"}),
        ("x" * 151, PASSWORD, {"username"}),
        ("", "short", {"username", "password"}),
    ],
)
def test_a_weak_start_is_refused_field_by_field(username, password, fields):
    with pytest.raises(ValidationError) as error:
        accounts.create_admin(new_token(), username, password)
    assert set(error.value.message_dict) == fields
    assert accounts.needs_setup()


@pytest.mark.django_db(transaction=True)
def test_of_two_people_at_once_only_one_becomes_administrator():
    token, together, refused = new_token(), Barrier(2), []

    def become_admin(name):
        together.wait()
        try:
            accounts.create_admin(token, name, PASSWORD)
        except accounts.SetupClosedError:
            refused.append(name)
        finally:
            connection.close()

    threads = [Thread(target=become_admin, args=[name]) for name in ("ada", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert User.objects.count() == 1
    assert len(refused) == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("still_clock")
def test_guessing_from_everywhere_is_stopped_too():
    for number in range(throttle.ACCOUNT.free):
        begin_try(new_try("ada", f"10.0.1.{number}"))
    with pytest.raises(TooManyTries):
        begin_try(new_try("ada", "10.9.9.9"))
    begin_try(new_try("bob", "10.9.9.9"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("still_clock")
def test_guesses_at_the_same_moment_see_each_other():
    """Thirty at once would all have found fewer than five failures."""
    together, checked = Barrier(30), []

    def try_it():
        together.wait()
        try:
            begin_try(new_try("ada", "10.0.0.1"))
            checked.append(True)
        except TooManyTries:
            pass
        finally:
            connection.close()

    threads = [Thread(target=try_it) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(checked) <= 10  # PostgreSQL may number rows before their elders are stored
    assert SignInFailure.objects.count() == len(checked)
