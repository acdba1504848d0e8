"""Headers of an endpoint's own, its proxy and certificates: secrets stay so, the guard holds."""

import asyncio
import subprocess

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs import secrets
from runs.models import AuditEntry, Endpoint
from runs.reports.curl import call_as_curl
from runs.roles import Role
from runs.selectors.endpoints.manner import headers_of, route_of
from runs.selectors.endpoints.service import service_of
from runs.services.connection import check_connection
from runs.services.endpoints import rotate_endpoint_keys, save_endpoint
from tests.api.asking import Asker
from tests.engine.proxies import connect_proxy, make_authority, tls_server
from tests.harness.factories import client_of, make_person
from tests.harness.patience import PATIENCE_SECONDS
from tests.runs.conftest import said_by
from workers.engine.http import is_left_out, read_proxy
from workers.engine.records import Request

pytestmark = pytest.mark.django_db

KEY = "sk-canary-0123456789abcdef"
VALUE = "canary-header-0123456789"
PASSWORD = "canary-password-0123456789"
PROXY = f"http://ada:{PASSWORD}@proxy.example:3128"
HOST = "models.company.example"
MAIN = {"name": "main", "kind": "openai", "base_url": "https://provider.example/v1"}


@pytest.fixture(autouse=True)
def no_proxy(settings, data_folder):
    settings.HTTPS_PROXY, settings.NO_PROXY = "", ()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("authority"), HOST)


def new_endpoint(**fields):
    return Endpoint(**{**MAIN, **fields})


def saved_with_all(ada):
    return save_endpoint(ada, new_endpoint(), KEY, new_headers={"X-Team": VALUE}, new_proxy=PROXY)


def form_data(**changes):
    return {**MAIN, "max_concurrent": "4", **changes}


def proxy_of(endpoint):
    found = route_of(endpoint).way.proxy
    assert found is not None
    return found


def holds_a_secret(text):
    return [one for one in (KEY, VALUE, PASSWORD) if one in str(text)]


def test_headers_and_password_are_stored_encrypted_also_anew_and_shown_nowhere(ada):
    saved = saved_with_all(ada)
    assert not holds_a_secret(Endpoint.objects.values_list().get())
    assert headers_of(saved) == {"X-Team": VALUE}
    assert proxy_of(saved).password == PASSWORD
    assert saved.header_names == ["X-Team"]
    assert saved.proxy_shown == "http://ada:…@proxy.example:3128"
    page = client_of(ada)
    for address in (reverse("endpoints"), saved.get_absolute_url()):
        assert not holds_a_secret(page.get(address).text)
    assert not holds_a_secret(list(AuditEntry.objects.values_list()))
    assert service_of(saved) != service_of(new_endpoint(key_ciphertext=saved.key_ciphertext))
    body = {"model": "m", "messages": []}
    command = call_as_curl(saved, Request("main", "m", "/chat/completions", body))
    assert """-H 'X-Team: '"$HEADER_X_TEAM" """ in command
    assert not holds_a_secret(command)
    assert rotate_endpoint_keys(forget_old=True) == 1
    stored = Endpoint.objects.get()
    assert stored.headers_ciphertext != saved.headers_ciphertext
    assert (headers_of(stored), proxy_of(stored).password) == ({"X-Team": VALUE}, PASSWORD)
    assert secrets.decrypt(stored.key_ciphertext) == KEY
    save_endpoint(ada, stored, new_headers={"X-Team": "other"})
    assert "headers" in AuditEntry.objects.filter(action="endpoint.changed").get().detail


