"""An admin lets one endpoint call a private address, by a tick that can be taken away."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.urls import reverse

from runs.models import AuditAction, AuditEntry, Dataset, Endpoint, EndpointKind
from runs.outbound import check_servers, places_to_tick
from runs.roles import Role
from runs.services.endpoints import save_endpoint
from tests.harness.factories import client_of, make_person, run_document
from tests.runs.test_pages_endpoints import fields
from workers.engine.errors import ForbiddenAddress
from workers.engine.here import run_here
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Request
from workers.wiring import Clients, build_provider

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]

OLLAMA = "http://localhost:11434"
PLACE = "localhost:11434"


@pytest.fixture
def admin(ada):
    return client_of(ada)


def add(browser, **changes):
    return browser.post(reverse("endpoint_new"), fields(kind="ollama", base_url=OLLAMA, **changes))


def ticks_of(answer):
    """The ticks that a page offers, and whether they are set."""
    found = answer.context["form"]["private_addresses"]
    return {choice.data["value"]: bool(choice.data["selected"]) for choice in found}


def test_a_first_endpoint_on_this_machine_takes_one_tick_that_can_be_taken_away(admin):
    refused = add(admin, new_key="")
    page = refused.text
    assert refused.status_code == 400
    assert ticks_of(refused) == {PLACE: False}
    assert "under Private addresses" in page
    assert 'value="http://localhost:11434"' in page  # what was typed is still there
    assert "model-a\nmodel-b" in page
    saved = add(admin, private_addresses=[PLACE])
    stored = Endpoint.objects.get()
    assert saved["Location"] == stored.get_absolute_url()
    assert (stored.private_addresses, str(stored.private_set_by)) == ([PLACE], "ada")
    assert stored.private_set_at is not None
    assert check_servers(stored) == (OLLAMA,)
    page = admin.get(stored.get_absolute_url())
    assert ticks_of(page) == {PLACE: True}
    assert "by\n    ada." in page.text
    answer = admin.post(stored.get_absolute_url(), fields(kind="ollama", base_url=OLLAMA))
    assert answer.status_code == 302  # without the tick
    revoked = Endpoint.objects.get()
    assert revoked.private_addresses == []
    with pytest.raises(ForbiddenAddress):
        check_servers(revoked)
    assert ticks_of(admin.get(revoked.get_absolute_url())) == {PLACE: False}
    told = AuditEntry.objects.filter(detail=PLACE).order_by("pk")
    assert list(told.values_list("actor", "action", "subject")) == [
        ("ada", AuditAction.PRIVATE_ALLOWED, "main"),
        ("ada", AuditAction.PRIVATE_REVOKED, "main"),
    ]


def test_another_private_address_is_asked_about_again_and_a_public_one_never(admin):
    assert "Private addresses" not in admin.get(reverse("endpoint_new")).text
    admin.post(reverse("endpoint_new"), fields(private_addresses=["10.0.0.1:80", "x"]))
    stored = Endpoint.objects.get()
    assert stored.private_addresses == []
    stored.delete()
    add(admin, private_addresses=[PLACE])
    stored = Endpoint.objects.get()
    moved = {"kind": "ollama", "base_url": "http://localhost:11435", "private_addresses": [PLACE]}
    answer = admin.post(stored.get_absolute_url(), fields(**moved))
    assert answer.status_code == 400
    assert ticks_of(answer)["localhost:11435"] is False
    moved["private_addresses"] = ["localhost:11435"]
    assert admin.post(stored.get_absolute_url(), fields(**moved)).status_code == 302
    assert Endpoint.objects.get().private_addresses == ["localhost:11435"]


def test_an_operator_is_told_whom_to_ask_and_in_the_admin_it_is_the_same(admin):
    answer = add(client_of(make_person("olga", role=Role.OPERATOR)), private_addresses=[PLACE])
    assert (answer.status_code, Endpoint.objects.count()) == (400, 0)
    assert "Ask an administrator (ada)" in answer.text
    User.objects.update(is_superuser=True)
    typed = fields(kind="ollama", base_url=OLLAMA, opened="")
    address = reverse("admin:runs_endpoint_add")
    answer = admin.post(address, typed)
    assert "under Private addresses" in answer.text
    assert f'name="private_addresses" value="{PLACE}"' in answer.text
    assert admin.post(address, {**typed, "private_addresses": [PLACE]}).status_code == 302
    assert Endpoint.objects.get().private_addresses == [PLACE]


def test_a_hosted_site_refuses_whatever_is_ticked(admin, settings):
    add(admin, private_addresses=[PLACE])
    settings.PRIVATE_ENDPOINTS = "refuse"
    with pytest.raises(ForbiddenAddress, match="EVALSITE_ALLOWED_PRIVATE_ENDPOINTS"):
        check_servers(Endpoint.objects.get())
    answer = add(admin, name="second", private_addresses=[PLACE])
    assert answer.status_code == 400
    assert f"EVALSITE_ALLOWED_PRIVATE_ENDPOINTS={PLACE}" in answer.text
    settings.ALLOWED_PRIVATE_ENDPOINTS = (PLACE,)
    assert add(admin, name="second").status_code == 302


METADATA = """
    http://169.254.169.254 http://[fd00:ec2::254] http://[::ffff:169.254.169.254]
    http://[64:ff9b::a9fe:a9fe] http://[2002:a9fe:a9fe::] http://[::a9fe:a9fe]
    http://100.100.100.200 http://168.63.129.16 http://metadata.google.internal
    http://METADATA.google.internal. http://metadata http://instance-data.ec2.internal
