"""Mutations that are played in this process and stored as workers would store them."""

import asyncio
import json

from runs.services.runs import create_run
from tests.harness.factories import make_dataset, make_endpoint, make_person
from tests.workers.by_hand import work_through
from workers.engine.errors import Refused
from workers.engine.kinds.mutate.target import SegmentTarget
from workers.engine.records import Case, Outcome, Reply, Score
from workers.engine.score_records import encode_record
from workers.engine.targets import TargetParts

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


def make_owner():
    person = make_person("ada")
    make_endpoint()
    make_dataset(person, rows=ROWS)
    return person


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
        return Score(
            trial,
            value=made.value,
            answer=made.reply.text,
            latency_ms=5.0,
            record=encode_record(made.record),
        )

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
