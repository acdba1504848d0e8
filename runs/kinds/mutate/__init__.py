"""Kind `mutate` on the site: reward by update, what operators do, policies on held-out queries."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet

from runs import formatting
from runs.kinds.base import (
    AtOnce,
    Board,
    Demo,
    Findings,
    KindGuide,
    RunFile,
    RunHere,
    SiteKind,
    TriedOn,
)
from runs.kinds.mutate.demo import DEMO
from runs.kinds.mutate.findings import MutationFindings, findings_here
from runs.kinds.mutate.form import MutationSection
from runs.kinds.mutate.page import mutation_page, read_wanted
from runs.kinds.mutate.standing import headlines, mutation_of
from runs.kinds.mutate.transitions import write_csv, write_jsonl
from runs.kinds.mutate.weights import write_weights
from runs.kinds.section import FormSection
from runs.models import Candidate, Run
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.report import as_record
from workers.engine.kinds.mutate.training import HELD_OUT, UCB, UNIFORM
from workers.engine.records import EVALUATE
from workers.engine.spec.configuration import Configuration, TrialRange
from workers.engine.statistics.intervals import Estimate


def write_board(run: Run) -> str:
    return json.dumps(as_record(mutation_of(run).report), indent=2, ensure_ascii=False)


class MutateKind(SiteKind):
    name: ClassVar[str] = "mutate"
    title: ClassVar[str] = "Mutation"
    purpose: ClassVar[str] = "Find breaking rewrites"
    can_be_wrong: ClassVar[bool] = False
    candidate_word: ClassVar[str] = "update"
    section: ClassVar[type[FormSection] | None] = MutationSection
    guide: ClassVar[KindGuide | None] = KindGuide("robustness", "MUTATE.md")
    style: ClassVar[str] = "css/kinds/mutate.css"
    demo: ClassVar[Demo | None] = DEMO
    files: ClassVar[Mapping[str, RunFile]] = {
        "mutation.json": RunFile("application/json", write_board),
        "weights.json": RunFile("application/json", write_weights),
        "transitions.jsonl": RunFile("application/x-ndjson", write_jsonl),
        "transitions.csv": RunFile("text/csv", write_csv),
    }
    export_suffixes: ClassVar[Sequence[str]] = (".json",)

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        wanted = read_wanted(given)
        return Board(
            section="kinds/mutate/section.html",
            rows="kinds/mutate/board.html",
            context={"mutation": mutation_page(run, wanted)},
            query=wanted.query,
            style="css/kinds/mutate.css",
            stands_first=True,
        )

    def own_order(self, run: Run, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The newest first: it knows what the others have learnt."""
        return sorted(candidates, key=lambda one: -one.position)

    def compared(self, run: Run) -> QuerySet[Candidate]:
        """What was learnt, on held-out queries if it was tried there."""
        trained = run.candidates.filter(role=HELD_OUT, done__gt=0).order_by("position")[:1]
        newest = run.candidates.filter(role=EVALUATE, done__gt=0).order_by("-position")[:1]
        pks = [one.pk for one in trained] or [one.pk for one in newest]
        return run.candidates.filter(pk__in=pks)

    def headlines(self, runs: Sequence[Run]) -> Mapping[int, Estimate]:
        return headlines(runs)

    def board_record(self, run: Run) -> dict[str, Any]:
        return as_record(mutation_of(run).report)

    def find(self, run: Run) -> Findings:
        standing = mutation_of(run)
        return MutationFindings(standing.report, standing.latest)

    def find_here(self, run: RunHere) -> Findings:
        return findings_here(run)

    def tried_on(self, configuration: Configuration, cases: int) -> TriedOn:
        assert isinstance(configuration, Mutation)  # its kind was asked
        return TriedOn(configuration.options.num_processes, "environment")

    def at_once(self, configuration: Configuration) -> AtOnce:
        assert isinstance(configuration, Mutation)  # its kind was asked
        count = configuration.options.num_processes
        name = f"{formatting.counted(count, 'environment')}, each of which makes a call at a time"
        return AtOnce(count, name, "Environments (num_processes)")

    def explain_calls(self, configuration: Configuration, bounds: TrialRange) -> str:
        assert isinstance(configuration, Mutation)  # its kind was asked
        return calls_by_stage(configuration, bounds.most)

    def on_held_out(self, configuration: Configuration) -> str:
        assert isinstance(configuration, Mutation)  # its kind was asked
        rivals = dict.fromkeys((configuration.strategy.name, UNIFORM, UCB))
        *others, last = rivals
        return f"the policies {', '.join(others)} and {last} are compared"

    def why_unused(self, configuration: Configuration) -> str:
        return "an update has no more environments"


def calls_by_stage(configuration: Mutation, segments: int) -> str:
    """At most: what is asked again comes from the cache."""
    roles, steps = configuration.roles, segments * configuration.options.num_steps
    stages = {
        "rewrites": bool(roles.mutator),
        "answers": True,
        "judgements": bool(configuration.judges),
        "embeddings": bool(roles.embedder),
    }
    asked = ", ".join(f"{steps:,} {stage}" for stage, is_asked in stages.items() if is_asked)
    each = formatting.counted(configuration.options.num_steps, "step")
    return f"of {each} each: at most {asked}."
