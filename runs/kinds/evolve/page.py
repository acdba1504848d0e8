"""The page of an evolution: its curve, and its best with what changed on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runs.forms.filters import read_whole_number
from runs.kinds.evolve.curve import Curve, Strip, draw, draw_strip
from runs.kinds.evolve.findings import score_of
from runs.kinds.evolve.standing import evolution_of, population_in
from runs.models import Run
from runs.word_diff import WordDiff, diff_words
from workers.engine.kinds.evolve.report import Ancestor, EvolutionReport, GenerationRow, GenomeRow
from workers.engine.statistics.intervals import Estimate

MOST_GENOMES = 30  # of the population that are listed unasked
MOST_ANCESTORS = 20
MOST_ROUNDS = 50  # of the data table


class Wanted(NamedTuple):
    """What the address of the page asks for."""

    number: int | None  # of the generation whose population is shown, from 1; None: the last
    shows_all: bool

    @property
    def query(self) -> str:
        parts = [f"generation={self.number}"] if self.number else []
        parts += ["all=1"] if self.shows_all else []
        return f"?{'&'.join(parts)}" if parts else ""


def read_wanted(given: Mapping[str, str]) -> Wanted:
    return Wanted(read_whole_number(given.get("generation")), given.get("all") == "1")


class Step(NamedTuple):
    ancestor: Ancestor
    diff: WordDiff | None  # to the parent; None: it is a first prompt


class Member(NamedTuple):
    """One of the population."""

    row: GenomeRow
    score: Estimate | None
    age: int  # generations since its birth
    cached: float | None  # the share of its answers that came from the cache
    is_best: bool


@dataclass(frozen=True)
class EvolutionPage:
    report: EvolutionReport
    best: Member | None
    curve: Curve | None  # None: no generation was measured yet
    strip: Strip | None  # None: none is being tried
    shown: GenerationRow | None  # the generation whose population is listed
    population: Sequence[Member]
    hidden: int
    steps: list[Step]
    hidden_ancestors: int
    current: int  # the generation under way, from 1

    @property
    def rounds(self) -> list[GenerationRow]:
        """The newest first."""
        return self.report.generations[: -MOST_ROUNDS - 1 : -1]

    @property
    def is_in_order(self) -> bool:
        """Whether the listed ones are in the order of their own fitness."""
        fits = [one.row.fitness.total for one in self.population if one.row.fitness]
        return fits == sorted(fits, reverse=True)

    @property
    def is_last_shown(self) -> bool:
        return self.shown is self.report.generations[-1]


def evolution_page(run: Run, wanted: Wanted) -> EvolutionPage:
    report = evolution_of(run)
    rows, measured = report.generations, len(report.generations)
    is_known = wanted.number is not None and 0 < wanted.number < measured
    shown = (rows[wanted.number - 1] if is_known and wanted.number else rows[-1]) if rows else None
    population = population_in(run, shown.number) if shown and is_known else report.population
    listed = population if wanted.shows_all else population[:MOST_GENOMES]
    under_way = None if run.is_finished else report.under_way
    return EvolutionPage(
        report=report,
        best=members(run, report, [report.best], rows[-1])[0] if report.best else None,
        curve=draw(rows, report.word) if rows else None,
        strip=draw_strip(under_way.genomes) if under_way else None,
        shown=shown,
        population=members(run, report, listed, shown) if shown else [],
        hidden=len(population) - len(listed),
        steps=[step_of(one) for one in report.lineage[:MOST_ANCESTORS]],
        hidden_ancestors=max(0, len(report.lineage) - MOST_ANCESTORS),
        current=min(measured + (not run.is_finished), report.max_generations),
    )


def members(
    run: Run, report: EvolutionReport, rows: Sequence[GenomeRow], shown: GenerationRow
) -> list[Member]:
    stored = run.candidates.filter(key__in=[row.key for row in rows])
    counts = {
        key: (done, cached) for key, done, cached in stored.values_list("key", "done", "cached")
    }
    best = report.best.key if report.best else None
    found = []
    for row in rows:
        done, cached = counts.get(row.key, (0, 0))
        share = cached / done if done else None
        age = shown.number - row.generation
        found.append(Member(row, score_of(row), age, share, row.key == best))
    return found


def step_of(one: Ancestor) -> Step:
    has_parent = one.parent_text is not None
    return Step(one, diff_words(one.parent_text or "", one.row.text) if has_parent else None)
