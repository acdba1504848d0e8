"""The new-run form for a mutation: what it sends, keeps, and says is wrong."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.forms.starting_points import from_document
from runs.kinds import every_demo
from runs.models import Run
from tests.harness.factories import client_of
from tests.runs.mutation_parts import make_owner, mutation_document
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation

pytestmark = pytest.mark.django_db
MODEL = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 0.5}}


@pytest.fixture
def ada() -> User:
    return make_owner()


def filled(**changes: Any) -> dict[str, Any]:
    """What a browser sends."""
    return {
        "key": "key-1",
        "mode": "form",
        "kind": "mutate",
        "name": "from the form",
        "dataset_source": "stored",
        "dataset": "sums",
        "max_steps": "200",  # of another kind
        "mutate_query": "Please: {{question}}",
        "goal": "stays_right",
        "role_target": "simulated/sim-small",
        "role_mutator": "simulated/sim-small",
        "role_judge": "",
        "role_embedder": "simulated/sim-embed",
        "rewritings": ["typo_noise", "noop"],
        "rewriting-typo_noise-rate": "0.2",
        "learner": "ppo",
        "learner_preset": "quick_look",
        "learner-ppo-updates": "3",
        "learner-ppo-use_clipped_value_loss": "on",
        "learner-ucb-exploration": "9",
        "carry": "never",
        "mutate_max_steps": "2",
        "parameter-temperature": "0.5",
        "scorers": ["exact"],
        "scorer-exact-strip": "on",
        "repeats": "7",
        "held_out": "2",
        "seed": "5",
        "preset": "endpoint",
        "cache": "use",
        **changes,
    }


def test_the_form_launches_a_mutation_and_shows_it_again(ada: User) -> None:
    client = client_of(ada)
    assert client.post(reverse("run_new"), filled()).status_code == 302
    found = read_configuration(Run.objects.get().document)
    assert isinstance(found, Mutation)
    assert (found.query, found.goal, found.carry) == (
        "Please: {{question}}",
        "stays_right",
        "never",
    )
    assert found.roles.target.model_dump() == MODEL
    assert found.roles.embedder is not None
    assert found.roles.embedder.parameters == {}
    assert found.roles.judge is None
    assert [(one.name, one.options) for one in found.operators] == [
        ("noop", {}),
        ("typo_noise", {"rate": 0.2}),
    ]
    options = found.options
    assert (options.num_processes, options.num_steps, options.count_updates) == (8, 8, 3)
    assert (found.max_steps, found.held_out, found.repeats) == (2, 2, 1)
    again = client.get(reverse("run_new"), {"run": Run.objects.get().pk}).content.decode()
    assert 'id="mode-form"\n                checked' in again
    assert "Please: {{question}}" in again


def test_the_form_leads_to_what_is_wrong(ada: User) -> None:
    wrong = filled(role_target="", rewritings=["typo_noise"], learner_preset="")
    wrong |= {"learner-ppo-num_steps": "many", "rewriting-typo_noise-rate": "7", "carry": "x"}
    page = client_of(ada).post(reverse("run_new"), wrong)
    assert page.status_code == 400
    text = page.content.decode()
    for field in ("id_role_target", "id_carry", "id_rewriting-typo_noise-rate"):
        assert f'href="#{field}"' in text, field


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        pytest.param({}, "form", id="all of it"),
        pytest.param({"use_batching": False}, "form", id="one at a time"),
        pytest.param({"operators": ["typo_noise", "noop"]}, "yaml", id="another order"),
        pytest.param({"held_out": None}, "yaml", id="nothing held out"),
        pytest.param({"roles": {"mutator": MODEL, "target": "simulated/sim-small"}}, "yaml",
                     id="own parameters"),
    ],
)  # fmt: skip
def test_what_the_form_cannot_say_is_shown_as_yaml(changes: dict[str, Any], mode: str) -> None:
    assert from_document(mutation_document(**changes)).mode == mode


def test_the_demo_can_be_changed_in_the_form() -> None:
    assert from_document(every_demo()["mutate"].document).mode == "form"


def test_an_estimate_counts_the_calls_of_every_stage(ada: User) -> None:
    judged = filled(scorers=[], role_judge="simulated/sim-small")
    page = client_of(ada).post(reverse("run_estimate"), judged).content.decode()
    text = " ".join(page.split())
    assert "3 updates × 8 environments = <b>24 trials</b> of 8 steps each: at most 192 rew" in text
    assert "8 environments, each of which makes a call at a time" in text
    for stage in ("answers", "rewrites", "judgements", "embeddings"):
        assert f"192 {stage}" in text
    assert "the policies ppo, uniform and ucb are compared on them" in text