def test_the_page_keeps_changes_and_removes_them(ada):
    page = client_of(ada)
    sent = form_data(new_headers=f"X-Team: {VALUE}\nX-Two: b", new_proxy=PROXY)
    page.post(reverse("endpoint_new"), sent)
    stored = Endpoint.objects.get()
    assert headers_of(stored) == {"X-Team": VALUE, "X-Two": "b"}
    address = stored.get_absolute_url()
    page.post(address, form_data(new_headers="", new_proxy=stored.proxy_shown))
    kept = Endpoint.objects.get()
    for secret in ("headers_ciphertext", "proxy_ciphertext"):
        assert getattr(kept, secret) == getattr(stored, secret)
    page.post(address, form_data(remove_headers="on", new_proxy=""))
    gone = Endpoint.objects.get()
    assert (gone.headers_ciphertext, gone.header_names) == ("", [])
    assert (gone.proxy_shown, gone.proxy_ciphertext) == ("", "")


def test_a_call_as_curl_runs_nothing_but_curl(ada, tmp_path):
    """Whatever was stored before names and words were narrowed, in a real shell, with a canary."""
    canary, words = tmp_path / "canary", tmp_path / "words"
    attack = f"$(touch {canary})`touch {canary}`\"; touch {canary}; '"
    saved = saved_with_all(ada)
    Endpoint.objects.update(
        header_names=["X-Team", f"X`touch {canary}`"],
        options={"organization": attack, "project": "a'b"},
        base_url=f"http://127.0.0.1:9/{attack}",
    )
    saved.refresh_from_db()
    fake = tmp_path / "curl"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {words}\n')
    fake.chmod(0o755)
    body = {"model": attack, "messages": [{"role": "user", "content": f"REQUEST\n{attack}"}]}
    command = call_as_curl(saved, Request("main", "m", "/chat/completions", body))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "API_KEY": KEY, "HEADER_X_TEAM": VALUE}
    subprocess.run(["bash", "-ec", command], env=environment, check=True, timeout=PATIENCE_SECONDS)
    told = words.read_text().splitlines()
    assert not canary.exists()
    assert {f"Authorization: Bearer {KEY}", f"X-Team: {VALUE}", "OpenAI-Project: a'b"} <= set(told)
    assert f"OpenAI-Organization: {attack}" in told


def test_a_private_proxy_needs_a_tick(ada):
    page = client_of(ada)
    sent = form_data(new_proxy="http://proxy.corp.internal:3128")
    refused = page.post(reverse("endpoint_new"), sent)
    offered = refused.context["form"].fields["private_addresses"].choices
    assert [place for place, _ in offered] == ["proxy.corp.internal:3128"]
    page.post(reverse("endpoint_new"), {**sent, "private_addresses": "proxy.corp.internal:3128"})
    assert Endpoint.objects.get().private_addresses == ["proxy.corp.internal:3128"]
    operator = make_person("olga", role=Role.OPERATOR)
    with pytest.raises(ValidationError, match=r"proxy\.corp\.internal"):
        save_endpoint(operator, new_endpoint(name="b"), new_proxy=sent["new_proxy"])


def test_stored_secrets_go_to_no_new_place(ada, authority):
    places = {"base_url": "https://other.example/v1", "ca_bundle": authority.pem}
    for what in ("base_url", "new_proxy", "ca_bundle"):
        Endpoint.objects.all().delete()
        saved = saved_with_all(ada)
        proxy = "http://other.example:3128" if what == "new_proxy" else None
        if what in places:
            setattr(saved, what, places[what])
        with pytest.raises(ValidationError) as refused:
            save_endpoint(ada, saved, KEY, new_proxy=proxy)
        assert "enter the headers again" in str(refused.value.message_dict[what])
        save_endpoint(ada, saved, KEY, new_headers={"X-Team": VALUE}, new_proxy=proxy)
    less = save_endpoint(ada, saved, new_proxy="direct")
    assert less.proxy_shown == "direct", "less of it is no new place"


LEFT_OUT = [
    ("api.example.com", ("example.com",), True),
    ("api.example.com", (".example.com",), True),
    ("badexample.com", ("example.com",), False),
    ("10.1.2.3", ("10.0.0.0/8",), True),
    ("10.1.2.3", ("10.1.2.3",), True),
    ("11.1.2.3", ("10.0.0.0/8", "example.com"), False),
    ("anything.example", ("*",), True),
    ("anything.example", (), False),
]


