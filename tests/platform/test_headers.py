"""Headers, sign-in by default, cookies and static files, as a browser gets them."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client, override_settings

from evalsite.session_age import STARTED

EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ADDRESSES = ["/healthz", "/", "/admin/", "/no-such-page", "/static/uplot/uPlot.min.css"]


@pytest.fixture
def alice(db):
    return get_user_model().objects.create_superuser("alice")


@pytest.fixture
def alices_browser(alice):
    browser = Client(raise_request_exception=False)
    browser.force_login(alice)
    return browser


def directives(response) -> dict[str, list[str]]:
    parts = response["Content-Security-Policy"].split(";")
    return {words[0]: words[1:] for words in (part.split() for part in parts)}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("who", ["stranger", "alice"])
def test_every_answer_carries_the_security_headers(address, who, alices_browser, client):
    response = (alices_browser if who == "alice" else client).get(address)
    wanted = dict(EVERYWHERE)
    if address.startswith("/static/"):
        del wanted["X-Frame-Options"]  # not a page; frame-ancestors says the same
    assert {name: response.get(name) for name in wanted} == wanted
    assert "camera=()" in response["Permissions-Policy"]
    assert directives(response)["default-src"] == ["'none'"]


def test_the_policy_allows_our_own_files_and_nothing_inline(client):
    policy = directives(client.get("/healthz"))
    assert policy["script-src"] == ["'self'"]
    assert policy["style-src"] == ["'self'"]
    assert policy["img-src"] == ["'self'", "data:"]
    assert policy["connect-src"][0] == "'self'"
    assert all(source.startswith(("ws://", "wss://")) for source in policy["connect-src"][1:])
    for name in ("base-uri", "frame-ancestors", "object-src"):
        assert policy[name] == ["'none'"]
    assert policy["form-action"] == ["'self'"]


def test_no_other_site_may_read_an_answer(client):
    response = client.get("/healthz", headers={"Origin": "https://elsewhere.example"})
    assert not [name for name in response.headers if name.startswith("Access-Control-")]


def test_pages_of_a_signed_in_person_are_not_kept_by_caches(alices_browser, client):
    assert "no-store" in alices_browser.get("/admin/")["Cache-Control"]
    assert "no-store" not in client.get("/healthz").get("Cache-Control", "")


def test_a_change_asked_for_by_another_site_is_refused(alices_browser):
    headers = {"Sec-Fetch-Site": "cross-site"}
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = alices_browser.generic(method, "/admin/logout/", headers=headers)
        assert response.status_code == 403
    assert alices_browser.get("/admin/", headers=headers).status_code == 200, "links must work"


def test_a_stranger_is_sent_to_the_sign_in_page(client, db):
    response = client.get("/")
    assert response.status_code == 302
    assert "next=/" in response["Location"]


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_is_for_everybody_and_says_nothing_else(address, client, db):
    response = client.get(address)
    assert response.status_code == 200
    assert response.content in {b"ok", b"ready"}
    assert client.post(address).status_code == 405


def test_not_ready_without_redis_and_no_address_leaks(client, db):
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.content == b"not ready"


def test_a_host_name_that_is_not_ours_is_refused(client):
    response = client.get("/healthz", headers={"Host": "elsewhere.example"})
    assert response.status_code == 400


def test_static_files_are_kept_for_a_year_under_their_version_only(client):
    plain = client.get("/static/uplot/uPlot.min.css")
    versioned = client.get("/static/uplot/uPlot.min.css?v=123")
    assert plain["Content-Type"].startswith("text/css")
    assert plain["Cache-Control"] == "max-age=0, public"
    assert versioned["Cache-Control"] == "max-age=31536000, public, immutable"
    again = client.get(
        "/static/uplot/uPlot.min.css", headers={"If-Modified-Since": plain["Last-Modified"]}
    )
    assert again.status_code == 304


def test_a_session_is_renewed_by_use_and_not_by_every_request(alices_browser):
    assert settings.SESSION_COOKIE_NAME in alices_browser.get("/admin/").cookies
    assert settings.SESSION_COOKIE_NAME not in alices_browser.get("/admin/").cookies


def test_a_session_ends_seven_days_after_the_sign_in(alices_browser):
    session = alices_browser.session
    session[STARTED] = time.time() - timedelta(days=7, minutes=1).total_seconds()
    session.save()
    assert alices_browser.get("/admin/").status_code == 302


def test_session_cookies_are_out_of_reach_of_scripts(alices_browser):
    cookie = alices_browser.get("/admin/").cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["max-age"] == 12 * 60 * 60


def test_passwords_are_long_and_hashed_with_argon2(alice):
    alice.set_password("a long enough password")
    assert alice.password.startswith("argon2")
