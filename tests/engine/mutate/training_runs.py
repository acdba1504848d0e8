"""Small mutations in the test's own process, against a real simulated provider."""

from typing import Any, NamedTuple

import orjson

from tests.engine.running import run_document
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate.report import MutationReport, PolicyFacts, SegmentScore, report_of
from workers.engine.records import Candidate, Case, Score
from workers.simulator.demo import make_questions

SMALL = {"name": "ppo", "num_processes": 3, "num_steps": 4, "updates": 2, "hidden_size": 8}


class Trained(NamedTuple):
    candidates: list[Candidate]
    scores: list[Score]
    report: MutationReport

    @property
    def weights(self):
        return self.report.weights

    @property
    def transitions(self):
        """Of all segments that have a record, in the order of their trials."""
        records = [orjson.loads(one.record) for one in self.scores if one.record]
        return [row for record in records for row in record["transitions"]]


def mutation(**given: Any) -> dict[str, Any]:
    models = {"mutator": "sim-large", "target": "sim-small", "embedder": "sim-embed"}
    return {
        "name": "rewrites",
        "kind": "mutate",
        "seed": 7,
        "dataset": "questions",
        "operators": ["noop", "passive_voice", "make_indirect", "typo_noise"],
        "roles": {role: f"simulated/{model}" for role, model in models.items()},
        "scorers": [{"numeric": {}}],
        "strategy": SMALL,
        "max_steps": 2,
        "observation_size": 16,
        "limits": {"max_concurrent": 8, "timeout_seconds": 120},
        **given,
    }


async def train(document, url, *, questions=8, cache=None):
    rows = [one._asdict() for one in make_questions(questions)]
    cases = [Case(place, row) for place, row in enumerate(rows)]
    born: list[Candidate] = []
    scores = await run_document(document, cases, url, cache, on_candidate=born.append)
    told = [(one.trial.candidate, one.trial.case, one.value, one.answer) for one in scores]
    policies = [PolicyFacts.read(one.key, one.name, one.role, one.document) for one in born]
    configuration: Any = read_configuration(document)
    updates, segments = configuration.options.count_updates, [SegmentScore(*one) for one in told]
    return Trained(born, scores, report_of(policies, segments, updates))
