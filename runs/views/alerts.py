"""Alerts: where a person is told what happens to their runs, and what became of each message."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import get_delivery_for, get_webhook_for, webhooks_for
from runs.forms.alerts import AlertForm
from runs.forms.filters import read_text
from runs.models import AlertEvent, WebhookKind
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.webhooks import list_deliveries, list_webhooks
from runs.services.webhooks import (
    OTHER_CODE,
    NewWebhook,
    confirm_webhook,
    create_webhook,
    delete_webhook,
    send_again,
    send_code,
)
from runs.views.people import person
from workers.engine.errors import ConfigurationError

WORDS = {"kinds": dict(WebhookKind.choices), "events": dict(AlertEvent.choices)}


@requires(Permission.SEE, to_change=Permission.LAUNCH)
@never_cache
@require_http_methods(["GET", "POST"])
def alerts(request: HttpRequest) -> HttpResponse:
    form = AlertForm(request.POST or None)
    made = try_to_make(request, form) if request.method == "POST" and form.is_valid() else None
    context = {
        "section": "alerts",
        "form": form if made is None else AlertForm(),
        "made": made,
        "webhooks": list_webhooks(webhooks_for(request.user)),
        "words": WORDS,
    }
    return render(request, "alerts/list.html", context, status=400 if form.errors else 200)


def try_to_make(request: HttpRequest, form: AlertForm) -> NewWebhook | None:
    """The webhook, or None with the reasons on the form's fields."""
    given = form.cleaned_data
    try:
        return create_webhook(person(request), given["url"], given["kind"], given["events"])
    except ConfigurationError as error:
        form.add_problems(error.problems)
        return None


@requires(Permission.SEE)
@require_safe
def alert(request: HttpRequest, webhook_id: int) -> HttpResponse:
    found = get_webhook_for(request.user, webhook_id)
    context = {
        "section": "alerts",
        "webhook": found,
        "deliveries": list_deliveries(found),
        "words": WORDS,
    }
    return render(request, "alerts/detail.html", context)


@requires(Permission.LAUNCH)
@when_too_often()
@require_POST
def alert_confirm(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """With the code that was sent to the address; without one it is sent again."""
    found = get_webhook_for(request.user, webhook_id)
    code = read_text(request.POST.get("code"))
    if found.confirmed or (code and confirm_webhook(found, code)):
        messages.success(request, "Confirmed: it is told from now on.")
    elif code:
        messages.error(request, OTHER_CODE)
    elif problem := send_code(found):
        messages.error(request, problem)
    else:
        messages.success(request, "The code was sent again.")
    return redirect("alert", found.pk)


@requires(Permission.LAUNCH)
@require_POST
def alert_remove(request: HttpRequest, webhook_id: int) -> HttpResponse:
    delete_webhook(get_webhook_for(request.user, webhook_id))
    messages.success(request, "Removed: nothing is told to it any more.")
    return redirect("alerts")


@requires(Permission.LAUNCH)
@require_POST
def delivery_again(request: HttpRequest, delivery_id: int) -> HttpResponse:
    found = get_delivery_for(request.user, delivery_id)
    if send_again(found, person(request)):
        messages.success(request, "It is sent again within a few seconds.")
    else:
        messages.info(request, "It is still being tried.")
    return redirect("alert", found.webhook_id)
