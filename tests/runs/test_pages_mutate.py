"""Mutations: the new-run form, what is told while one trains, and what came of it."""

import asyncio
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
from tests.harness.factories import client_of, make_dataset
from tests.harness.table import table
from tests.runs.conftest import page_of, show
from tests.runs.new_run_parts import read_form, sent_by
from tests.workers.by_hand import next_lease, work_through
from workers.engine.errors import Refused
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.report import MutationReport, Rival
from workers.engine.kinds.mutate.target import SegmentTarget
from workers.engine.records import Case, Outcome, Reply, Score
from workers.engine.score_records import encode_record
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import Difference
from workers.engine.targets import TargetParts

pytestmark = pytest.mark.django_db
played = pytest.mark.django_db(transaction=True)  # what is recorded is planned on

TUNED = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 0.5}}
MODEL = "simulated/sim-small"
ROWS = 10
RUDE = "<b>=HYPERLINK"  # begins what the mutator writes: no page and no spreadsheet may believe it


def mutation_document(**changes):
    strategy = {"num_processes": 3, "num_steps": 4, "updates": 2, "hidden_size": 4}
    return {
        "name": "break it",
        "kind": "mutate",
        "seed": 3,
        "dataset": "sums",
        "operators": ["noop", "paraphrase", "typo_noise"],
        "roles": {"mutator": MODEL, "target": MODEL},
        "scorers": ["exact"],
        "observation_size": 8,
        "held_out": 4,
        **changes,
        "strategy": {"name": "ppo", **strategy, **changes.get("strategy", {})},
    }


@pytest.fixture
def owner(alice, endpoint):
    make_dataset(alice, rows=ROWS)
    return alice


class Player:
    """A worker's part: the target is right unless a query was paraphrased. `failing` says which of
    the calls to the mutator fail, and the segments of which environment."""

    def __init__(self, run, *, refused=0, failing=None):
        self._run = run
        self._refused = refused
        self._failing = failing
        self._target = SegmentTarget(TargetParts())

    def __call__(self, trial):
        if trial.repeat == self._failing:
            return Score(trial, error="timeout", message="Too late.")
        candidate = self._run.candidates.get(key=trial.candidate).as_engine
        row = self._run.dataset.cases.order_by("position")[trial.case]
        case = Case(trial.case, row.fields, expected_column="expected")
        self._expected = row.fields["expected"]
        made = asyncio.run(self._target.answer(None, candidate, case, trial.repeat, self._ask))
        assert isinstance(made, Outcome)
        answer, record = made.reply.text, encode_record(made.record)
        return Score(trial, made.value, answer=answer, latency_ms=5.0, record=record)

    async def _ask(self, request):
        if request.step != "mutator":
            is_rude = RUDE in json.dumps(request.body)
            return Reply("no idea" if is_rude else self._expected, 1.0)
        if self._refused:
            self._refused -= 1
            raise Refused("The mutator <i>refused.")
        return Reply(json.dumps({"mutated_query": f"{RUDE} What is it?"}), 1.0)


def make_mutation(owner, *, refused=0, failing=None, **changes):
    run = create_run(owner, mutation_document(**changes))
    return work_through(run, Player(run, refused=refused, failing=failing))


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
    assert ("when an update is whole" in page, "On held-out queries" in page) == (True, False)


@played
def test_what_came_of_it_is_told_by_page_files_lists_and_comparisons(owner):
    run = make_mutation(owner)
    page = page_of(owner, run)
    for text in (
        *("of 2; 3 environments", "last 2 updates", "no step was excluded", "4 held-out queries"),
        "ppo is not",  # four queries show nothing
        *("Occupancy, of 3 calls at once: now", "Rewrites of update 2", f"&lt;b&gt;{RUDE[3:]}"),
    ):
        assert text in page, text
    assert [text for text in ("data-phase", "<b>=HYPERLINK") if text in page] == []
    held_out = page_of(owner, run, update="held_out", show="successes")
    assert "Rewrites on held-out queries" in held_out
    assert "Rewrites of update 1" in page_of(owner, run, update="1", show="nonsense")
    assert "Rewrites of update 2" in page_of(owner, run, update="99")
    found = kind_of(run).board_record(run)
    assert [row["update"] for row in found["updates"]] == [1, 2]
    assert set(found["held_out"]) == {"ppo", "uniform", "ucb"}
    assert all(row["in_flight"] > 0 for row in found["updates"])  # each call took a millisecond
    assert run_detail(run).score.value_failures_wrong is None  # a zero is a reward
    weights = json.loads(show(owner, "run_file", run.pk, "weights.json"))
    assert weights["digest"] == found["weights"]
    assert [len(layer["weights"]) for layer in weights["layers"]] == [8, 4, 4]
    assert [len(layer["biases"]) for layer in weights["layers"]] == [4, 4, 3]
    lines = show(owner, "run_file", run.pk, "transitions.jsonl").splitlines()
    assert len(lines) == found["transitions"]
    rows = list(csv.DictReader(io.StringIO(show(owner, "run_file", run.pk, "transitions.csv"))))
    assert len(rows) == len(lines)
    assert {row["policy"] for row in rows} == {"", "ppo", "uniform", "ucb"}
    assert not any(cell.startswith("=") for row in rows for cell in row.values())
    kind = kind_of(run)
    (headline,) = kind.headlines([run]).values()
    trained = kind.board_record(run)["held_out_facts"][0]["reward"]
    assert headline.value == pytest.approx(trained["value"])
    assert headline.n == 4
    assert f"{headline.value:.3f}" in client_of(owner).get(reverse("runs")).text
    assert [one.name for one in kind.compared(run)] == ["ppo"]
    without = make_mutation(owner, held_out=None)
    (latest,) = kind.headlines([without]).values()
    assert latest.n == 2 * 3
    assert [one.name for one in kind.compared(without)] == ["update 2"]
    other = make_mutation(owner, seed=4)
    compared = client_of(owner).get(reverse("compare"), {"base": run.pk, "with": other.pk})
    assert compared.status_code == 200


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


