"""Mutations: the new-run form, what is told while one trains, and what came of it."""

import csv
import io
import json

import pytest
from django.urls import reverse

from runs.forms.starting_points import from_document
from runs.kinds import every_demo, kind_of
from runs.kinds.mutate.comparing import sentences_of
from runs.models import Run
from runs.selectors.runs.run_summary import run_detail
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from runs.services.runs import create_run
from tests.harness.factories import client_of
from tests.runs.mutation_parts import (
    RUDE,
    Player,
    make_mutation,
    make_owner,
    mutation_document,
)
from tests.workers.by_hand import next_lease
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.report import MutationReport, Rival
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import Difference

pytestmark = pytest.mark.django_db
played = pytest.mark.django_db(transaction=True)  # what is recorded is planned on

TUNED = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 0.5}}


@pytest.fixture
def owner():
    return make_owner()


def page_of(person, run, **given):
    """As a person reads it: runs of blanks are one."""
    answer = client_of(person).get(reverse("run", args=[run.pk]), given)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def file_of(person, run, name):
    answer = client_of(person).get(reverse("run_file", args=[run.pk, name]))
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


@played
def test_what_is_going_on_is_told(owner):
    run = create_run(owner, mutation_document())
    assert "Update 1: 0 of 3 segments." in page_of(owner, run)
    refused = client_of(owner).get(reverse("run_file", args=[run.pk, "weights.json"]))
    assert refused.status_code == 409
    advance_run(run.pk)
    lease = next_lease(run)
    play, trials = Player(run), lease.work.trials[:2]
    results = Results(leases={lease.chunk_id: lease})
    results.scores[lease.chunk_id] = [play(trial) for trial in trials]
    assert record_results(run.pk, results) == set()
    page = page_of(owner, run)
    assert "Update 1: 2 of 3 segments." in page
    assert "Reward by update" in page
    assert "when an update is whole" in page
    assert "On held-out queries" not in page


@played
def test_what_came_of_it_is_told_and_its_files_have_all_of_it(owner):
    run = make_mutation(owner)
    page = page_of(owner, run)
    assert "data-phase" not in page
    assert "of 2; 3 environments" in page
    assert "last 2 updates" in page
    assert "no step was excluded" in page
    assert "ppo is not" in page  # four queries show nothing
    assert "4 held-out queries" in page
    assert "Occupancy, of 3 calls at once: now" in page
    assert "Rewrites of update 2" in page
    assert f"&lt;b&gt;{RUDE[3:]}" in page
    assert "<b>=HYPERLINK" not in page
    held_out = page_of(owner, run, update="held_out", show="successes")
    assert "Rewrites on held-out queries" in held_out
    assert "Rewrites of update 1" in page_of(owner, run, update="1", show="nonsense")
    assert "Rewrites of update 2" in page_of(owner, run, update="99")
    found = kind_of(run).board_record(run)
    assert [row["update"] for row in found["updates"]] == [1, 2]
    assert set(found["held_out"]) == {"ppo", "uniform", "ucb"}
    assert all(row["in_flight"] > 0 for row in found["updates"])  # each call took a millisecond
    assert run_detail(run).score.value_failures_wrong is None  # a zero is a reward
    weights = json.loads(file_of(owner, run, "weights.json"))
    assert weights["digest"] == found["weights"]
    assert [len(layer["weights"]) for layer in weights["layers"]] == [8, 4, 4]
    assert [len(layer["biases"]) for layer in weights["layers"]] == [4, 4, 3]
    lines = file_of(owner, run, "transitions.jsonl").splitlines()
    assert len(lines) == found["transitions"]
    rows = list(csv.DictReader(io.StringIO(file_of(owner, run, "transitions.csv"))))
    assert len(rows) == len(lines)
    assert {row["policy"] for row in rows} == {"", "ppo", "uniform", "ucb"}
    assert not any(cell.startswith("=") for row in rows for cell in row.values())


@played
def test_excluded_steps_are_shown_and_counted_nowhere(owner):
    run = make_mutation(owner, refused=3, failing=1, held_out=None)
    page = page_of(owner, run, show="excluded")
    assert "Excluded since a call failed: mutator: refused" in page
    assert "2 segments lost every step" in page
    report = kind_of(run).board_record(run)
    assert (report["excluded"], report["transitions"]) == (3 + 2 * 4, 2 * 3 * 4)
    assert sum(row["reward"]["n"] for row in report["operators"] if row["reward"]) == 13
    first = page_of(owner, run, update="1", show="excluded")
    assert "✗ excluded" in first
    assert "The mutator &lt;i&gt;refused." in first


