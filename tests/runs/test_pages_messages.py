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


ELSEWHERE = {"picture": "https://evil.example/a.png"}


def test_an_address_is_shown_and_not_loaded_and_a_request_that_is_never_sent_has_no_command():
    """Ollama takes no addresses."""
    score = trial({"messages": WITH_IMAGE}, ELSEWHERE)
    for kind in ("ollama", "anthropic"):
        Endpoint.objects.update(kind=kind, base_url="http://127.0.0.1:9")
        page = page_of(score)
        assert ("curl -sS" in page) == (kind == "anthropic")
    assert "[image at https://evil.example/a.png, fetched by the provider]" in page
    assert foreign_markup(page) == []
    case = score.case
    case.fields = {"picture": "javascript:alert(1)"}
    case.save()
    page = page_of(score)
    assert "The prompt could not be filled in" in page
    assert "An image cannot be sent: javascript:alert(1)." in page
