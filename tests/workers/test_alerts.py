"""Alerts: what is told, to whom, in which form; mail by a real server."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from aiosmtpd.handlers import Message
from aiosmtpd.smtp import SMTP
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils.timezone import now

from runs.models import AlertEvent, EventLevel, Run, Webhook, WebhookDelivery
from runs.services import alert_messages
from runs.services.alert_messages import pack
from runs.services.control.budgets import stop_for_budget
from runs.services.control.pauses import hold_run, pause_run
from runs.services.events import note_limit_change
from runs.services.runs import cancel_run, create_run
from runs.services.webhooks import QUIET, create_webhook, note_delivery, send_again
from tests.api.asking import Asker
from tests.api.test_webhooks import deliver
from tests.harness.factories import client_of
from tests.harness.patience import PATIENCE_SECONDS
from workers import messenger
from workers.engine.errors import ConfigurationError
from workers.engine.throttling.permits import LimitChange

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://chat.example/hook"
ALL = list(AlertEvent)


@pytest.fixture
def run(alice, document):
    return create_run(alice, {**document, "name": "a <b> & c|d", "budget": {"calls": 5}})


def told_of(run):
    return [AlertEvent(one.event) for one in WebhookDelivery.objects.filter(run=run)]


def break_open(run, endpoint):
    key = f"endpoint:{endpoint.pk}/sim-small"
    note_limit_change([run.pk], LimitChange(key, 4, 0, "breaker: it fails"))


def stop_itself(run, alice):
    hold_run(run.pk, "It is refused.", level=EventLevel.ERROR)


def run_out(run, alice):
    stop_for_budget(run.pk, "calls")


def test_each_is_told_of_what_it_asked_for_and_of_nothing_else(alice, bob, document):
    create_webhook(alice, URL, "json", ALL)
    create_webhook(bob, URL, "json", ALL)
    wanted: dict[Callable[..., object], AlertEvent] = {
        cancel_run: AlertEvent.ENDED,
        pause_run: AlertEvent.PAUSED,
        stop_itself: AlertEvent.PAUSED,
        run_out: AlertEvent.BUDGET,
    }
    told = {}
    for happen, event in wanted.items():
        other = create_webhook(alice, URL, "slack", [one for one in ALL if one != event]).webhook
        run = create_run(alice, {**document, "budget": {"calls": 5}})
        happen(run, alice)
        told[happen] = told_of(run)
        other.delete()
    assert told == {happen: [event] for happen, event in wanted.items()}


def test_a_model_that_fails_on_and_off_is_told_of_once_in_a_while(alice, run, endpoint):
    create_webhook(alice, URL, "json", ALL)
    for _ in range(3):
        break_open(run, endpoint)
    assert told_of(run) == [AlertEvent.FAILING]
    WebhookDelivery.objects.update(created=now() - QUIET - timedelta(seconds=1))
    break_open(run, endpoint)
    assert told_of(run) == [AlertEvent.FAILING] * 2


def test_a_chat_gets_text_in_which_nothing_of_a_person_is_markup(alice, run, settings):
    create_webhook(alice, URL, "slack", ALL)
    pause_run(run, alice, "<!channel> & co")
    (delivery,) = WebhookDelivery.objects.all()
    parcel = pack(delivery)
    text = json.loads(parcel.body)["text"]
    link = f"<{settings.ORIGINS[0]}/runs/{run.pk}/|Run {run.pk}, a &lt;b&gt; &amp; c/d>: paused"
    assert text.startswith(link)
    assert "&lt;!channel&gt; &amp; co" in text
    assert "X-Evalsite-Signature" not in parcel.headers


def test_what_was_answered_is_kept_as_text_and_sent_again_on_demand(alice, run):
    hook = create_webhook(alice, URL).webhook
    cancel_run(run, alice)
    (delivery,) = WebhookDelivery.objects.all()
    assert not send_again(delivery, alice)  # it is still being tried
    note_delivery(delivery.pk, "", 200, "<script>alert(1)</script>\u202e" + "x" * 900)
    page = client_of(alice).get(f"/alerts/{hook.pk}/").text
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    (shown,) = Asker(alice).get(f"/webhooks/{hook.pk}/deliveries").json()["data"]
    assert (shown["status"], len(shown["answer"]), shown["event"]) == (200, 500, "run.ended")
    assert Asker(alice).post(f"/deliveries/{delivery.pk}/again").json()["changed"] is True
    delivery.refresh_from_db()
    assert (delivery.delivered, delivery.attempts) == (None, 0)
    assert delivery.next_try is not None


def test_the_page_adds_and_removes_and_shows_the_secret_once(alice):
    made = client_of(alice).post("/alerts/", {"kind": "json", "url": URL, "events": ALL})
    assert "shown now and never" in made.text
    page = client_of(alice).get("/alerts/").text
    assert "shown now and never" not in page
    assert URL in page
    (listed,) = Asker(alice).get("/webhooks").json()["data"]
    assert listed["events"] == [event.value for event in AlertEvent]
    client_of(alice).post(f"/alerts/{listed['id']}/remove/")
    assert URL not in client_of(alice).get("/alerts/").text
    refused = client_of(alice).post("/alerts/", {"kind": "slack", "url": "http://127.0.0.1/"})
    assert refused.status_code == 400
    assert "Choose what it is told of" in refused.text


def test_mail_needs_a_server_and_an_address(alice, settings):
    with pytest.raises(ConfigurationError, match="sends no mail"):
        create_webhook(alice, "alice@example.org", "mail")
    settings.SENDS_MAIL = True
    for wrong in ("alice", "alice@example.org\nBcc: bob@example.org", "alice@example.org, b@c.de"):
        with pytest.raises(ConfigurationError, match="Give a mail address"):
            create_webhook(alice, wrong, "mail")
    assert create_webhook(alice, "mailto:alice@example.org", "mail").secret == ""


class Mailbox(Message):
    def __init__(self):
        super().__init__()
        self.received = []

    def handle_message(self, message):
        self.received.append(message)


@pytest.fixture
async def mailbox(settings, monkeypatch):
    monkeypatch.setattr(messenger, "DEADLINE_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(alert_messages, "MAIL_SECONDS", PATIENCE_SECONDS)
    box = Mailbox()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(box, hostname="mail.example"), "127.0.0.1", 0)
    settings.SENDS_MAIL = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = server.sockets[0].getsockname()[1]
    settings.DEFAULT_FROM_EMAIL = "evalsite@example.org"
    yield box
    server.close()
    await server.wait_closed()


async def confirm(person, webhook, mail):
    code = mail.get_payload(decode=True).decode().partition("Alerts: ")[2].split()[0]
    asker = await sync_to_async(Asker)(person)
    path = f"/webhooks/{webhook.pk}/confirm"
    assert (await sync_to_async(asker.post)(path, {"code": code})).json()["changed"]


async def test_nothing_is_told_to_an_address_before_its_code_is_entered(alice, run, mailbox):
    browser = await sync_to_async(client_of)(alice)

    async def send(address, **form):
        return (await sync_to_async(browser.post)(address, form, follow=True)).text

    added = {"kind": "mail", "url": "bob@example.org", "events": ALL}
    assert "A code was sent to bob@example.org" in await send("/alerts/", **added)
    hook = await Webhook.objects.aget()
    page = f"/alerts/{hook.pk}/confirm/"
    assert "This is not the code" in await send(page, code="00000000")
    for told in ("sent again", "sent again", "Only 3 codes a minute are sent"):
        assert told in await send(page)
    assert [mail["To"] for mail in mailbox.received] == ["bob@example.org"] * 3
    await sync_to_async(cancel_run)(run, alice)
    assert not await WebhookDelivery.objects.aexists()
    assert "enter its code" in (await sync_to_async(browser.get)("/alerts/")).text
    await confirm(alice, hook, mailbox.received[0])
    assert "enter its code" not in (await sync_to_async(browser.get)("/alerts/")).text


async def test_a_mail_arrives(alice, run, mailbox):
    made = await sync_to_async(create_webhook)(alice, "alice@example.org", "mail", ALL)
    await sync_to_async(Run.objects.update)(name="first\nBcc: bob@example.org")
    await confirm(alice, made.webhook, mailbox.received.pop())
    await sync_to_async(cancel_run)(run, alice)
    stored = await deliver()
    (mail,) = mailbox.received
    assert (mail["To"], mail["From"]) == ("alice@example.org", "evalsite@example.org")
    assert mail["Bcc"] is None
    assert mail["Subject"].replace("\n", "").endswith(": ended")
    assert f"/runs/{run.pk}/" in mail.get_payload(decode=True).decode()
    assert (stored.problem, stored.next_try) == ("", None)


async def test_a_mail_server_that_is_away_is_tried_again(alice, run, mailbox, settings):
    await sync_to_async(User.objects.update)(email="alice@example.org")
    await sync_to_async(alice.refresh_from_db)()
    await sync_to_async(create_webhook)(alice, "alice@example.org", "mail", ALL)
    assert mailbox.received == []  # it is the address of her account: no code is asked for
    await sync_to_async(cancel_run)(run, alice)
    settings.EMAIL_HOST = "127.0.0.2"
    stored = await deliver()
    assert stored.problem == "The mail server did not take it: ConnectionRefusedError."
    assert stored.next_try is not None
