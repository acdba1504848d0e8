"""Signing in and out, the first account, and the theme."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.services.people.accounts import make_setup_link
from tests.harness.factories import PASSWORD, client_of, make_person_with_password

pytestmark = pytest.mark.django_db


def sign_in(client, username="alice", password=PASSWORD, **more):
    data = {"username": username, "password": password, **more}
    return client.post(reverse("sign_in"), data)


def test_signing_in_leads_to_where_one_wanted_to_go(client):
    make_person_with_password("alice")
    wanted = client.get(reverse("datasets"))["Location"]
    assert client.get(wanted).status_code == 200
    assert sign_in(client, next=reverse("datasets"))["Location"] == reverse("datasets")
    assert client.get(reverse("datasets")).status_code == 200


def test_signing_in_never_leads_to_another_site(client):
    make_person_with_password("alice")
    for elsewhere in ("https://evil.example/", "//evil.example", "javascript:alert(1)", r"\\evil"):
        assert sign_in(client, next=elsewhere)["Location"] == "/", elsewhere


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(client):
    make_person_with_password("alice")
    answers = [sign_in(client, "alice", "no such"), sign_in(client, "nobody", "no such")]
    assert [answer.status_code for answer in answers] == [400, 400]
    known, unknown = (list(answer.context["form"].non_field_errors()) for answer in answers)
    assert known == unknown
    assert known


@pytest.mark.usefixtures("still_clock")
def test_after_five_wrong_passwords_even_the_right_one_must_wait(client):
    make_person_with_password("alice")
    for _ in range(5):
        sign_in(client, password="wrong")
    answer = sign_in(client)
    assert answer.status_code == 400
    assert "Too many tries. Wait" in answer.content.decode()


def test_signing_out_ends_the_session(alice):
    client = client_of(alice)
    assert client.post(reverse("sign_out"))["Location"] == reverse("sign_in")
    assert client.get(reverse("runs")).status_code == 302


def test_the_first_account_is_made_by_the_one_time_link(client):
    link = make_setup_link()
    assert client.get(link).status_code == 200
    passwords = {"password": PASSWORD, "password_again": PASSWORD}
    assert client.post(link, {"username": "ada", **passwords})["Location"] == reverse("runs")
    assert User.objects.get().is_superuser
    assert client.get(reverse("runs")).status_code == 200
    assert client.get(link).status_code == 404


@pytest.mark.parametrize(
    ("password", "again", "complaint"),
    [
        ("short", "short", "at least 12 characters"),
        (PASSWORD, PASSWORD + "!", "The two passwords differ"),
        ("password1234", "password1234", "too common"),
    ],
)
def test_a_poor_password_is_refused_and_the_name_kept(client, password, again, complaint):
    data = {"username": "ada", "password": password, "password_again": again}
    answer = client.post(make_setup_link(), data)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert complaint in page
    assert 'value="ada"' in page
    assert f'value="{password}"' not in page
    assert not User.objects.exists()


def test_without_accounts_the_sign_in_page_says_where_to_find_the_link(client):
    assert "one-time link" in client.get(reverse("sign_in")).content.decode()
    forged = reverse("setup", args=["setup:forged:token"])
    assert client.get(forged).status_code == 404


@pytest.mark.parametrize(
    ("cookie", "shown"),
    [("dark", "dark"), ("light", "light"), ("system", "system"), ('"><script>', "system")],
)
def test_the_theme_is_known_before_the_page_is_painted(client, cookie, shown):
    client.cookies["theme"] = cookie
    page = client.get(reverse("sign_in")).content.decode()
    assert f'<html lang="en" data-theme="{shown}">' in page


def test_the_theme_can_be_switched_without_scripts(alice):
    client = client_of(alice)
    answer = client.post(reverse("theme"), {"theme": "dark", "next": reverse("datasets")})
    assert answer["Location"] == reverse("datasets")
    assert 'data-theme="dark"' in client.get(reverse("datasets")).content.decode()
