"""People come in through a sign-in provider: a real one over HTTP, honest or lying."""

import base64
import hashlib
import json
import secrets
import time
from contextlib import closing
from datetime import timedelta
from functools import cache as remembered
from http.client import HTTPConnection
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from evalsite.env import EnvironmentProblem, read_environment
from evalsite.sign_in_provider import SignInProvider
from runs.models import AuditEntry, Invitation, ProviderIdentity, SignInFailure
from runs.roles import Role, stored_role_of
from runs.services.people import provider_protocol
from runs.services.people.invitations import invite
from runs.services.people.roles import add_person, set_active
from tests.harness.answering import Told, answering, told_json
from tests.harness.factories import client_of, make_person_with_password
from tests.harness.table import table

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient_calls")]

CLIENT_ID, CLIENT_SECRET = "evalsite-test", "oidc-canary-secret"
MAIL = "jane@example.com"
JANE = {"sub": "248289761001", "email": "Jane@Example.com", "email_verified": True}


@remembered
def a_key(number):
    return generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """A person signs in at once. It checks client, redirect address and PKCE as a provider does,
    with real keys and signatures, and can be told to lie."""

    issuer = ""

    def __init__(self):
        self._codes = {}
        self.be_honest()

    def be_honest(self):
        self.person = dict(JANE)
        self.lies = {}  # replace claims of the token
        self.documents = {}  # replace what the discovery document says
        self.signed_by = 0  # the number of the key: the one that is published
        self.algorithm = "RS256"

    def answer(self, asked):
        url = urlsplit(asked.path)
        if url.path == "/authorize":
            return Told(302, headers={"Location": self.authorize(dict(parse_qsl(url.query)))})
        if url.path == "/token":
            token = self.token_for(dict(parse_qsl(asked.body.decode())))
            return told_json(token) if token else told_json({"error": "invalid_grant"}, 400)
        pages = {"/.well-known/openid-configuration": self.document, "/keys": self.keys}
        return told_json(pages[url.path]()) if url.path in pages else told_json({}, 404)

    def document(self):
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token"}
        paths |= {"jwks_uri": "keys"}
        addresses = {name: f"{self.issuer}/{path}" for name, path in paths.items()}
        return {"issuer": self.issuer, **addresses, **self.documents}

    def keys(self):
        published = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(a_key(0).public_key()))
        return {"keys": [{**published, "kid": "main", "use": "sig", "alg": "RS256"}]}

    def authorize(self, asked):
        """Where the browser is sent back to."""
        assert asked["client_id"] == CLIENT_ID
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token_for(self, form):
        """Unless its code was given to another client, address or verifier, or is used up."""
        asked = self._codes.pop(form.get("code"), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        sent = [form.get(name) for name in ("client_id", "client_secret", "redirect_uri")]
        if asked is None or [*sent, challenge] != [
            CLIENT_ID,
            CLIENT_SECRET,
            asked["redirect_uri"],
            asked["code_challenge"],
        ]:
            return None
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token(asked)}

    def id_token(self, asked):
        moment = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT_ID, "nonce": asked["nonce"]}
        usual |= {"iat": moment, "exp": moment + 300}
        claims = {**usual, **self.person, **self.lies}
        told = {name: value for name, value in claims.items() if value is not None}
        if self.algorithm == "none":
            return jwt.encode(told, "", algorithm="none")
        if self.algorithm == "HS256":  # with what everybody can read as the secret
            return jwt.encode(told, "x" * 64, algorithm="HS256", headers={"kid": "main"})
        return jwt.encode(told, a_key(self.signed_by), "RS256", headers={"kid": "main"})


@pytest.fixture(scope="module")
def running():
    provider = Provider()
    with answering(provider.answer) as place:
        provider.issuer = f"http://{place}"
        yield provider


@pytest.fixture
def server(running, settings):
    """Honest, and set up here."""
    running.be_honest()
    settings.SIGN_IN_PROVIDER = SignInProvider(
        running.issuer, CLIENT_ID, CLIENT_SECRET, ("example.com",), "runner", "Example"
    )
    cache.clear()
    return running


def at_the_provider(address):
    """What the browser does there: it is sent back at once."""
    place = urlsplit(address)
    with closing(HTTPConnection(place.netloc)) as connection:
        connection.request("GET", f"{place.path}?{place.query}")
        answer = connection.getresponse()
        assert answer.status == 302
        return answer.headers["Location"]


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
    rows = AuditEntry.objects.filter(action="sign_in.failed").order_by("pk")
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
    shown = f"{answer.headers}{answer.content!r}{list(AuditEntry.objects.values())}"
    assert CLIENT_SECRET not in shown


