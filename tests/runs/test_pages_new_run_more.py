"""What few runs need: the Advanced fold, parameters of single models; and a last look."""

from typing import Any

import pytest
from django.urls import reverse

from runs.forms.starting_points import from_document
from runs.models import Run
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_endpoint, run_document
from tests.runs.new_run_parts import FILLED
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(alice):
    make_endpoint()
    return make_dataset(alice)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"limits": {"tokens_per_minute": 9000}}, id="tokens"),
        pytest.param({"limits": {"adaptive": False, "preset": "balanced"}}, id="not adaptive"),
        pytest.param({"limits": {"schedule": "sequential"}}, id="one at a time"),
        pytest.param({"limits": {"schedule": "two_level", "preset": "balanced"}}, id="two levels"),
        pytest.param({"limits": {"max_concurrent_candidates": 3}}, id="implied two levels"),
        pytest.param(
            {"limits": {"max_concurrent_candidates": 3, "max_concurrent_per_candidate": 4}},
            id="both levels",
        ),
        pytest.param({"limits": {"candidate_batch_size": 3, "attempts": 2}}, id="batches"),
        pytest.param({"limits": {"performance_summary": True}}, id="summary"),
        pytest.param({"priority": "high", "fail_on_error": 0.1}, id="of the run"),
        pytest.param({"fail_on_error": 12}, id="a number of failures"),
    ],
)
def test_all_that_limits_can_say_goes_through_the_form(dataset, said: dict[str, Any]) -> None:
    document = run_document(dataset, **said)
    shown = from_document(document)
    assert shown.mode == "form"
    assert shown.advanced.is_given
    sent, given = (read_configuration(one) for one in (shown.document(), document))
    assert sent.limits.model_copy(update={"preset": None}) == given.limits.model_copy(
        update={"preset": None}
    )
    assert (sent.priority, sent.fail_on_error) == (given.priority, given.fail_on_error)


def test_the_fold_is_sent_and_read(alice, dataset):
    typed = {
        "advanced-tokens_per_minute": "5000",
        "advanced-adaptive": "off",
        "advanced-schedule": "sequential",
        "advanced-priority": "low",
        "advanced-fail_on_error": "0.2",
        "advanced-summary": "on",
        "preset": "balanced",
    }
    client_of(alice).post(reverse("run_new"), {**FILLED, **typed})
    document = Run.objects.get().document
    assert document["limits"] == {
        "preset": "balanced",
        "tokens_per_minute": 5000,
        "adaptive": False,
        "schedule": "sequential",
        "performance_summary": True,
    }
    assert (document["priority"], document["fail_on_error"]) == ("low", 0.2)


@pytest.mark.parametrize(
    ("name", "text"), [("tokens_per_minute", "many"), ("fail_on_error", "2.5")]
)
def test_a_wrong_number_is_said_beside_its_field(alice, dataset, name, text):
    answer = client_of(alice).post(reverse("run_new"), {**FILLED, f"advanced-{name}": text})
    assert [problem.field for problem in answer.context["problems"]] == [f"id_advanced-{name}"]


def test_some_models_get_parameters_of_their_own(alice, dataset):
    typed = {
        "parameter-temperature": "0.5",
        "own_parameters": "simulated/sim-large: {temperature: null, max_tokens: 9}",
    }
    client_of(alice).post(reverse("run_new"), {**FILLED, **typed})
    run = Run.objects.get()
    assert [model["parameters"] for model in run.document["models"]] == [
        {"temperature": 0.5},
        {"max_tokens": 9},
    ]
    again = client_of(alice).get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert again.mode == "form"
    models = [read_configuration(one).called for one in (again.document(), run.document)]
    assert models[0] == models[1]


def test_parameters_of_a_model_that_nobody_asks_are_refused(alice, dataset):
    typed = {"own_parameters": "simulated/sim-lagre: {max_tokens: 9}"}
    answer = client_of(alice).post(reverse("run_new"), {**FILLED, **typed})
    assert [problem.field for problem in answer.context["problems"]] == ["id_own_parameters"]
    assert "Chosen are: simulated/sim-large, simulated/sim-small." in answer.content.decode()


def review_of(alice, **changes: str) -> str:
    panel = client_of(alice).post(reverse("run_estimate"), {**FILLED, **changes})
    return str(panel.context["estimate"].review)


def test_a_sentence_says_what_a_launch_does(alice, dataset):
    assert review_of(alice) == (
        "Launch tries 4 candidates with simulated/sim-small and simulated/sim-large on 3 cases, "
        "2 times each, scored by numeric. It sends up to 24 calls. Every answer is asked for "
        "again, whatever the cache has. No budget stops it."
    )
    stops = review_of(alice, budget_calls="10", **{"advanced-fail_on_error": "0.1"})
    assert stops.endswith("It pauses at 10 calls or when more than 10% of its trials fail.")


def test_it_is_said_what_differs_from_the_run_before(alice, dataset):
    run = create_run(alice, run_document(dataset))
    address = f"{reverse('run_new')}?run={run.pk}"
    page = client_of(alice).get(address)
    assert f"The same as run #{run.pk}." in page.content.decode()
    filled = page.context["filled"]
    typed = {
        "mode": "yaml",
        "yaml": f"{{name: other, kind: evaluate, dataset: {filled.dataset}, repeats: 3, prompts: "
        "[{name: plain, user: '{{question}}'}], models: [simulated/sim-small], scorers: [exact]}",
    }
    panel = client_of(alice).post(f"{reverse('run_estimate')}?run={run.pk}", typed)
    differs = panel.context["differs"]
    assert [(one.key, one.before, one.after) for one in differs.shown] == [
        ("name", "first try", "other"),
        ("repeats", "1", "3"),
    ]
