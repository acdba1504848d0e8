"""The genetic strategy: generation after generation, all of one are measured on the same cases."""

from collections import Counter
from collections.abc import Generator, Sequence
from typing import ClassVar

from workers.engine.kinds.evolve.adapting import Rates, adapt
from workers.engine.kinds.evolve.breeding import Alive, Breeder, Breeding, Child
from workers.engine.kinds.evolve.fitness import Fitness
from workers.engine.kinds.evolve.kinship import estimate
from workers.engine.kinds.evolve.life import Asking, Bearing, Generation, Life
from workers.engine.kinds.evolve.options import EvolutionOptions, GeneticOptions
from workers.engine.kinds.evolve.population import Individual, Place, ranked
from workers.engine.kinds.evolve.problems import STAGES, cases_in
from workers.engine.kinds.evolve.stopping import Progress, Rules, reason_to_stop
from workers.engine.records import Trial

BARREN_COST = 0.02  # of score, for every child of a prompt that was nothing new: others get a turn


class Genetic(Life[GeneticOptions]):
    """For finding a better prompt: every generation is measured, the fittest live on, and their
    children are made by chance or written by a model."""

    label: ClassVar[str] = "Genetic"
    options_type: ClassVar[type[EvolutionOptions]] = GeneticOptions

    def _live(self) -> Asking:
        self._estimates: dict[str, float] = {}  # by key, with kinship
        self._barren: Counter[str] = Counter()  # by key: children that were nothing new
        self._ahead, self._born = 0, 0  # generations that stages begin early; children so far
        rates = Rates(self._options.crossover_rate, self._options.mutation_rate)
        population = self._first_generation()
        for number in range(self._options.max_generations):
            places = self._places(number)
            gated = yield from self._measure(population, places)
            alive = [one for one in population if one not in gated]
            self._note_generation(number, alive, places, rates, len(gated))
            best = [max(each.fitnesses, default=0.0) for each in self.generations]
            diversity = self.generations[-1].diversity
            self.reason = reason_to_stop(self._progress(best, diversity), self._rules())
            if self.reason:
                return
            rates = adapt(rates, diversity, best) if self._options.adaptive else rates
            self._hasten(number + 1, places)
            population = yield from self._next_generation(number + 1, rates, places)

    def _places(self, generation: int) -> list[Place]:
        stages = () if self._options.all_cases else STAGES
        some = self._order[: cases_in(generation + self._ahead, self._cases, stages)]
        return [(case, repeat) for repeat in range(self._repeats) for case in some]

    def _hasten(self, number: int, places: Sequence[Place]) -> None:
        """Begins the next stage early when the fittest has too few wrong answers to reflect on."""
        fittest = self._living(places)[0].individual
        wrong = sum(place in fittest.failures for place in places)
        if wrong >= self._toolbox.most_shown:
            return
        last = STAGES[-1].until
        while number + self._ahead <= last and len(self._places(number)) <= len(places):
            self._ahead += 1

    def _measure(
        self, population: Sequence[Individual], places: Sequence[Place]
    ) -> Generator[list[Trial], None, list[Individual]]:
        """Tries all of them on what they were not tried on yet. Gives those that were dropped on
        the way, since a few cases showed that they are worse than their parents."""
        gate = self._gate(places)
        writers = {writer.name for writer in self._toolbox.writers} | {"rewrite"}
        number = len(self.generations)
        young = [
            one
            for one in population
            if one.birth.operator in writers and one.birth.generation == number
        ]
        gated: list[Individual] = []
        if gate and young:
            yield self._trials(young, gate)
            gated = [one for one in young if self._is_worse(one, gate)]
        yield self._trials([one for one in population if one not in gated], places)
        return gated

    def _gate(self, places: Sequence[Place]) -> list[Place]:
        """Other cases in every generation: on the same ones, a prompt that is lucky there would
        never be beaten."""
        random = self._random("gate", len(self.generations))
        return sorted(random.sample(places, min(self._options.gate, len(places))))

    def _is_worse(self, child: Individual, places: Sequence[Place]) -> bool:
        own = child.mean_at(places)
        parents = [self.individual(key).mean_at(places) for key in child.birth.parents]
        known = [mean for mean in parents if mean is not None]
        return own is None or (bool(known) and own < max(known))

    def _note_generation(
        self,
        number: int,
        alive: Sequence[Individual],
        places: Sequence[Place],
        rates: Rates,
        gated: int,
    ) -> None:
        distinct = list({one.key: one for one in alive}.values())
        standing = self._rank(distinct, places)
        diversity = self._genome.diversity([one.genes for one in alive])
        cases = len(places) // self._repeats
        self._note(
            Generation(
                number, cases, standing, diversity, rates, gated, self._asked, self._proposed
            )
        )

    def _rank(
        self, individuals: Sequence[Individual], places: Sequence[Place]
    ) -> list[tuple[Individual, Fitness | None]]:
        standing = ranked(individuals, places, self._options.fitness)
        if not self._options.kinship:
            return standing
        self._estimates = estimate(self._people.by_key.values(), self._options.kinship)
        return sorted(standing, key=lambda pair: self._rank_by_kin(pair[0], pair[1] is None))

    def _rank_by_kin(self, one: Individual, is_failed: bool = False) -> tuple[bool, float, int]:
        return (is_failed, -self._estimates.get(one.key, 0.0), -one.birth.generation)

    def _living(self, places: Sequence[Place]) -> list[Alive]:
        """Who may live on and have children, the fittest first: of the last generation, or, with
        kinship, of all that were ever measured, since what is learned later may speak for them."""
        if not self._options.kinship:
            return [Alive(one, fit.total) for one, fit in self.generations[-1].standing if fit]
        measured = [
            Alive(one, fit.total)
            for one in self._people.by_key.values()
            if (fit := one.fitness(places, self._options.fitness))
        ]
        return sorted(measured, key=lambda one: self._rank_by_kin(one.individual))

    def _first_parent(self, alive: Sequence[Alive]) -> Individual | None:
        """With kinship, the one that is likely the best. If nothing new came of it, others get a
        turn: its writer has said what it knows."""
        if not self._options.kinship:
            return None
        chosen = min(
            alive,
            key=lambda one: (
                BARREN_COST * self._barren[one.individual.key] - self._estimates[one.individual.key]
            ),
        )
        return chosen.individual

    def _progress(self, best: Sequence[float], diversity: float) -> Progress:
        alive = len(self.generations[-1].fitnesses)
        return Progress(best, diversity, alive, self._asked)

    def _rules(self) -> Rules:
        options = self._options
        return Rules(
            options.target_fitness,
            options.max_generations,
            options.patience,
            options.least_diversity,
            options.max_evaluations,
        )

    def _first_generation(self) -> list[Individual]:
        if not self._options.is_random_search:
            return super()._first_generation()
        seeds = self._seeds[: self._options.population_size]
        return seeds + self._made_up(0, self._options.population_size - len(seeds))

    def _next_generation(self, number: int, rates: Rates, places: Sequence[Place]) -> Bearing:
        alive = self._living(places)
        elite = [one.individual for one in alive[: self._options.elite_size]]
        count = self._options.population_size - len(elite)
        if self._options.is_random_search:
            return elite + self._made_up(number, count)
        first = self._first_parent(alive)
        if first:  # all of its wrong answers shall be known, also to the cases that are new now
            places = self._places(number)
            yield self._trials([first], places)
        breeder = self._breeder(number, rates, first)
        planned = breeder.plan(alive, count, places)
        self._born += count
        known = set(self._people.by_key)
        born = yield from self._bear_all(number, planned, breeder, self._places(number))
        for child, plan in zip(born, planned, strict=True):
            self._barren.update(plan.parents[:1] if child.key in known else ())
        return elite + born

    def _breeder(self, number: int, rates: Rates, first: Individual | None) -> Breeder:
        options, model = self._options, self._configuration.model
        how = Breeding(
            options.selection,
            options.tournament_size,
            options.crossover,
            rates,
            self._born,
            first,
        )
        return Breeder(self._toolbox, self._genome, model, how, self._random(number))

    def _made_up(self, number: int, count: int) -> list[Individual]:
        random, seeds = self._random(number), [one.genes for one in self._seeds]
        made = [Child(self._genome.make_up(random, seeds), "made up", ()) for _ in range(count)]
        return [self._child(number, place, child) for place, child in enumerate(made)]