@pytest.fixture
def many_tries(server):
    """Come in as often as a table has rows; who tries too often is told to wait."""

    def come_again(**changes):
        SignInFailure.objects.all().delete()
        cache.clear()
        for name, value in changes.items():
            setattr(server, name, value)
        return come_in()

    return come_again


HONEST = {"lies": {}, "algorithm": "RS256", "signed_by": 0}


@table(
    ({"lies": {"nonce": "of another attempt"}}, "another nonce"),
    ({"lies": {"nonce": None}}, "another nonce"),
    ({"lies": {"aud": "another-site"}}, "InvalidAudienceError"),
    ({"lies": {"aud": [CLIENT_ID, "b"], "azp": "b"}}, "for another client"),
    ({"lies": {"iss": "https://evil.example"}}, "InvalidIssuerError"),
    ({"lies": {"exp": 1_500_000_000}}, "ExpiredSignatureError"),
    ({"lies": {"exp": None}}, "MissingRequiredClaimError"),
    ({"lies": {"iat": 32_500_000_000}}, "ImmatureSignatureError"),
    ({"lies": {"sub": None}}, "MissingRequiredClaimError"),
    ({"signed_by": 1}, "InvalidSignatureError"),
    ({"algorithm": "HS256"}, "InvalidAlgorithmError"),
    ({"algorithm": "none"}, "InvalidAlgorithmError"),
)
def test_a_token_that_is_not_for_this_site_and_attempt_is_refused(many_tries, changes, reason):
    known = len(failures())
    answer = many_tries(**{**HONEST, **changes})
    assert (answer.status_code, "could not confirm who you are" in answer.text) == (403, True)
    (told,) = failures()[known:]
    assert told.endswith(reason)
    assert not User.objects.exists()


@table(
    {"email": "jane@other.example"},
    {"email": "jane@sub.example.com"},
    {"email": "jane@example.com@evil.example"},
    {"email_verified": False},
    {"email_verified": "false"},
    {"email": None},
)
def test_a_stranger_stays_out(many_tries, changes):
    known = len(failures())
    answer = many_tries(person={**JANE, **changes})
    assert (answer.status_code, "Nobody here has invited you" in answer.text) == (403, True)
    assert len(failures()) == known + 1
    assert not User.objects.exists()


@pytest.mark.postgresql("collation: a mail address is found whatever its capitals")
def test_without_domains_only_known_people_come_in(server, settings, ada):
    settings.SIGN_IN_PROVIDER = SignInProvider(
        server.issuer, CLIENT_ID, CLIENT_SECRET, (), "runner", "Example"
    )
    assert come_in().status_code == 403
    jane = add_person(ada, "jane", Role.AUTHOR, MAIL).person
    server.person["email_verified"] = False  # then the mail is nobody's
    assert come_in().status_code == 403
    assert not ProviderIdentity.objects.exists()
    server.person["email_verified"] = True
    assert come_in().status_code == 302
    assert ProviderIdentity.objects.get().person == jane
    assert stored_role_of(jane) == Role.AUTHOR
    assert AuditEntry.objects.filter(action="provider.connected").count() == 1


def test_an_invitation_lets_a_stranger_in_once_with_its_role(server, ada):
    server.person["email"] = "jane@other.example"
    link = invite(ada, Role.AUTHOR, 7)
    token = link.path.split("/")[2]
    assert f"{reverse('provider_begin')}?invitation={token}" in Client().get(link.path).text
    assert come_in(invitation=token).status_code == 302
    jane = User.objects.get(username="jane@other.example")
    assert stored_role_of(jane) == Role.AUTHOR
    assert Invitation.objects.get().used_by == jane
    server.person |= {"sub": "2", "email": "joe@other.example"}
    assert come_in(invitation=token).status_code == 403
    link = invite(ada, Role.AUTHOR, 7)
    Invitation.objects.update(expires=now())
    assert come_in(invitation=link.path.split("/")[2]).status_code == 403, "it is too old"


def test_a_closed_account_stays_out(server, ada):
    jane = add_person(ada, "jane", Role.AUTHOR, MAIL).person
    for is_open, status in ((False, 403), (True, 302), (False, 403)):  # then it is known
        set_active(ada, jane.pk, is_active=is_open)
        answer = come_in()
        assert (answer.status_code, "closed" in answer.text) == (status, not is_open)
    assert User.objects.count() == 2


