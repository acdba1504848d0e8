"""People come in through a sign-in provider: a real one over HTTP, honest or lying."""

import urllib.error
import urllib.request
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from evalsite.env import EnvironmentProblem, read_environment
from evalsite.sign_in_provider import SignInProvider
from runs.models import AuditEntry, Invitation, ProviderIdentity
from runs.roles import Role, stored_role_of
from runs.services.people import provider_protocol
from runs.services.people.invitations import invite
from runs.services.people.roles import add_person, set_active
from tests.harness.factories import client_of, make_person, make_person_with_password
from tests.harness.oidc_server import CLIENT_ID, CLIENT_SECRET, running_provider

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("patient_calls"),
]

MAIL = "jane@example.com"


@pytest.fixture(scope="module")
def running():
    with running_provider() as server:
        yield server


@pytest.fixture
def server(running, settings):
    """Honest, and set up here."""
    running.lies, running.documents, running.asked = {}, {}, []
    running.signed_by, running.algorithm = 0, "RS256"
    running.person = {"sub": "248289761001", "email": "Jane@Example.com", "email_verified": True}
    settings.SIGN_IN_PROVIDER = SignInProvider(
        running.issuer, CLIENT_ID, CLIENT_SECRET, ("example.com",), "runner", "Example"
    )
    cache.clear()
    return running


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def at_the_provider(address):
    """What the browser does there: it is sent back at once."""
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(NoRedirect).open(address)
    with answer.value as found:
        assert found.code == 302
        return found.headers["Location"]


def there_and_back(browser, **query):
    away = browser.get(reverse("provider_begin"), query)
    assert away.status_code == 302
    back = at_the_provider(away["Location"])
    assert back.startswith(f"http://testserver{reverse('provider_done')}?")
    return back.removeprefix("http://testserver")


def come_in(browser=None, **query):
    browser = browser or Client()
    return browser.get(there_and_back(browser, **query))


def failures():
    rows = AuditEntry.objects.filter(action="sign_in.failed")
    return [row.detail.removeprefix("sign-in provider: ") for row in rows]


def test_somebody_of_the_domain_comes_in_and_is_the_same_person_the_next_time(server):
    browser = Client()
    answer = come_in(browser, next="/datasets/")
    assert (answer.status_code, answer["Location"]) == (302, "/datasets/")
    assert browser.get("/datasets/").status_code == 200
    jane = User.objects.get()
    assert (jane.username, jane.email, stored_role_of(jane)) == (MAIL, MAIL, Role.RUNNER)
    assert not jane.has_usable_password()
    server.person["email"] = "jane.roe@elsewhere.example"  # her number stays
    assert come_in().status_code == 302
    assert User.objects.count() == 1
    told = AuditEntry.objects.order_by("pk").values_list("action", "actor", "detail")
    assert list(told) == [
        ("person.added", MAIL, "through the sign-in provider, as runner"),
        ("sign_in", MAIL, "through the sign-in provider"),
        ("sign_in", MAIL, "through the sign-in provider"),
    ]


LIES = [
    pytest.param({"nonce": "of another attempt"}, "another nonce", id="nonce"),
    pytest.param({"nonce": None}, "another nonce", id="no nonce"),
    pytest.param({"aud": "another-site"}, "InvalidAudienceError", id="audience"),
    pytest.param({"aud": [CLIENT_ID, "b"], "azp": "b"}, "for another client", id="party"),
    pytest.param({"iss": "https://evil.example"}, "InvalidIssuerError", id="issuer"),
    pytest.param({"exp": 1_500_000_000}, "ExpiredSignatureError", id="expired"),
    pytest.param({"exp": None}, "MissingRequiredClaimError", id="no end"),
    pytest.param({"iat": 32_500_000_000}, "ImmatureSignatureError", id="of the future"),
    pytest.param({"sub": None}, "MissingRequiredClaimError", id="nobody"),
]


@pytest.mark.parametrize(("lies", "reason"), LIES)
def test_a_token_that_is_not_for_this_site_and_attempt_is_refused(server, lies, reason):
    server.lies = lies
    assert_refused(come_in(), reason)


@pytest.mark.parametrize(
    ("algorithm", "key", "reason"),
    [
        ("RS256", 1, "InvalidSignatureError"),
        ("HS256", 0, "InvalidAlgorithmError"),
        ("none", 0, "InvalidAlgorithmError"),
    ],
)
def test_a_signature_of_somebody_else_is_refused(server, algorithm, key, reason):
    server.algorithm, server.signed_by = algorithm, key
    assert_refused(come_in(), reason)


