"""The try-it box: the answer and the raw exchange without secrets, within the endpoint's limits."""

import io
import re
import sys

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs.models import AuditEntry, Endpoint
from runs.selectors.endpoints.permit_state import open_redis
from runs.services.endpoints import save_endpoint
from runs.services.trying import NO_PERMIT, PAUSED, try_prompt
from tests.api.asking import Asker
from tests.harness.factories import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient_calls", "data_folder")]

KEY = "sk-canary-0123456789abcdef"
VALUE = 'canary "quoted" \\ header'
ANSWER = "The answer is 42."
PROMPT = "What is 17 + 25?"


@pytest.fixture
def endpoint(ada, simulator):
    made = Endpoint(name="main", kind="openai", base_url=f"{simulator.url}/v1")
    made.model_names, made.prices = ["sim-large"], {"sim-large": {"input": 1e5, "output": 1e5}}
    return save_endpoint(ada, made, KEY, new_headers={"X-Team": VALUE})


def test_a_prompt_is_answered_with_what_went_over_the_wire(ada, endpoint, simulator):
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT)
    assert (tried.answer, tried.problem) == (ANSWER, "")
    used = (tried.tokens_in or 0) + (tried.tokens_out or 0)
    assert tried.cost == pytest.approx(used / 10)
    assert used > 0
    [exchange] = tried.exchanges
    assert exchange.request.startswith(f"POST {simulator.url}/v1/chat/completions")
    assert PROMPT in exchange.request
    assert exchange.response.startswith("HTTP 200")
    assert "X-Team: [key]" in exchange.request
    for text in (exchange.request, exchange.response):
        assert KEY not in text
        assert VALUE not in text
    [row] = simulator.requests()
    assert row["model"] == "sim-large"
    entry = AuditEntry.objects.get(action="endpoint.prompted")
    assert (entry.subject, entry.detail) == ("main", "sim-large")
    with open_redis() as client:
        held = client.hgetall(f"permits:held:endpoint:{endpoint.pk}/sim-large")
        state = client.hgetall(f"permits:state:endpoint:{endpoint.pk}/sim-large")
    assert not any(int(count) for count in held.values()), "the permit is given back at once"
    counted = int(state[b"calls"]) + int(state.get(b"last_calls", 0))  # by the minute
    assert counted == 1  # with those of runs
    simulator.play({"match": {}, "times": 1, "do": "key"})  # the provider echoes the key
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT)
    assert (bool(tried.problem), KEY in str(tried)) == (True, False)
    assert "HTTP 401" in tried.exchanges[0].response


def test_what_may_not_be_sent_or_not_now_says_so(ada, bob, endpoint, simulator, settings):
    for model, prompt in (("", PROMPT), ("m" * 201, PROMPT), ("m", " \n"), ("m", "x" * 20_001)):
        with pytest.raises(ValidationError):
            try_prompt(ada, endpoint, model, prompt)
    with pytest.raises(PermissionDenied):
        try_prompt(bob, endpoint, "sim-large", PROMPT)
    assert not AuditEntry.objects.filter(action="endpoint.prompted").exists()
    endpoint.is_paused = True
    assert try_prompt(ada, endpoint, "sim-large", PROMPT).problem == PAUSED
    Endpoint.objects.update(is_paused=True)
    with pytest.raises(CommandError, match=PAUSED) as refused:
        call_command("try_prompt", "main/sim-large", PROMPT)
    assert refused.value.returncode == 3
    endpoint.is_paused, endpoint.max_concurrent = False, 0
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT, deadline_seconds=0.5)
    assert tried.problem == NO_PERMIT
    endpoint.max_concurrent = 4
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT)
    assert "loopback" in tried.problem
    assert (tried.exchanges, simulator.requests()) == ((), [])


def test_the_page_its_part_and_the_api_show_the_answer(ada, endpoint, settings):
    page, address = client_of(ada), reverse("endpoint_try", args=[endpoint.pk])
    sent = {"model": "sim-large", "prompt": PROMPT}
    answer = Asker(ada).post("/endpoints/main/try", sent)
    assert (answer.json()["answer"], KEY in answer.text) == (ANSWER, False)
    for part in ({}, {"X-Part": "tried"}):
        shown = page.post(address, sent, headers=part).text
        assert '<p class="tried-answer">The answer is 42.</p>' in shown
        assert KEY not in shown
        assert ("<html" in shown) is (not part)
        assert "Write a prompt" in page.post(address, {}, headers=part).text
    settings.WORK_REQUESTS_PER_MINUTE = 0  # it is counted with other pages that work
    assert page.post(address, {}).status_code == 429


def test_the_command_prints_what_came_and_what_it_took(
    ada, endpoint, simulator, capsys, set_constant
):
    call_command("try_prompt", "main/sim-large", PROMPT)
    printed = capsys.readouterr()
    assert printed.out == f"{ANSWER}\n"
    assert re.search(r"\d m?s, \d+ tokens in, \d+ out, \$", printed.err)
    simulator.play({"match": {}, "times": 1, "do": "answer", "answer": "red \x1b[31m\nor not"})
    set_constant(sys, "stdin", io.StringIO(PROMPT))
    call_command("try_prompt", "main/sim-large", "-", raw=True)
    out = capsys.readouterr().out
    assert out.endswith("red \ufffd[31m\nor not\n")
    assert out.startswith(f"POST {simulator.url}/v1/chat/completions")
    assert not [secret for secret in (KEY, VALUE) if secret in out]
    for model in ("main", "other/sim-large", "sim-large"):
        with pytest.raises(CommandError, match="Write endpoint/model") as refused:
            call_command("try_prompt", model, PROMPT)
        assert refused.value.returncode == 2
