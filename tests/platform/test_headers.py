"""Headers, sign-in by default, cookies and static files, as a browser gets them."""

import runpy
import time
from datetime import timedelta

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import get_default_password_validators
from django.contrib.sessions.models import Session
from django.test import Client, override_settings
from django.utils.timezone import now

from evalsite.asgi import application
from evalsite.env import BASE_DIR, EnvironmentProblem
from evalsite.proxies import TrustedProxies, client_address, neighbourhood, parse_proxies
from evalsite.session_age import STARTED
from runs.roles import Role
from runs.services.people.accounts import person_of_session
from tests.harness.factories import PASSWORD, make_person, make_person_with_password, with_role
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from tests.platform.test_environment import read

EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ADDRESSES = [
    *("/healthz", "/", "/admin/", "/no-such-page", "/static/uplot/uPlot.min.css", "/api/v1/runs"),
    "/api/v1/no-such-route",
]


@pytest.fixture
def alice(db):
    """She may use the admin site."""
    return get_user_model().objects.create_superuser("alice")


@pytest.fixture
def alices_browser(alice):
    browser = Client(raise_request_exception=False)
    browser.force_login(alice)
    return browser


def directives(response):
    parts = response["Content-Security-Policy"].split(";")
    return {words[0]: words[1:] for words in (part.split() for part in parts)}


@table("stranger", "alice")
def test_every_answer_carries_the_security_headers(alices_browser, client, who):
    for address in ADDRESSES:
        browser = alices_browser if who == "alice" else client
        response = browser.get(address, headers={"Origin": "https://elsewhere.example"})
        wanted = dict(EVERYWHERE)
        if address.startswith("/static/"):
            del wanted["X-Frame-Options"]  # not a page; frame-ancestors says the same
        assert {name: response.get(name) for name in wanted} == wanted, address
        assert "camera=()" in response["Permissions-Policy"], address
        assert directives(response)["default-src"] == ["'none'"], address
        assert not [name for name in response.headers if name.startswith("Access-Control-")]


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


FOREIGN_ORIGINS = [
    None,
    "null",
    "http://127.0.0.1",  # no port
    "http://127.0.0.1:8001",
    "https://127.0.0.1:8000",  # another scheme
    "http://elsewhere.example:8000",
    "http://127.0.0.1.elsewhere.example:8000",
    "127.0.0.1:8000",
]


@pytest.mark.django_db(transaction=True)
async def test_only_our_own_pages_may_open_a_socket_scheme_host_and_port_are_exact():
    wanted = dict.fromkeys(FOREIGN_ORIGINS, False)
    wanted |= dict.fromkeys(settings.ORIGINS, True)
    assert {origin: await is_let_in(origin) for origin in wanted} == wanted


async def is_let_in(origin):
    headers = [] if origin is None else [(b"origin", origin.encode())]
    communicator = WebsocketCommunicator(application, "/ws/runs/1/", headers=headers)
    try:
        connected, _ = await communicator.connect(timeout=PATIENCE_SECONDS)
        return connected
    finally:
        await communicator.disconnect(timeout=PATIENCE_SECONDS)


def test_pages_of_a_signed_in_person_are_not_kept_by_caches(alices_browser, client):
    assert "no-store" in alices_browser.get("/admin/")["Cache-Control"]
    assert "no-store" not in client.get("/healthz").get("Cache-Control", "")


def test_a_change_asked_for_by_another_site_is_refused(alices_browser):
    headers = {"Sec-Fetch-Site": "cross-site"}
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = alices_browser.generic(method, "/admin/logout/", headers=headers)
        assert response.status_code == 403
    assert alices_browser.get("/admin/", headers=headers).status_code == 200, "links must work"


def test_on_a_fresh_site_all_are_strangers_sent_to_sign_in_and_another_host_refused(client, db):
    assert not get_user_model().objects.exists()
    response = client.get("/")
    assert response.status_code == 302
    assert "next=/" in response["Location"]
    response = client.get("/healthz", headers={"Host": "elsewhere.example"})
    assert response.status_code == 400