"""


def test_no_tick_opens_a_metadata_service_or_another_protocols_port(ada, admin, settings):
    for url in METADATA.split():
        place = url.removeprefix("http://").lower().rstrip(".") + ":80"
        settings.ALLOWED_PRIVATE_ENDPOINTS = (place,)
        with pytest.raises(ValidationError, match="never called"):
            save_endpoint(ada, at(f"{url}/latest", place))
    typed = fields(base_url=f"{url}/latest", private_addresses=[place])
    answer = admin.post(reverse("endpoint_new"), typed)
    assert (answer.status_code, "never called" in answer.text) == (400, True)
    with pytest.raises(ValidationError, match="belongs to another protocol"):
        save_endpoint(ada, at("http://localhost:22", "localhost:22"))
    assert not Endpoint.objects.exists()


def test_a_name_within_a_network_is_asked_about_and_one_that_proves_private_is_offered(admin):
    for host in ("gpu-box", "gpu-1.lan", "host.docker.internal", "nas.local"):
        url = f"http://{host}:8000/v1"
        assert places_to_tick(at(url)) == [f"{host}:8000"]
    answer = admin.post(reverse("endpoint_new"), fields(base_url=url))
    assert ticks_of(answer) == {"nas.local:8000": False}
    # A public-looking name whose address is private: only a look-up tells.
    admin.post(reverse("endpoint_new"), fields(base_url="http://models.example:8000/v1"))
    stored = Endpoint.objects.get()
    address = stored.get_absolute_url()
    offered = ticks_of(admin.get(f"{address}?allow=models.example:8000"))
    assert offered == {"models.example:8000": False}
    assert ticks_of(admin.get(f"{address}?allow=elsewhere.example:1")) == {}
    Endpoint.objects.update(kind="ollama", base_url=OLLAMA)
    answer = admin.post(reverse("endpoint_test", args=[stored.pk]), headers={"X-Part": "report"})
    assert f"{stored.get_absolute_url()}?allow={PLACE.replace(':', '%3A')}" in (answer.text)


def at(url, *allowed):
    opened = {"private_addresses": list(allowed)}
    return Endpoint(name="it", kind=EndpointKind.OPENAI, base_url=url, **opened)


async def test_a_tick_opens_the_address_to_its_endpoint_alone(simulator, settings):
    """Over one worker's clients: by number and by name, also while a connection is open."""
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()
    body = {"model": "sim-large", "messages": [{"role": "user", "content": "What is 2 + 3?"}]}
    request = Request("it", "sim-large", "/chat/completions", body)
    url, clients = f"{simulator.url}/v1", Clients()
    allowed, other = at(url, simulator.url.removeprefix("http://")), at(url)
    await build_provider(allowed, clients.of(allowed)).send(request)
    with pytest.raises(ForbiddenAddress):
        await build_provider(other, clients.of(other)).send(request)
    with pytest.raises(ForbiddenAddress):  # whoever forgets to check the URL is stopped as well
        await clients.of(other).get(f"{url}/models", {})
    assert simulator.ledger()["total"] == 1
    await clients.close()


async def test_a_run_stops_by_itself_when_its_address_is_revoked():
    """As after any error that comes again and again, so that it can go on later."""
    document = run_document(Dataset(name="sums", version=1), models=["it/model"])
    cases = [Case(n, {"question": f"What is {n} + 1?", "expected": str(n + 1)}) for n in range(60)]
    stops: list[Any] = []
    clients, revoked = Clients(), at(f"{OLLAMA}/v1")
    providers = {"it": build_provider(revoked, clients.of(revoked))}
    scores = await run_here(read_configuration(document), cases, providers, on_stop=stops.append)
    await clients.close()
    assert {score.error for score in scores} == {ForbiddenAddress.name}
    assert [stop.by for stop in stops] == ["errors"]
    assert len(scores) < len(cases)
