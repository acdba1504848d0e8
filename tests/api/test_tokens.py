"""Tokens: made once, kept as a hash, usable until they expire or are revoked."""

import hashlib
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils.timezone import now

from runs.models import ApiToken
from runs.services.people.accounts import needs_setup
from runs.services.people.tokens import authenticate_token, create_token, revoke_token
from tests.harness.factories import client_of
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db


def test_a_token_is_known_again_and_only_its_hash_is_stored(alice):
    made = create_token(alice, "ci", ["read"])
    found = known(made.text)
    assert (found.owner, found.scopes) == (alice, ["read"])
    stored = ApiToken.objects.values().get()
    secret = made.text.removeprefix(f"{made.token.prefix}_")
    assert len(secret) == 43  # 256 bits in base 64
    assert secret not in str(stored)
    assert stored["digest"] == hashlib.sha256(made.text.encode()).hexdigest()


@pytest.mark.postgresql("types: it takes no NUL and no half characters")
def test_anything_but_the_token_is_refused(alice):
    text = create_token(alice, "ci", ["read"]).text
    never = ["", "ev_", "\x00", "ev_0000000000_" + "a" * 43, "\ud800" * 60]
    given = [text[:-1], text + "x", text.upper(), *never]
    assert [one for one in given if authenticate_token(one) is not None] == []


def test_a_token_is_compared_in_constant_time(alice):
    """Only that comparison refuses to look at letters that are not ASCII."""
    made = create_token(alice, "ci", ["read"])
    ApiToken.objects.update(digest="é" * 64)
    with pytest.raises(TypeError, match="non-ASCII"):
        authenticate_token(made.text)


def test_a_token_ends_when_it_is_revoked_with_its_days_and_with_the_account(alice):
    revoked = create_token(alice, "ci", ["read"])
    assert revoke_token(revoked.token)
    assert not revoke_token(revoked.token)
    assert authenticate_token(revoked.text) is None
    short = create_token(alice, "ci", ["read"], days=1)
    assert authenticate_token(short.text)
    ApiToken.objects.update(expires=now() - timedelta(seconds=1))
    assert authenticate_token(short.text) is None
    other = create_token(alice, "ci", ["read"])
    assert authenticate_token(other.text)
    User.objects.update(is_active=False)
    assert authenticate_token(other.text) is None


def test_a_token_must_make_sense_and_its_last_use_is_noted_once_a_minute(alice):
    wrong: list[Any] = [
        ("name", {"name": " "}),
        ("name", {"name": "x" * 81}),
        ("scopes", {"scopes": []}),
        ("scopes", {"scopes": ["read", "admin"]}),
        ("days", {"days": 0}),
    ]
    for path, given in wrong:
        with pytest.raises(ConfigurationError) as caught:
            create_token(alice, **{"name": "ci", "scopes": ["read"], **given})
        assert [problem.path for problem in caught.value.problems] == [path]
    assert not ApiToken.objects.exists()
    made = create_token(alice, "ci", ["read"])
    authenticate_token(made.text)
    first = ApiToken.objects.get().last_used
    assert first is not None
    authenticate_token(made.text)
    assert ApiToken.objects.get().last_used == first


def run_command(*arguments):
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def known(text):
    found = authenticate_token(text.strip())
    assert found is not None
    return found


def test_the_command_prints_the_token_alone_of_whom_is_named_or_the_first_administrator(alice):
    text = run_command("nightly", "--scope", "read,run", "--user", "alice", "--days", "3")
    assert re.fullmatch(r"ev_[0-9a-f]{10}_[\w-]{43}\n", text)
    found = known(text)
    assert (found.owner, found.scopes, found.name) == (alice, ["read", "run"], "nightly")
    ada = User.objects.create(username="ada", is_superuser=True)
    found = known(run_command("nightly"))
    assert (found.owner, found.scopes) == (ada, ["read", "run", "manage"])


def test_on_a_fresh_site_the_command_makes_an_account_that_leaves_the_set_up_open():
    first, second = (known(run_command("ci")).owner for _ in range(2))
    assert first == second
    assert not first.has_usable_password()
    assert needs_setup()
    for words in (("ci", "--scope", "all"), ("ci", "--user", "nobody")):
        with pytest.raises(CommandError) as caught:
            run_command(*words)
        assert caught.value.returncode == 2


def test_the_page_shows_a_new_token_once_or_what_is_wrong(alice):
    browser = client_of(alice)
    given = {"name": "my notebook", "days": "30", "scopes": ["read"]}
    made = browser.post(reverse("tokens"), given).content.decode()
    [text] = set(re.findall(r"ev_\w{10}_[\w-]{43}", made))
    assert known(text).expires is not None
    page = browser.get(reverse("tokens")).text
    assert ("my notebook" in page, text in page) == (True, False)
    browser.post(reverse("token_revoke", args=[known(text).pk]))
    assert authenticate_token(text) is None
    assert "revoked" in browser.get(reverse("tokens")).text
    answer = browser.post(reverse("tokens"), {"name": "x", "days": "0", "scopes": []})
    assert answer.status_code == 400
    for told in ("Choose one or more of: read, run, manage.", "Give 1 to 3650 days"):
        assert told in answer.text
