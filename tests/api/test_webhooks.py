"""Webhooks: told once a run has ended, signed, and only at addresses that may be reached."""

import hashlib
import hmac
import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.db import connections
from django.utils.timezone import now

from runs.models import Endpoint, Webhook, WebhookDelivery
from runs.outbound import webhook_policy, webhook_route
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import record_results
from runs.services.runs import cancel_run, create_run, fail_run
from runs.services.webhooks import PAUSES, claim_deliveries, create_webhook, note_delivery
from tests.api.asking import Asker
from tests.engine.proxies import connect_proxy, make_authority, tls_server
from tests.engine.test_http import Server, served
from tests.harness.factories import run_document
from tests.runs.test_outbound import FORBIDDEN_URLS, Answers
from tests.workers.test_recording import results_of, take
from workers.database_thread import in_database
from workers.engine.errors import ConfigurationError
from workers.engine.http import Client
from workers.engine.providers.resolver import GuardedResolver
from workers.engine.providers.routes import open_client
from workers.messenger import Messenger

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_calls")]

in_thread = database_sync_to_async
URL = "https://ci.example/hook?team=7"


@pytest.fixture
def run(alice, dataset):
    made = create_run(alice, run_document(dataset))
    advance_run(made.pk)
    return made


def complete(run):
    for place in range(run.chunks.count()):
        record_results(run.pk, results_of(take(run, place)))
    advance_run(run.pk)


def test_the_end_of_a_run_is_put_into_the_outbox_of_its_owner(alice, bob, dataset):
    create_webhook(alice, URL)
    create_webhook(bob, URL)
    for end in (cancel_run, lambda run: fail_run(run, "It cannot go on."), complete):
        run = create_run(alice, run_document(dataset))
        advance_run(run.pk)
        end(run)
        assert WebhookDelivery.objects.get(run=run).webhook.owner == alice
        cancel_run(run)  # it had ended
        assert WebhookDelivery.objects.filter(run=run).count() == 1


