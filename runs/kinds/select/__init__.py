"""Kind `select` on the site: a table of combinations with its pictures, and a winner."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db.models import QuerySet
from ninja import Router

from runs.kinds.base import Board, Findings, KindGuide, RunFile, RunHere, SiteKind
from runs.kinds.section import FormSection
from runs.kinds.select.findings import SelectionFindings, write_litellm, write_table
from runs.kinds.select.form import StepsSection
from runs.kinds.select.here import selection_here
from runs.kinds.select.page import read_wanted, selection_page
from runs.kinds.select.standing import documents_of, selection_of
from runs.models import Candidate, Run
from runs.roles import Permission
from workers.engine.kinds.select import Selection
from workers.engine.spec.configuration import Configuration


class SelectKind(SiteKind):
    name: ClassVar[str] = "select"
    title: ClassVar[str] = "Select"
    purpose: ClassVar[str] = "Choose models for steps"
    chooses: ClassVar[bool] = True
    counts_failures: ClassVar[bool] = True
    candidate_word: ClassVar[str] = "combination"
    section: ClassVar[type[FormSection] | None] = StepsSection
    guide: ClassVar[KindGuide | None] = KindGuide("choosing-models", "SELECT.md")
    style: ClassVar[str] = "css/kinds/select.css"
    files: ClassVar[Mapping[str, RunFile]] = {
        "combinations.csv": RunFile("text/csv", write_table),
        "litellm.yaml": RunFile("application/yaml", write_litellm, Permission.SEE_ADDRESSES),
    }
    export_suffixes: ClassVar[Sequence[str]] = (".yaml", ".yml")

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        wanted = read_wanted(given)
        return Board(
            section="kinds/select/section.html",
            rows="kinds/select/board.html",
            context={"selection": selection_page(run, wanted)},
            query=wanted.query,
            style="css/selection.css",
            stands_first=True,
        )

    def own_order(self, run: Run, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The winner, then those that saw most cases."""
        places = {row.key: place for place, row in enumerate(selection_of(run).rows)}
        return sorted(candidates, key=lambda candidate: places[candidate.key])

    def compared(self, run: Run) -> QuerySet[Candidate]:
        """The winner: what it gave up saw few cases, and is not what the run is for."""
        best = selection_of(run).best
        return run.candidates.filter(key=best.key) if best else run.candidates.none()

    def find(self, run: Run) -> Findings:
        return SelectionFindings(selection_of(run), documents_of(run))

    def find_here(self, run: RunHere) -> Findings:
        documents = {c.key: c.document for c in run.configuration.make_candidates()}
        return SelectionFindings(selection_here(run), documents)

    def without_prices(self, configuration: Configuration) -> str:
        assert isinstance(configuration, Selection)  # its kind was asked
        if not configuration.objective.lambda_cost:
            return ""
        return "The price will not count, although it has a weight: not all models have one."

    def why_unused(self, configuration: Configuration) -> str:
        if configuration.limits.schedule == "two_level":
            return super().why_unused(configuration)
        return "the first round has no more trials"

    def routers(self) -> list[Router]:
        from runs.kinds.select.routes import routes  # the API is made of the kinds

        return [routes]
