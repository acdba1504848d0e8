"""What an evolution has come to, told from its strategy: nothing of it is stored but the scores."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import fsum
from statistics import fmean
from typing import Any, NamedTuple

from workers.engine.json_text import digest
from workers.engine.kinds.evolve.fitness import Fitness
from workers.engine.kinds.evolve.life import Generation, Life
from workers.engine.kinds.evolve.population import Individual
from workers.engine.records import PROPOSE

SEED = "seed"  # the operator of first prompts
DEEPEST = 12  # ancestors of the best that are shown


class GenerationRow(NamedTuple):
    """A generation that was measured. Fitness is None where nobody has one."""

    number: int
    asked: int  # trials of the run until its end, of all roles
    evaluations: int
    cases: int
    genomes: int
    failed: int  # without a fitness, since too many of their trials failed
    gated: int  # dropped after a few cases
    best: float | None
    best_so_far: float | None
    mean: float | None
    low: float | None  # a tenth of them are below
    high: float | None  # a tenth are above
    diversity: float
    crossover_rate: float
    mutation_rate: float


class OperatorRow(NamedTuple):
    """What became of the children that one operator made, beside their best parents."""

    operator: str
    born: int
    better: int
    equal: int
    worse: int


class GenomeRow(NamedTuple):
    key: str
    name: str
    text: str
    generation: int  # in which it was born
    operator: str
    parents: tuple[str, ...]  # their names
    fitness: Fitness | None
    is_elite: bool  # it lives on from an earlier generation
    n: int  # answers that were judged
    value_sum: float
    square_sum: float
    failed: int

    @property
    def made_by(self) -> str:
        return "first prompt" if self.operator == SEED else self.operator

    @property
    def score_failures_wrong(self) -> float | None:
        """Its score if failed trials count as wrong."""
        tried = self.n + self.failed
        return self.value_sum / tried if tried else None


class Ancestor(NamedTuple):
    """On the way from the best to the first prompts. The text it came from is that of a parent."""

    row: GenomeRow
    depth: int
    parent_text: str | None


class GenomeProgress(NamedTuple):
    name: str
    done: int  # trials
    planned: int

    @property
    def is_done(self) -> bool:
        return self.done >= self.planned


class UnderWay(NamedTuple):
    """The generation that is being tried, as far as it is known: children are written and gated
    before all of its trials are asked for."""

    number: int
    genomes: list[GenomeProgress]
    proposals: int
    proposals_done: int

    @property
    def done(self) -> int:
        return sum(one.done for one in self.genomes)

    @property
    def planned(self) -> int:
        return sum(one.planned for one in self.genomes)

    @property
    def genomes_done(self) -> int:
        return sum(one.is_done for one in self.genomes)


class EvolutionReport(NamedTuple):
    word: str  # for a point of the curve: generation, or episode
    generations: list[GenerationRow]
    operators: list[OperatorRow]
    population: list[GenomeRow]  # of the last generation that was measured, the fittest first
    lineage: list[Ancestor]  # of the best, itself first
    evaluations: int
    proposals: int
    max_generations: int
    reason: str  # why it ended; empty: it did not yet
    under_way: UnderWay | None  # None: nothing is asked for at this moment
    digest: str  # of the whole lineage: the same for the same seed, however it was executed

    @property
    def best(self) -> GenomeRow | None:
        first = self.population[0] if self.population else None
        return first if first and first.fitness else None

    @property
    def best_fitness(self) -> float | None:
        return self.best.fitness.total if self.best and self.best.fitness else None

    @property
    def is_best_by_kin(self) -> bool:
        """Another one is fitter by its own answers alone: its relatives speak against it."""
        best = self.best_fitness
        fits = [row.fitness.total for row in self.population if row.fitness]
        return best is not None and max(fits) > best


def report_of(
    life: Life[Any], told: int, max_generations: int, early: Collection[int] = ()
) -> EvolutionReport:
    """`told`: trials that were judged, of all roles, from the first on; `early` are the positions
    of those that came before their turn."""
    proposals = sum(one.role == PROPOSE for one in life.candidates)
    last = life.generations[-1] if life.generations else None
    rows = population_of(life, last) if last else []
    return EvolutionReport(
        word=life.word,
        generations=list(generation_rows(life.generations)),
        operators=operator_rows(life),
        population=rows,
        lineage=list(lineage_of(life, last.standing[0][0])) if last else [],
        evaluations=told + len(early),
        proposals=proposals,
        max_generations=max_generations,
        reason=life.reason,
        under_way=under_way_in(life, told, early),
        digest=digest_of(life),
    )


def under_way_in(life: Life[Any], told: int, early: Collection[int]) -> UnderWay | None:
    if not life.under_way:
        return None
    planned = Counter(trial.candidate for trial in life.under_way)
    done = Counter(
        trial.candidate
        for trial in life.under_way
        if trial.position < told or trial.position in early
    )
    proposals = [key for key in planned if life.is_proposal(key)]
    return UnderWay(
        number=len(life.generations),
        genomes=[
            GenomeProgress(life.individual(key).candidate.name, done[key], count)
            for key, count in planned.items()
            if not life.is_proposal(key)
        ],
        proposals=len(proposals),
        proposals_done=sum(done[key] for key in proposals),
    )


def population_of(life: Life[Any], generation: Generation) -> list[GenomeRow]:
    """The fittest first."""
    return [row_of(life, one, fit, generation) for one, fit in generation.standing]


def digest_of(life: Life[Any]) -> str:
    """Of every generation: who lived, how fit, and of whom it was born."""
    return digest(
        [
            [
                (one.key, fit.total if fit else None, one.birth.operator, one.birth.parents)
                for one, fit in generation.standing
            ]
            for generation in life.generations
        ]
    )


def generation_rows(generations: Sequence[Generation]) -> Iterable[GenerationRow]:
    so_far: float | None = None
    evaluated = 0
    for one in generations:
        fitnesses = sorted(one.fitnesses)
        best = fitnesses[-1] if fitnesses else None
        so_far = best if so_far is None or (best or 0.0) > so_far else so_far
        yield GenerationRow(
            number=one.number,
            asked=one.asked,
            evaluations=one.asked - one.proposed - evaluated,
            cases=one.cases,
            genomes=len(one.standing),
            failed=len(one.standing) - len(fitnesses),
            gated=one.gated,
            best=best,
            best_so_far=so_far,
            mean=fmean(fitnesses) if fitnesses else None,
            low=fitnesses[len(fitnesses) // 10] if fitnesses else None,
            high=fitnesses[-1 - len(fitnesses) // 10] if fitnesses else None,
            diversity=one.diversity,
            crossover_rate=one.rates.crossover,
            mutation_rate=one.rates.mutation,
        )
        evaluated = one.asked - one.proposed


def operator_rows(life: Life[Any]) -> list[OperatorRow]:
    """Children are compared with their parents' fitness on the same cases; who has no parent that
    was measured on them is not counted as better or worse."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for before, after in zip(life.generations, life.generations[1:], strict=False):
        known = {one.key: fit.total for one, fit in before.standing if fit}
        for one, fit in after.standing:
            if one.birth.generation != after.number:
                continue
            count = counts[one.birth.operator]
            count[0] += 1
            parents = [known[key] for key in one.birth.parents if key in known]
            if fit and parents and before.cases == after.cases:
                difference = fit.total - max(parents)
                place = 2 if abs(difference) < 1e-9 else 1 if difference > 0 else 3
                count[place] += 1
    return [OperatorRow(name, *numbers) for name, numbers in sorted(counts.items())]