def test_health_is_for_everybody_and_says_nothing_else_also_without_redis(client, db):
    for address, said in (("/healthz", b"ok"), ("/readyz", b"ready")):
        response = client.get(address)
        assert (response.status_code, response.content) == (200, said)
        assert client.post(address).status_code == 405
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        response = client.get("/readyz")
    assert (response.status_code, response.content) == (503, b"not ready")


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


def test_a_session_is_renewed_by_use_and_not_by_every_request_nor_seen_by_scripts(alices_browser):
    cookie = alices_browser.get("/admin/").cookies[settings.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert cookie["max-age"] == 12 * 60 * 60
    assert settings.SESSION_COOKIE_NAME not in alices_browser.get("/admin/").cookies


def test_a_session_ends_seven_days_after_the_sign_in_with_its_sockets(alices_browser, alice):
    session = alices_browser.session
    assert person_of_session(session.session_key) == alice
    session[STARTED] = time.time() - timedelta(days=7, minutes=1).total_seconds()
    session.save()
    assert person_of_session(session.session_key) is None
    assert alices_browser.get("/admin/").status_code == 302


def test_a_session_ends_twelve_hours_after_its_last_use(alices_browser):
    alices_browser.get("/admin/")
    stored = Session.objects.get()
    assert timedelta(hours=11, minutes=59) < stored.expire_date - now() <= timedelta(hours=12)
    Session.objects.update(expire_date=now() - timedelta(seconds=1))
    assert alices_browser.get("/admin/").status_code == 302


def sign_in(browser, **more):
    given = {"username": "bob", "password": PASSWORD}
    return browser.post("/sign-in/", given, **more)


def test_signing_in_takes_another_key_and_starts_the_seven_days(db):
    make_person_with_password("bob")
    browser = Client()
    planted = browser.session
    planted.save()
    browser.cookies[settings.SESSION_COOKIE_NAME] = str(planted.session_key)
    before = int(time.time())
    assert sign_in(browser)["Location"] == "/"
    assert browser.session.session_key != planted.session_key
    assert not Session.objects.filter(pk=planted.session_key).exists()
    assert before <= browser.session[STARTED] <= time.time()
    # On plain HTTP cookies work without being secure.
    assert browser.get("/password/").status_code == 200
    assert not browser.cookies[settings.SESSION_COOKIE_NAME]["secure"]


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER, None])
def test_a_change_of_the_role_takes_another_key(role, db):
    bob = make_person("bob", role=Role.RUNNER)
    browser, thief = Client(), Client()
    browser.force_login(bob)
    assert browser.get("/").status_code == 302
    thief.cookies.load({settings.SESSION_COOKIE_NAME: str(browser.session.session_key)})
    bob.groups.clear()
    with_role(bob, role)
    assert browser.get("/password/").status_code == 200, "the person stays signed in"
    assert browser.get("/password/").status_code == 200
    assert thief.get("/password/").status_code == 302, "the old key opens nothing any more"


def test_over_tls_every_cookie_is_secure_and_bound_to_the_host(db, monkeypatch):
    make_person_with_password("bob")
    monkeypatch.setenv("EVALSITE_ORIGINS", "https://eval.example.com")
    values = runpy.run_path(str(BASE_DIR / "evalsite" / "settings.py"))
    names = [name for name in values if "COOKIE" in name and name.isupper()]
    with override_settings(**{name: values[name] for name in names}):
        browser = Client()
        answers = [browser.get("/sign-in/", secure=True), sign_in(browser, secure=True)]
        answers.append(browser.get("/password/", secure=True))
        cookies = {name: one for answer in answers for name, one in answer.cookies.items()}
    assert set(cookies) == {"__Host-session", "__Host-csrf", "__Host-device"}
    bound = {"secure": True, "httponly": True, "samesite": "Lax", "path": "/", "domain": ""}
    for cookie in cookies.values():
        assert {name: cookie[name] for name in bound} == bound