def test_who_is_signed_in_connects_the_own_account(server, alice, bob):
    browser = client_of(bob)
    assert "Connect with Example" in browser.get(reverse("profile")).text
    assert come_in(browser, next="/profile/")["Location"] == "/profile/"
    assert ProviderIdentity.objects.get().person == bob
    assert "is connected" in browser.get(reverse("profile")).text
    assert come_in(client_of(alice))["Location"] == reverse("profile")  # with the reason
    assert ProviderIdentity.objects.get().person == bob
    assert come_in(stranger := Client()).status_code == 302
    assert stranger.get(reverse("profile")).context["user"] == bob


def test_an_account_of_the_same_name_is_not_taken_over(server):
    make_person_with_password(MAIL)
    browser = Client()
    answer = come_in(browser)
    assert (answer.status_code, "connect it" in answer.text) == (403, True)
    assert "sessionid" not in str(browser.cookies.keys()), "a refusal leaves no session behind"
    assert not browser.session.items()
    assert not ProviderIdentity.objects.exists()


def test_only_the_browser_that_began_comes_back_in_time_and_only_once(server, set_constant):
    browser, other = Client(), Client()
    back = there_and_back(browser)
    there_and_back(other)
    assert other.get(back).status_code == 403  # another state
    assert Client().get(back).status_code == 403  # no attempt
    assert browser.get(back).status_code == 302
    browser.post(reverse("sign_out"))
    assert browser.get(back).status_code == 403
    assert browser.get(reverse("profile")).status_code == 302
    set_constant(provider_protocol, "ATTEMPT_SECONDS", -timedelta(seconds=1))
    assert come_in().status_code == 403, "an attempt ends by itself"


@pytest.mark.usefixtures("still_clock")
def test_guessing_codes_gets_slower(server):
    server.lies = {"nonce": "x"}
    answers = [come_in().text for _ in range(7)]
    assert "could not confirm" in answers[4]
    assert "Too many tries" in answers[5]
    assert len(failures()) == 5


DOCUMENTS = [
    {"issuer": "https://evil.example"},
    {"token_endpoint": "http://169.254.169.254/latest/meta-data"},
    {"token_endpoint": "http://10.1.2.3/token"},
    {"jwks_uri": "file:///etc/passwd"},
    {"authorization_endpoint": "javascript:alert(1)"},
]


def test_a_document_leads_nowhere_else_and_a_provider_that_is_away_is_said_so(server, settings):
    for server.documents in DOCUMENTS:
        cache.clear()
        browser = Client()
        answer = browser.get(reverse("provider_begin"))
        if answer.status_code == 302:
            back = at_the_provider(answer["Location"])
            answer = browser.get(back.removeprefix("http://testserver"))
        assert answer.status_code == 403, server.documents
    assert not User.objects.exists()
    gone = SignInProvider("http://127.0.0.1:9", CLIENT_ID, "x", (), "runner", "Example")
    settings.SIGN_IN_PROVIDER = gone
    cache.clear()
    SignInFailure.objects.all().delete()
    answer = Client().get(reverse("provider_begin"))
    assert (answer.status_code, "could not confirm" in answer.text) == (403, True)


SET_UP = {
    "EVALSITE_OIDC_ISSUER": "https://login.example.com/realms/main",
    "EVALSITE_OIDC_CLIENT_ID": "evalsite",
    "EVALSITE_OIDC_CLIENT_SECRET": "s",
}


def test_the_environment_sets_a_provider_up_whose_button_is_there_then(server, settings, tmp_path):
    assert "Sign in with Example" in Client().get(reverse("sign_in")).text
    settings.SIGN_IN_PROVIDER = None
    assert "Sign in with" not in Client().get(reverse("sign_in")).text
    assert Client().get(reverse("provider_begin")).status_code == 404
    environ = {**SET_UP, "EVALSITE_DATA": str(tmp_path), "EVALSITE_OIDC_DOMAINS": "A.com, b.org"}
    found = read_environment(environ).sign_in_provider
    assert found is not None
    assert found.domains == ("a.com", "b.org")
    assert (found.role, found.name) == ("viewer", "login.example.com")
    assert read_environment({"EVALSITE_DATA": str(tmp_path)}).sign_in_provider is None


@table(
    ("ISSUER", "http://login.example.com"),
    ("ISSUER", "login.example.com"),
    ("CLIENT_ID", ""),
    ("CLIENT_SECRET", ""),
    ("DOMAINS", "*.example.com"),
    ("DOMAINS", "@example.com"),
    ("ROLE", "admin"),
)
def test_a_wrong_set_up_stops_the_start_with_its_name(tmp_path, what, value):
    name = f"EVALSITE_OIDC_{what}"
    with pytest.raises(EnvironmentProblem, match=name):
        read_environment({**SET_UP, "EVALSITE_DATA": str(tmp_path), name: value})