@table(
    (0.3, 0.001, "ppo is better, beyond chance, than uniform: +0.300"),
    (0.3, 0.2, "ppo is not shown to be better than uniform"),
    (-0.3, 0.2, "ppo is not better than uniform"),
    (-0.3, 0.001, "ppo is worse, beyond chance, than uniform"),
)
def test_a_comparison_is_told_plainly(mean, p, says):
    rivals = [Rival(name, Estimate(0.5, 0.4, 0.6, 12), 0.5, 0) for name in ("ppo", "uniform")]
    versus = {"uniform": Difference(mean, mean - 0.1, mean + 0.1, p, "test", 12), "ucb": None}
    report = MutationReport([], 1, [], 0, 0, {}, {}, rivals, versus, "")
    assert sentences_of(report)[0].startswith(says)


FORM = {
    "query": "Please: {{question}}",
    "goal": "stays_right",
    "carry": "never",
    "max_steps": 2,
    "operators": ["noop", {"typo_noise": {"rate": 0.2}}],
    "roles": {"mutator": TUNED, "target": TUNED, "embedder": "simulated/sim-embed"},
    "held_out": 2,
}


def test_what_the_page_shows_of_a_mutation_launches_it_again_or_leads_to_what_is_wrong(owner):
    document = mutation_document(**FORM)
    document["strategy"] = {"name": "ppo", "num_processes": 8, "num_steps": 8, "updates": 3}
    run = create_run(owner, document)
    page = client_of(owner).get(reverse("run_new"), {"run": run.pk}).text
    assert 'id="mode-form"\n                checked' in page
    sent, client = sent_by(page), client_of(owner)
    assert sent["mutate_query"] == ["Please: {{question}}"]
    other = {"max_steps": "200", "learner-ucb-exploration": "9"}  # of another kind and learner
    assert client.post(reverse("run_new"), {**sent, **other}).status_code == 302
    again = Run.objects.latest("pk")
    assert again != run
    said = [read_configuration(one.document).model_dump(exclude={"limits"}) for one in (again, run)]
    assert said[0] == said[1]
    quick = {"learner_preset": "quick_look", "learner-ppo-num_processes": ""}
    found = read_configuration(read_form({**sent, **quick, "learner-ppo-num_steps": ""}).document())
    assert isinstance(found, Mutation)
    options = found.options
    assert (options.num_processes, options.num_steps, options.count_updates) == (8, 8, 3)
    wrong = {"key": "other", "role_target": "", "rewritings": ["typo_noise"], "learner_preset": ""}
    wrong |= {"learner-ppo-num_steps": "many", "rewriting-typo_noise-rate": "7", "carry": "x"}
    refused = client.post(reverse("run_new"), {**sent, **wrong})
    assert refused.status_code == 400
    for field in ("id_role_target", "id_carry", "id_rewriting-typo_noise-rate"):
        assert f'href="#{field}"' in refused.text, field
    judged = {**sent, "scorers": [], "role_judge": "simulated/sim-small"}
    text = " ".join(client.post(reverse("run_estimate"), judged).text.split())
    assert "3 updates × 8 environments = <b>24 trials</b> of 8 steps each: at most 192 rew" in text
    assert "8 environments, each of which makes a call at a time" in text
    for stage in ("answers", "rewrites", "judgements", "embeddings"):
        assert f"192 {stage}" in text
    assert "the policies ppo, uniform and ucb are compared on them" in text


@table(
    (mutation_document(), "form"),
    (mutation_document(use_batching=False), "form"),
    (every_demo()["mutate"].document, "form"),
    (mutation_document(operators=["typo_noise", "noop"]), "yaml"),  # another order
    (mutation_document(held_out=None), "yaml"),
    (mutation_document(roles={"mutator": TUNED, "target": MODEL}), "yaml"),
)
def test_what_the_form_cannot_say_is_shown_as_yaml(document, mode):
    assert from_document(document).mode == mode