def test_passwords_are_long_and_hashed_with_argon2(alice, real_hashers):
    alice.set_password("a long enough password")
    assert alice.password.startswith("argon2$argon2id$")
    names = {type(validator).__name__ for validator in get_default_password_validators()}
    assert {"MinimumLengthValidator", "CommonPasswordValidator"} <= names


# --- The client's address behind proxies: from the right, and only from proxies that are trusted


NOBODY = TrustedProxies()
ONE, TWO = parse_proxies(("1",)), parse_proxies(("2",))
LIST = parse_proxies(("10.0.0.0/24", "2001:db8::1"))


@table(
    row(NOBODY, "10.0.0.1", "9.9.9.9", "10.0.0.1", id="nobody is trusted by default"),
    row(ONE, "10.0.0.1", "", "10.0.0.1", id="no header"),
    row(ONE, "10.0.0.1", "5.5.5.5", "5.5.5.5", id="one proxy"),
    row(ONE, "10.0.0.1", "9.9.9.9, 5.5.5.5", "5.5.5.5", id="forged in front"),
    row(TWO, "10.0.0.1", "9.9.9.9,5.5.5.5,10.0.0.2", "5.5.5.5", id="two proxies"),
    row(TWO, "10.0.0.1", "5.5.5.5", "5.5.5.5", id="past the outer proxy"),
    row(LIST, "10.0.0.1", "9.9.9.9, 5.5.5.5", "5.5.5.5", id="a listed proxy"),
    row(LIST, "10.0.0.1", "9.9.9.9,5.5.5.5,10.0.0.2", "5.5.5.5", id="two listed"),
    row(LIST, "5.5.5.5", "9.9.9.9", "5.5.5.5", id="past the listed proxy"),
    row(LIST, "2001:db8::1", "2001:db8::99", "2001:db8::99", id="IPv6"),
    row(LIST, "::ffff:10.0.0.1", "5.5.5.5", "5.5.5.5", id="IPv4 in IPv6"),
    row(ONE, "10.0.0.1", "5.5.5.5:4711", "5.5.5.5", id="with a port"),
    row(ONE, "10.0.0.1", "[2001:db8::9]:4711", "2001:db8::9", id="IPv6 with a port"),
    row(ONE, "10.0.0.1", "unknown", "10.0.0.1", id="no address"),
    row(LIST, "testclient", "5.5.5.5", "testclient", id="a peer without address"),
)
def test_only_what_trusted_proxies_added_is_read(trusted, peer, told, client):
    assert client_address(peer, told, trusted) == client


@table(
    ("5.5.5.5", "5.5.5.5"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("::ffff:5.5.5.5", "5.5.5.5"),
    ("", ""),
)
def test_an_ipv6_network_counts_as_one_client(address, counted_as):
    assert neighbourhood(address) == counted_as


@table("11", "-1", "proxy.example", "10.0.0.1/24", "1, 10.0.0.1")
def test_a_wrong_setting_is_refused_with_its_name_and_what_is_allowed(tmp_path, value):
    with pytest.raises(EnvironmentProblem, match=r"EVALSITE_TRUSTED_PROXIES is .* 10\.0\.0\.0/24"):
        read(tmp_path, EVALSITE_TRUSTED_PROXIES=value)


def test_the_setting_is_a_number_or_a_list(tmp_path):
    assert read(tmp_path).trusted_proxies == NOBODY
    assert read(tmp_path, EVALSITE_TRUSTED_PROXIES="2").trusted_proxies == TWO
    listed = read(tmp_path, EVALSITE_TRUSTED_PROXIES="10.0.0.0/24, 2001:db8::1")
    assert listed.trusted_proxies == LIST


@table((NOBODY, "10.0.0.1"), (ONE, "5.5.5.5"))
def test_every_request_carries_the_address_of_its_client(trusted, seen):
    with override_settings(TRUSTED_PROXIES=trusted):
        answer = Client().get(
            "/healthz", headers={"X-Forwarded-For": "9.9.9.9, 5.5.5.5"}, REMOTE_ADDR="10.0.0.1"
        )
    assert answer.wsgi_request.META["REMOTE_ADDR"] == seen