def assert_refused(answer, reason):
    assert answer.status_code == 403
    assert "could not confirm who you are" in answer.content.decode()
    (told,) = failures()
    assert told.endswith(reason)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"email": "jane@other.example"}, "Nobody here has invited you"),
        ({"email": "jane@sub.example.com"}, "Nobody here has invited you"),
        ({"email": "jane@example.com@evil.example"}, "Nobody here has invited you"),
        ({"email_verified": False}, "Nobody here has invited you"),
        ({"email_verified": "false"}, "Nobody here has invited you"),
        ({"email": None}, "Nobody here has invited you"),
    ],
)
def test_a_stranger_stays_out(server, changes, told):
    server.person |= changes
    answer = come_in()
    assert answer.status_code == 403
    assert told in answer.content.decode()
    assert not User.objects.exists()
    assert len(failures()) == 1


def test_without_domains_only_known_people_come_in(server, settings):
    settings.SIGN_IN_PROVIDER = SignInProvider(
        server.issuer, CLIENT_ID, CLIENT_SECRET, (), "runner", "Example"
    )
    assert come_in().status_code == 403
    admin = make_person("ada", staff=True)
    jane = add_person(admin, "jane", Role.AUTHOR, MAIL).person
    assert come_in().status_code == 302
    assert ProviderIdentity.objects.get().person == jane
    assert stored_role_of(jane) == Role.AUTHOR
    assert AuditEntry.objects.filter(action="provider.connected").count() == 1


def test_an_unverified_mail_is_nobodys(server):
    add_person(make_person("ada", staff=True), "jane", Role.AUTHOR, MAIL)
    server.person["email_verified"] = False
    assert come_in().status_code == 403
    assert not ProviderIdentity.objects.exists()


def test_an_invitation_lets_a_stranger_in_once_with_its_role(server):
    server.person["email"] = "jane@other.example"
    link = invite(make_person("ada", staff=True), Role.AUTHOR, 7)
    token = link.path.split("/")[2]
    page = Client().get(link.path).content.decode()
    assert f"{reverse('provider_begin')}?invitation={token}" in page
    assert come_in(invitation=token).status_code == 302
    jane = User.objects.get(username="jane@other.example")
    assert stored_role_of(jane) == Role.AUTHOR
    assert Invitation.objects.get().used_by == jane
    server.person |= {"sub": "2", "email": "joe@other.example"}
    assert come_in(invitation=token).status_code == 403


@pytest.mark.parametrize("is_known", [True, False])
def test_a_closed_account_stays_out(server, is_known):
    admin = make_person("ada", staff=True)
    jane = add_person(admin, "jane", Role.AUTHOR, MAIL).person
    if is_known:
        assert come_in().status_code == 302
    set_active(admin, jane.pk, is_active=False)
    answer = come_in()
    assert answer.status_code == 403
    assert "closed" in answer.content.decode()
    assert User.objects.count() == 2


def test_who_is_signed_in_connects_the_own_account(server):
    bob = make_person("bob")
    browser = client_of(bob)
    assert "Connect with Example" in browser.get(reverse("profile")).content.decode()
    assert come_in(browser, next="/profile/")["Location"] == "/profile/"
    assert ProviderIdentity.objects.get().person == bob
    assert "is connected" in browser.get(reverse("profile")).content.decode()
    eve = client_of(make_person("eve"))
    assert come_in(eve)["Location"] == reverse("profile")  # with the reason
    assert ProviderIdentity.objects.get().person == bob
    assert come_in(stranger := Client()).status_code == 302
    assert stranger.get(reverse("profile")).context["user"] == bob


def test_an_account_of_the_same_name_is_not_taken_over(server):
    make_person_with_password(MAIL)
    answer = come_in()
    assert answer.status_code == 403
    assert "connect it" in answer.content.decode()
    assert not ProviderIdentity.objects.exists()


def test_only_the_browser_that_began_comes_back_and_only_once(server):
    browser, other = Client(), Client()
    back = there_and_back(browser)
    there_and_back(other)
    assert other.get(back).status_code == 403  # another state
    assert Client().get(back).status_code == 403  # no attempt
    assert browser.get(back).status_code == 302
    browser.post(reverse("sign_out"))
    assert browser.get(back).status_code == 403
    assert browser.get(reverse("profile")).status_code == 302