@played
def test_lists_and_comparisons_take_what_was_learnt(owner):
    run = make_mutation(owner)
    kind = kind_of(run)
    (headline,) = kind.headlines([run]).values()
    trained = kind.board_record(run)["held_out_facts"][0]["reward"]
    assert headline.value == pytest.approx(trained["value"])
    assert headline.n == 4
    assert f"{headline.value:.3f}" in client_of(owner).get(reverse("runs")).content.decode()
    assert [one.name for one in kind.compared(run)] == ["ppo"]
    without = make_mutation(owner, held_out=None)
    (latest,) = kind.headlines([without]).values()
    assert latest.n == 2 * 3
    assert [one.name for one in kind.compared(without)] == ["update 2"]
    other = make_mutation(owner, seed=4)
    compared = client_of(owner).get(reverse("compare"), {"base": run.pk, "with": other.pk})
    assert compared.status_code == 200


@pytest.mark.parametrize(
    ("mean", "p", "says"),
    [
        pytest.param(0.3, 0.001, "ppo is better, beyond chance, than uniform: +0.300", id="better"),
        pytest.param(0.3, 0.2, "ppo is not shown to be better than uniform", id="by chance"),
        pytest.param(-0.3, 0.2, "ppo is not better than uniform", id="not"),
        pytest.param(-0.3, 0.001, "ppo is worse, beyond chance, than uniform", id="worse"),
    ],
)
def test_a_comparison_is_told_plainly(mean, p, says):
    difference = Difference(mean, mean - 0.1, mean + 0.1, p, "test", 12)
    rivals = [Rival(name, Estimate(0.5, 0.4, 0.6, 12), 0.5, 0) for name in ("ppo", "uniform")]
    report = MutationReport(
        [], 1, [], 0, 0, {}, {}, rivals, {"uniform": difference, "ucb": None}, ""
    )
    assert sentences_of(report)[0].startswith(says)


def test_the_empty_page_offers_it(owner):
    client = client_of(owner)
    assert "Find rewrites that break a model" in client.get(reverse("runs")).content.decode()
    answer = client.post(reverse("run_demo"), {"kind": "mutate"})
    run = Run.objects.get()
    assert answer.headers["Location"] == run.get_absolute_url()
    assert (run.kind, run.planned) == ("mutate", 320)


def filled(**changes):
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


def test_the_form_launches_a_mutation_and_shows_it_again(owner):
    client = client_of(owner)
    assert client.post(reverse("run_new"), filled()).status_code == 302
    found = read_configuration(Run.objects.get().document)
    assert isinstance(found, Mutation)
    assert (found.query, found.goal, found.carry) == (
        "Please: {{question}}",
        "stays_right",
        "never",
    )
    assert found.roles.target.model_dump() == TUNED
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


def test_the_form_leads_to_what_is_wrong(owner):
    wrong = filled(role_target="", rewritings=["typo_noise"], learner_preset="")
    wrong |= {"learner-ppo-num_steps": "many", "rewriting-typo_noise-rate": "7", "carry": "x"}
    page = client_of(owner).post(reverse("run_new"), wrong)
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
        pytest.param({"roles": {"mutator": TUNED, "target": "simulated/sim-small"}}, "yaml",
                     id="own parameters"),
    ],
)  # fmt: skip
def test_what_the_form_cannot_say_is_shown_as_yaml(changes, mode):
    assert from_document(mutation_document(**changes)).mode == mode


def test_the_demo_can_be_changed_in_the_form():
    assert from_document(every_demo()["mutate"].document).mode == "form"


def test_an_estimate_counts_the_calls_of_every_stage(owner):
    judged = filled(scorers=[], role_judge="simulated/sim-small")
    page = client_of(owner).post(reverse("run_estimate"), judged).content.decode()
    text = " ".join(page.split())
    assert "3 updates × 8 environments = <b>24 trials</b> of 8 steps each: at most 192 rew" in text
    assert "8 environments, each of which makes a call at a time" in text
    for stage in ("answers", "rewrites", "judgements", "embeddings"):
        assert f"192 {stage}" in text
    assert "the policies ppo, uniform and ucb are compared on them" in text