def test_a_parcel_is_signed_and_claimed_once_and_the_claim_ends(alice, run):
    made = create_webhook(alice, URL)
    cancel_run(run)
    (parcel,) = claim_deliveries(10)
    assert claim_deliveries(10) == []
    content = json.loads(parcel.body)
    assert (content["type"], content["run"]["state"]) == ("run.ended", "cancelled")
    parts = parcel.headers["X-Evalsite-Signature"].split(",")
    moment, signature = (part.split("=")[1] for part in parts)
    signed = moment.encode() + b"." + parcel.body
    expected = hmac.new(made.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(signature, expected)
    WebhookDelivery.objects.update(next_try=now() - timedelta(seconds=1))
    assert len(claim_deliveries(10)) == 1, "its worker may have died"


def test_it_is_tried_a_few_times_and_then_given_up(alice, run):
    create_webhook(alice, URL)
    cancel_run(run)
    for _ in range(len(PAUSES) + 1):
        WebhookDelivery.objects.update(next_try=now())
        (parcel,) = claim_deliveries(10)
        note_delivery(parcel.delivery_id, "It answered 500.")
    delivery = WebhookDelivery.objects.get()
    assert (delivery.attempts, delivery.next_try, delivery.delivered) == (5, None, None)
    assert delivery.problem == "It answered 500."


INSIDE = ["127.0.0.1:8500", "localhost:8500", "10.0.0.5:80", "redis:6379", "models.lan:8000"]
INSIDE += ["[::1]:8500"]


def test_a_forbidden_address_is_refused_also_if_endpoints_may_call_it(alice, endpoint, settings):
    Endpoint.objects.update(private_addresses=INSIDE)
    settings.ALLOWED_PRIVATE_ENDPOINTS = [*INSIDE, "127.0.0.1:80", "169.254.169.254:80"]
    long = "https://ci.example/" + "x" * 300
    for url in [*(f"http://{place}/hook" for place in INSIDE), *FORBIDDEN_URLS, "x", long]:
        with pytest.raises(ConfigurationError) as caught:
            create_webhook(alice, url)
        assert [problem.path for problem in caught.value.problems] == ["url"], url
    url = f"http://{INSIDE[0]}/hook"
    assert Asker(alice).post("/webhooks", {"url": url}).status_code == 422
    assert not Webhook.objects.exists()


async def test_a_webhook_whose_name_moves_inside_is_connected_nowhere(alice, run, settings):
    """The name server says public, then loopback: only what was checked is ever connected to."""
    settings.ALLOWED_PRIVATE_ENDPOINTS = ["rebinding.example:443"]
    await in_thread(create_webhook)(alice, "https://rebinding.example/hook")
    await in_thread(cancel_run)(run)
    connected: list[str] = []

    async def connect(addresses, **options):
        connected.extend(place[0] for *_, place in addresses)
        raise OSError  # nothing leaves this machine

    names = Answers(["8.8.8.8"], ["127.0.0.1"], ["8.8.8.8", "169.254.169.254"])
    resolver = GuardedResolver(webhook_policy(), names)
    for _ in range(3):
        await in_thread(WebhookDelivery.objects.update)(next_try=now())
        async with Client(resolver, connect=connect) as client:
            await Messenger().deliver(client)
    await in_database(connections.close_all)
    assert connected == ["8.8.8.8"]
    stored = await in_thread(WebhookDelivery.objects.get)()
    assert "never called" in stored.problem
    assert (names.answers, stored.attempts) == ([], 3)


async def test_a_webhook_goes_through_the_proxy_by_its_address(alice, run, settings, tmp_path):
    """Not by its name, which the proxy would look up as it likes."""
    authority = make_authority(tmp_path, "localhost")
    async with connect_proxy() as proxy, tls_server(authority) as port:
        settings.HTTPS_PROXY, settings.NO_PROXY = f"http://127.0.0.1:{proxy.port}", ()
        settings.UNSAFE_WEBHOOK_ADDRESSES = [f"localhost:{port}"]
        await in_thread(create_webhook)(alice, f"https://localhost:{port}/hook")
        await in_thread(cancel_run)(run)
        stored = await deliver()
    assert proxy.asked[-1] in {f"127.0.0.1:{port}", f"::1:{port}"}
    assert "certificate" in stored.problem, "its authority is not known here"


@asynccontextmanager
async def hooked(owner, server, settings):
    """A webhook of theirs at an address that the site may reach for now."""
    async with served(server) as url:
        settings.UNSAFE_WEBHOOK_ADDRESSES = [url.split("/")[2]]
        await in_thread(create_webhook)(owner, url)
        yield


async def deliver():
    async with open_client(webhook_route()) as client:
        await Messenger().deliver(client)
    await in_database(connections.close_all)  # the thread outlives the test's database
    return await in_thread(WebhookDelivery.objects.get)()


@pytest.mark.usefixtures("still_clock")
async def test_a_worker_delivers_and_tries_again_what_failed(alice, run, settings):
    server = Server([b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"])
    async with hooked(alice, server, settings):
        await in_thread(cancel_run)(run)
        stored = await deliver()
        assert (stored.problem, stored.delivered) == ("It answered 500.", None)
        await deliver()  # not yet
        assert len(server.requests) == 1
        await in_thread(WebhookDelivery.objects.update)(next_try=now())
        stored = await deliver()
    assert (stored.problem, stored.next_try, stored.attempts) == ("", None, 2)
    assert stored.delivered is not None
    bodies = [json.loads(sent.partition(b"\r\n\r\n")[2]) for sent in server.requests]
    assert [body["run"]["id"] for body in bodies] == [run.pk, run.pk]


async def test_an_address_that_became_private_is_not_reached(alice, run, settings):
    server = Server()
    async with hooked(alice, server, settings):
        settings.UNSAFE_WEBHOOK_ADDRESSES = []
        await in_thread(cancel_run)(run)
        assert (await deliver()).problem
    assert server.requests == []


def test_webhooks_are_added_listed_and_removed(asker, stranger, run):
    made = asker.post("/webhooks", {"url": URL})
    assert made.status_code == 201
    secret = made.json()["secret"]
    cancel_run(run)
    (listed,) = asker.get("/webhooks").json()["data"]
    assert (listed["url"], listed["last_delivery"]["run"]) == (URL, run.pk)
    assert secret not in str(listed)
    path = f"/webhooks/{made.json()['id']}"
    assert stranger.get("/webhooks").json()["data"] == []
    assert stranger.ask("delete", path).status_code == 404
    assert asker.ask("delete", path).json() == {"applied": True, "changed": True}
    assert asker.ask("delete", path).status_code == 404
    statuses = [asker.post("/webhooks", {"url": URL}).status_code for _ in range(11)]
    assert statuses == [201] * 10 + [422], "a person has only so many"
