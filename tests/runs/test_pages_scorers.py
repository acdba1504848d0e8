"""The scorers of the new-run form: what every one of them may be told, and how they combine."""

import pytest
from django.urls import reverse

from runs.models import Run
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person

pytestmark = pytest.mark.django_db

FILLED = {
    "key": "key-1",
    "mode": "form",
    "name": "small",
    "dataset_source": "stored",
    "dataset": "sums",
    "prompts": ["0"],
    "prompt-0-name": "plain",
    "prompt-0-user": "{{question}}",
    "models": ["simulated/sim-small"],
    "scorers": ["numeric", "exact"],
    "scorer-numeric-tolerance": "0.5",
    "scorer-numeric-weight": "3",
    "scorer-exact-strip": "on",
    "scorer-exact-not": "on",
    "scorer-exact-weight": "1",
    "scorer-exact-as": "not the same",
    "repeats": "1",
    "seed": "0",
    "preset": "endpoint",
    "cache": "use",
    "combine": "all",
}


@pytest.fixture
def client():
    alice = make_person("alice")
    make_endpoint()
    make_dataset(alice)
    return client_of(alice)


def test_what_holds_for_every_scorer_is_sent_and_comes_back(client):
    client.post(reverse("run_new"), FILLED)
    run = Run.objects.get()
    assert run.document["combine"] == "all"
    assert run.document["scorers"] == [
        {"exact": {"not": True, "as": "not the same"}},
        {"numeric": {"tolerance": 0.5, "weight": 3}},
    ]
    again = client.get(f"{reverse('run_new')}?run={run.pk}").content.decode()
    assert '<option value="all" selected>' in again
    assert 'value="not the same"' in again
    assert again.count('<details class="disclosure wide" open>') == 2  # of the two that use them


def test_a_form_that_says_nothing_special_sends_the_short_form(client):
    plain = {key: text for key, text in FILLED.items() if not key.startswith("scorer-")}
    chosen = {"scorers": ["exact"], "scorer-exact-strip": "on", "combine": "mean"}
    client.post(reverse("run_new"), {**plain, **chosen})
    document = Run.objects.get().document
    assert document["scorers"] == ["exact"]
    assert "combine" not in document


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scorer-numeric-weight": "-1"}, "numeric.weight"),
        (
            {"scorer-numeric-weight": "0", "scorer-exact-weight": "0"},
            "All scorers have the weight 0. At least one must count.",
        ),
        ({"combine": "any"}, "combine"),
        (
            {"scorers": ["webhook"], "scorer-webhook-url": "http://10.0.0.1/judge"},
            "Webhooks are sent to public addresses only",
        ),
    ],
)
def test_a_problem_is_told_at_the_scorers(client, changes, told):
    answer = client.post(reverse("run_new"), {**FILLED, **changes})
    assert not Run.objects.exists()
    assert told in answer.content.decode()
