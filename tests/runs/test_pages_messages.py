"""A trial's page shows messages, images and tools as text, and loads nothing for them."""

import pytest
from django.urls import reverse

from runs.models import Endpoint
from runs.services.datasets.storing import store_rows
from tests.engine.test_messages import PNG, PNG_URI, WITH_IMAGE
from tests.harness.factories import add_score, client_of, make_person, make_run
from tests.runs.test_pages_hostile import PAYLOADS, foreign_markup

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoint")]

TOOL = {"name": "look_up", "description": "".join(PAYLOADS[:8]), "parameters": {"type": "object"}}


def trial(prompt, fields):
    person = make_person("ann")
    run = make_run(person, store_rows(person, "cells", [fields]))
    candidate = run.candidates.get()
    candidate.document = {**candidate.document, "prompt": {"name": "talk", **prompt}}
    candidate.save(update_fields=["document"])
    return add_score(run, run.dataset.cases.get(), candidate, 0, answer='{"name":"look_up"}')


def page_of(score):
    page = client_of(score.run.owner).get(reverse("trial", args=[score.run_id, score.position]))
    assert page.status_code == 200
    return page.content.decode()


def test_messages_images_and_tools_are_text():
    spoken = [
        {"role": "user", "content": [{"text": "".join(PAYLOADS[:20])}]},
        {"role": "assistant", "content": [{"text": "".join(PAYLOADS[20:40])}]},
        *WITH_IMAGE,
    ]
    content = {"messages": spoken, "tools": [TOOL], "tool_choice": "look_up"}
    fields = {"question": "".join(PAYLOADS[:5]), "picture": PNG_URI}
    page = page_of(trial(content, fields))
    assert foreign_markup(page) == []
    assert f"[image: PNG, {len(PNG)} bytes]" in page
    assert "Assistant message" in page
    assert "Tools that may be called" in page
    assert "<img" not in page


def test_an_address_is_shown_and_not_loaded():
    page = page_of(trial({"messages": WITH_IMAGE}, {"picture": "https://evil.example/a.png"}))
    assert "[image at https://evil.example/a.png, fetched by the provider]" in page
    assert foreign_markup(page) == []


@pytest.mark.parametrize("kind", ["ollama", "anthropic"])
def test_a_request_that_is_never_sent_does_not_break_its_page(kind):
    """Ollama takes no addresses: there is no such command to show."""
    Endpoint.objects.update(kind=kind, base_url="http://127.0.0.1:9")
    page = page_of(trial({"messages": WITH_IMAGE}, {"picture": "https://example.org/a.png"}))
    assert ("curl -sS" in page) == (kind == "anthropic")


def test_what_cannot_be_filled_in_says_why():
    page = page_of(trial({"messages": WITH_IMAGE}, {"picture": "javascript:alert(1)"}))
    assert "The prompt could not be filled in" in page
    assert "An image cannot be sent: javascript:alert(1)." in page