def test_the_proxy_of_the_environment_is_for_https_and_an_endpoints_own_goes_first(settings, ada):
    assert [row for row in LEFT_OUT if is_left_out(*row[:2]) is not row[2]] == []
    settings.HTTPS_PROXY, settings.NO_PROXY = "http://proxy.corp:3128", ("inside.example",)
    way = route_of(new_endpoint()).way
    assert way.proxy_to("provider.example", is_secure=True) == read_proxy(settings.HTTPS_PROXY)
    assert way.proxy_to("provider.example", is_secure=False) is None
    assert way.proxy_to("models.inside.example", is_secure=True) is None, "of any of its servers"
    own = save_endpoint(ada, new_endpoint(), new_proxy="socks5://own.example:1080")
    assert proxy_of(own).host == "own.example"
    assert route_of(new_endpoint(proxy_shown="direct")).way.proxy is None


@pytest.mark.usefixtures("patient_calls")
async def test_a_connection_is_tested_through_the_proxy_of_the_environment(settings, authority):
    async with connect_proxy() as proxy, tls_server(authority) as port:
        settings.HTTPS_PROXY = f"http://127.0.0.1:{proxy.port}"
        endpoint = new_endpoint(base_url=f"https://{HOST}:{port}/v1", ca_bundle=authority.pem)
        check = sync_to_async(check_connection, thread_sensitive=False)
        assert "host name is not known" in (await check(endpoint)).message  # here: it is refused
        settings.UNSAFE_PROXY_LOOKS_UP = True
        report = await check(endpoint)
        assert report.status == 200, report
        assert proxy.asked == [f"{HOST}:{port}"]
        settings.NO_PROXY = (HOST,)
        report = await asyncio.to_thread(check_connection, endpoint)
    assert (report.ok, report.status) == (False, None)
    assert len(proxy.asked) == 1


def test_the_api_takes_them_and_answers_none(ada, authority):
    asker = Asker(ada)
    body = {"name": "g", "provider": "groq", "headers": {"X-Team": VALUE}, "proxy": PROXY}
    body["ca_bundle"] = authority.pem
    made = asker.post("/endpoints", body)
    assert made.status_code == 201, made.content
    assert not holds_a_secret(made.text)
    assert made.json()["header_names"] == ["X-Team"]
    shown = made.json()["proxy"]
    assert shown == "http://ada:…@proxy.example:3128"
    before = Endpoint.objects.get().proxy_ciphertext
    assert asker.patch("/endpoints/g", {"proxy": shown}).status_code == 200
    assert Endpoint.objects.get().proxy_ciphertext == before
    answer = asker.patch("/endpoints/g", {"headers": {}, "proxy": ""})
    assert (answer.json()["header_names"], answer.json()["proxy"]) == ([], "")


def test_a_command_reads_secrets_from_the_environment(ada, patch, tmp_path, authority):
    patch.setenv("TEAM", VALUE)
    patch.setenv("OUR_PROXY", PROXY)
    bundle = tmp_path / "ca.pem"
    bundle.write_text(authority.pem)
    options = ["--header-env", "X-Team=TEAM", "--proxy-env", "OUR_PROXY", "--user", "ada"]
    told = said_by("save_endpoint", "g", "--provider=groq", *options, f"--ca-bundle={bundle}")
    stored = Endpoint.objects.get()
    assert headers_of(stored) == {"X-Team": VALUE}
    assert stored.ca_bundle == authority.pem
    assert not holds_a_secret(told)
    for wrong in (["--header-env", "X-A=MISSING"], ["--ca-bundle", "missing.pem"]):
        with pytest.raises(CommandError, match="there is no such"):
            call_command("save_endpoint", "g", *wrong, "--user", "ada")
