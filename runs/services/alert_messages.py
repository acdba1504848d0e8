"""What an alert says: as JSON with a signature, as text for Slack and the like, or as a mail.

Names of runs and reasons are people's and providers' text: it never becomes markup or a header.
"""

import hmac
from typing import NamedTuple

import orjson
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.utils.crypto import salted_hmac
from django.utils.timezone import now

from evalsite.log_lines import write_out_controls
from runs.models import MAILTO, AlertEvent, Webhook, WebhookDelivery, WebhookKind
from runs.selectors.runs.run_summary import RunSummary, summarise

JSON = {"Content-Type": "application/json", "User-Agent": "evalsite"}
LONGEST_NAME = 120  # characters, as of a run
CODE_LENGTH = 8  # of four billion, of which 120 a minute may be tried
MAIL_SECONDS = 10.0  # in which a mail server answers


class Parcel(NamedTuple):
    """What a worker sends: by HTTP, or as a mail to the address."""

    delivery_id: int
    url: str
    body: bytes
    headers: dict[str, str]
    subject: str = ""  # of a mail


def pack(delivery: WebhookDelivery) -> Parcel:
    (summary,) = summarise([delivery.run])
    kind = delivery.webhook.kind
    if kind == WebhookKind.MAIL:
        return _mail(delivery, summary)
    return _slack(delivery, summary) if kind == WebhookKind.SLACK else _signed(delivery, summary)


def _signed(delivery: WebhookDelivery, run: RunSummary) -> Parcel:
    content = {
        "type": delivery.event,
        "delivery": delivery.pk,
        "told": delivery.told,
        "run": run.model_dump(),
    }
    body = orjson.dumps(content, option=orjson.OPT_UTC_Z)
    moment = str(int(now().timestamp()))
    signature = sign(secret_of(delivery.webhook), moment, body)
    headers = {
        **JSON,
        "X-Evalsite-Delivery": str(delivery.pk),
        "X-Evalsite-Signature": f"t={moment},v1={signature}",
    }
    return Parcel(delivery.pk, delivery.webhook.url, body, headers)


def _slack(delivery: WebhookDelivery, run: RunSummary) -> Parcel:
    """The form that Slack, Mattermost, Rocket.Chat and others read."""
    head = f"<{address_of(run)}|{_escaped(title_of(run)).replace('|', '/')}>"
    lines = [f"{head}: {words_of(delivery)}", *(_escaped(line) for line in facts_of(delivery, run))]
    body = orjson.dumps({"text": "\n".join(lines)})
    return Parcel(delivery.pk, delivery.webhook.url, body, JSON)


def _mail(delivery: WebhookDelivery, run: RunSummary) -> Parcel:
    subject = f"[evalsite] {title_of(run)}: {words_of(delivery)}"
    lines = [f"{title_of(run)}: {words_of(delivery)}", *facts_of(delivery, run), address_of(run)]
    address = delivery.webhook.url.removeprefix(MAILTO)
    return Parcel(delivery.pk, address, "\n\n".join(lines).encode(), {}, subject)


def title_of(run: RunSummary) -> str:
    return f"Run {run.id}, {write_out_controls(run.name)[:LONGEST_NAME]}"


def words_of(delivery: WebhookDelivery) -> str:
    return str(AlertEvent(delivery.event).label).lower()


def facts_of(delivery: WebhookDelivery, run: RunSummary) -> list[str]:
    found = [write_out_controls(delivery.told)] if delivery.told else []
    score = "none yet" if run.score.value is None else f"{run.score.value:.3f}"
    state = run.state.label.lower()
    done = f"{run.counts.done:,} of {run.counts.planned:,} trials"
    return [*found, f"It is {state}: {done}, {run.counts.failed:,} failed, score {score}."]


def address_of(run: RunSummary) -> str:
    return f"{settings.ORIGINS[0]}/runs/{run.id}/"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def secret_of(webhook: Webhook) -> str:
    key = f"{webhook.owner_id}:{webhook.nonce}"
    return salted_hmac("runs.webhook", key, algorithm="sha256").hexdigest()


def code_of(webhook: Webhook) -> str:
    """What is sent to a mail address, to be entered by who reads it."""
    key = f"{webhook.url}:{webhook.nonce}"
    return salted_hmac("runs.webhook.code", key, algorithm="sha256").hexdigest()[:CODE_LENGTH]


def send_mail(address: str, subject: str, text: str) -> None:
    """SMTPException or OSError: the mail server did not take it."""
    connection = get_connection(timeout=MAIL_SECONDS)
    EmailMessage(subject, text, to=[address], connection=connection).send()


def sign(secret: str, moment: str, body: bytes) -> str:
    """HMAC-SHA-256 over the moment, a dot and the body: an old delivery cannot be sent again."""
    return hmac.new(secret.encode(), moment.encode() + b"." + body, "sha256").hexdigest()