def test_an_attempt_ends_by_itself(server, monkeypatch):
    monkeypatch.setattr(provider_protocol, "ATTEMPT_SECONDS", -timedelta(seconds=1))
    assert come_in().status_code == 403
    assert not User.objects.exists()


def test_a_refusal_leaves_no_session_behind(server):
    server.person["email"] = "jane@other.example"
    browser = Client()
    come_in(browser)
    assert "sessionid" not in str(browser.cookies.keys())
    assert not browser.session.items()


@pytest.mark.usefixtures("still_clock")
def test_guessing_codes_gets_slower(server):
    server.lies = {"nonce": "x"}
    answers = [come_in().content.decode() for _ in range(7)]
    assert "could not confirm" in answers[4]
    assert "Too many tries" in answers[5]
    assert len(failures()) == 5


@pytest.mark.parametrize(
    "documents",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://169.254.169.254/latest/meta-data"},
        {"token_endpoint": "http://10.1.2.3/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_document_leads_nowhere_else(server, documents):
    server.documents = documents
    browser = Client()
    answer = browser.get(reverse("provider_begin"))
    if answer.status_code == 302:
        answer = browser.get(at_the_provider(answer["Location"]).removeprefix("http://testserver"))
    assert answer.status_code == 403
    assert not User.objects.exists()


def test_a_provider_that_is_away_is_said_so(server, settings):
    gone = SignInProvider("http://127.0.0.1:9", CLIENT_ID, "x", (), "runner", "Example")
    settings.SIGN_IN_PROVIDER = gone
    answer = Client().get(reverse("provider_begin"))
    assert answer.status_code == 403
    assert "could not confirm" in answer.content.decode()


def test_the_button_is_there_only_if_a_provider_is_set_up(server, settings):
    assert "Sign in with Example" in Client().get(reverse("sign_in")).content.decode()
    settings.SIGN_IN_PROVIDER = None
    assert "Sign in with" not in Client().get(reverse("sign_in")).content.decode()
    assert Client().get(reverse("provider_begin")).status_code == 404


def test_no_secret_of_the_provider_shows_anywhere(server):
    answers = [come_in(), come_in(Client())]
    shown = "".join(f"{answer.headers}{answer.content!r}" for answer in answers)
    assert CLIENT_SECRET not in shown + str(list(AuditEntry.objects.values()))


SET_UP = {
    "EVALSITE_OIDC_ISSUER": "https://login.example.com/realms/main",
    "EVALSITE_OIDC_CLIENT_ID": "evalsite",
    "EVALSITE_OIDC_CLIENT_SECRET": "s",
}


def test_the_environment_sets_a_provider_up(tmp_path):
    environ = {**SET_UP, "EVALSITE_DATA": str(tmp_path), "EVALSITE_OIDC_DOMAINS": "A.com, b.org"}
    found = read_environment(environ).sign_in_provider
    assert found is not None
    assert (found.domains, found.role, found.name) == (
        ("a.com", "b.org"),
        "viewer",
        "login.example.com",
    )
    assert read_environment({"EVALSITE_DATA": str(tmp_path)}).sign_in_provider is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EVALSITE_OIDC_ISSUER", "http://login.example.com"),
        ("EVALSITE_OIDC_ISSUER", "login.example.com"),
        ("EVALSITE_OIDC_CLIENT_ID", ""),
        ("EVALSITE_OIDC_CLIENT_SECRET", ""),
        ("EVALSITE_OIDC_DOMAINS", "*.example.com"),
        ("EVALSITE_OIDC_DOMAINS", "@example.com"),
        ("EVALSITE_OIDC_ROLE", "admin"),
    ],
)
def test_a_wrong_set_up_stops_the_start_with_its_name(tmp_path, name, value):
    with pytest.raises(EnvironmentProblem, match=name):
        read_environment({**SET_UP, "EVALSITE_DATA": str(tmp_path), name: value})


def test_an_invitation_that_is_too_old_lets_nobody_in(server):
    server.person["email"] = "jane@other.example"
    link = invite(make_person("ada", staff=True), Role.AUTHOR, 7)
    Invitation.objects.update(expires=now())
    assert come_in(invitation=link.path.split("/")[2]).status_code == 403