def row_of(
    life: Life[Any], one: Individual, fit: Fitness | None, last: Generation | None
) -> GenomeRow:
    values = [each.value for each in one.samples.values() if each.value is not None]
    return GenomeRow(
        key=one.key,
        name=one.candidate.name,
        text=one.text,
        generation=one.birth.generation,
        operator=one.birth.operator,
        parents=tuple(life.individual(key).candidate.name for key in one.birth.parents),
        fitness=fit,
        is_elite=last is not None and one.birth.generation < last.number,
        n=len(values),
        value_sum=fsum(values),
        square_sum=fsum(value * value for value in values),
        failed=len(one.samples) - len(values),
    )


def lineage_of(life: Life[Any], best: Individual) -> Iterable[Ancestor]:
    """Each once, however many ways lead to it; the first parent's way first."""
    fitness = {one.key: fit for each in life.generations for one, fit in each.standing}
    seen: set[str] = set()
    waiting = [(best, 0)]
    while waiting:
        one, depth = waiting.pop()
        if one.key in seen or depth > DEEPEST:
            continue
        seen.add(one.key)
        parents = [life.individual(key) for key in one.birth.parents]
        text = parents[0].text if parents else None
        yield Ancestor(row_of(life, one, fitness.get(one.key), None), depth, text)
        waiting += [(parent, depth + 1) for parent in reversed(parents)]


def as_record(report: EvolutionReport, seconds: float | None) -> dict[str, Any]:
    """By the names of the evolution pipeline's guide."""
    best = report.best
    return {
        "best_genome": None if best is None else genome_record(best),
        "best_fitness": report.best_fitness,
        "total_generations": len(report.generations),
        "total_evaluations": report.evaluations,
        "total_proposals": report.proposals,
        "total_time": seconds,
        "ended_because": report.reason,
        "generation_results": [row._asdict() for row in report.generations],
        "operators": [row._asdict() for row in report.operators],
        "ancestors": [genome_record(one.row) for one in report.lineage],
        "lineage": report.digest,
    }


def genome_record(row: GenomeRow) -> dict[str, Any]:
    fitness = row.fitness._asdict() if row.fitness else None
    return {**row._asdict(), "parents": list(row.parents), "fitness": fitness}
