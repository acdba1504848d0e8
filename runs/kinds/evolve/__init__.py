"""Kind `evolve` on the site: fitness by generation, the population, where the best came from."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet

from runs.kinds.base import Board, Demo, Findings, KindGuide, RunFile, RunHere, SiteKind
from runs.kinds.evolve.demo import DEMO
from runs.kinds.evolve.findings import EvolutionFindings
from runs.kinds.evolve.form import EvolutionSection
from runs.kinds.evolve.here import evolution_here
from runs.kinds.evolve.page import evolution_page, read_wanted
from runs.kinds.evolve.standing import board_record_of, evolution_of, seconds_of, write_record
from runs.kinds.section import FormSection
from runs.models import Candidate, Run
from workers.engine.kinds.evolve import EVOLUTIONS, Evolution
from workers.engine.records import EVALUATE
from workers.engine.spec.configuration import Configuration, TrialRange


class EvolveKind(SiteKind):
    name: ClassVar[str] = "evolve"
    title: ClassVar[str] = "Evolve"
    purpose: ClassVar[str] = "Breed better prompts"
    chooses: ClassVar[bool] = True
    candidate_word: ClassVar[str] = "genome"
    section: ClassVar[type[FormSection] | None] = EvolutionSection
    guide: ClassVar[KindGuide | None] = KindGuide("evolving-prompts", "EVOLVE.md")
    style: ClassVar[str] = "css/kinds/evolve.css"
    demo: ClassVar[Demo | None] = DEMO
    files: ClassVar[Mapping[str, RunFile]] = {
        "evolution.json": RunFile("application/json", write_record)
    }

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        wanted = read_wanted(given)
        return Board(
            section="kinds/evolve/section.html",
            rows="kinds/evolve/board.html",
            context={"evolution": evolution_page(run, wanted)},
            query=wanted.query,
            style="css/kinds/evolve.css",
            stands_first=True,
        )

    def own_order(self, run: Run, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The last generation by its fitness, then the others, the youngest first."""
        places = {row.key: n for n, row in enumerate(evolution_of(run).population)}
        return sorted(candidates, key=lambda one: (places.get(one.key, len(places)), -one.position))

    def compared(self, run: Run) -> QuerySet[Candidate]:
        """The best: the others are on the way to it."""
        best = evolution_of(run).best
        mine = run.candidates.filter(role=EVALUATE)
        return mine.filter(key=best.key) if best else mine.none()

    def find(self, run: Run) -> Findings:
        return EvolutionFindings(evolution_of(run), seconds_of(run))

    def find_here(self, run: RunHere) -> Findings:
        return EvolutionFindings(evolution_here(run), run.seconds)

    def explain_bounds(self, configuration: Configuration, every: int, bounds: TrialRange) -> str:
        assert isinstance(configuration, Evolution)  # its kind was asked
        word = EVOLUTIONS[configuration.strategy.name].word
        if bounds.most < every:
            return (
                f"if every prompt answered all of them; there are at most {bounds.most:,}, and "
                f"{bounds.least:,} in the first {word}."
            )
        return (
            f"if no {word} is left out and all of them see all cases; the first takes "
            f"{bounds.least:,}."
        )

    def board_record(self, run: Run) -> dict[str, Any]:
        return board_record_of(run)
