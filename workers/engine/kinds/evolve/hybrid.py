"""The actor-critic strategy: the fittest prompts answer, a critic scores, fitness follows slowly.

An episode is M queries, each answered by K prompts, all at once. After it the fitness of every
prompt that answered moves towards its scores; after E episodes the population evolves.
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import ClassVar

from workers.engine.kinds.evolve.adapting import Rates
from workers.engine.kinds.evolve.breeding import Alive, Breeding, GeneByGene
from workers.engine.kinds.evolve.fitness import Fitness
from workers.engine.kinds.evolve.life import Asking, Bearing, Generation, Life
from workers.engine.kinds.evolve.options import EvolutionOptions, HybridOptions
from workers.engine.kinds.evolve.population import Individual, Place

KEPT = 0.9  # of the old fitness, when a score comes in
Answering = tuple[Individual, Place]


class Hybrid(Life[HybridOptions]):
    """For tuning prompts while they are in use: each query is answered by the fittest prompts, and
    their fitness is a moving average of what a critic thinks of the answers."""

    label: ClassVar[str] = "Actor and critic"
    word: ClassVar[str] = "episode"
    options_type: ClassVar[type[EvolutionOptions]] = HybridOptions

    def _live(self) -> Asking:
        self._fitness: dict[str, float] = {}  # by key, of prompts that have a score
        self._queries = 0
        population = self._first_generation()
        for episode in range(self._options.max_episodes):
            answering = self._choose(episode, population)
            yield self._numbered(unanswered(answering))
            self._update(answering)
            self._note_episode(episode, population)
            self.reason = self._why_stop(episode + 1)
            if self.reason:
                return
            if (episode + 1) % self._options.evolution_interval == 0:
                population = yield from self._evolve(episode + 1)

    def _choose(self, episode: int, population: Sequence[Individual]) -> list[Answering]:
        """Who answers which query: the K fittest, one of them now and then another one by chance.
        A prompt without a fitness comes first: nobody knows how good it is."""
        random, options = self._random("episode", episode), self._options
        by_fitness = sorted(population, key=lambda one: -self._fitness.get(one.key, float("inf")))
        distinct = list({one.key: one for one in by_fitness}.values())
        answering: list[Answering] = []
        for _ in range(options.update_interval):
            place = self._next_query()
            chosen = explore(random, distinct, options.num_candidates, options.exploration)
            answering += [(one, place) for one in chosen]
        return answering

    def _next_query(self) -> Place:
        """The cases in the run's order, again and again, each time as another repeat."""
        turn, number = divmod(self._queries, self._cases)
        self._queries += 1
        return self._order[number], turn % self._repeats

    def _update(self, answering: Sequence[Answering]) -> None:
        """In the order of the queries. What failed says nothing about its prompt."""
        for one, place in answering:
            reward = one.value_at(place)
            if reward is not None:
                old = self._fitness.get(one.key, reward)
                self._fitness[one.key] = KEPT * old + (1 - KEPT) * reward

    def _note_episode(self, episode: int, population: Sequence[Individual]) -> None:
        distinct = list({one.key: one for one in population}.values())
        standing = [(one, self._fitness_of(one)) for one in distinct]
        standing.sort(key=lambda pair: -pair[1].total if pair[1] else 1.0)
        diversity = self._genome.diversity([one.genes for one in population])
        rates = Rates(self._options.crossover_rate, self._options.mutation_rate)
        seen = min(self._cases, self._queries)
        self._note(
            Generation(episode, seen, standing, diversity, rates, 0, self._asked, self._proposed)
        )

    def _fitness_of(self, one: Individual) -> Fitness | None:
        if one.key not in self._fitness:
            return None
        values = [each.value for each in one.samples.values() if each.value is not None]
        return Fitness(self._fitness[one.key], fmean(values), 0.0, 0.0, 0.0, 0.0)

    def _why_stop(self, episodes: int) -> str:
        options = self._options
        if not self.generations[-1].fitnesses:
            return "no prompt has a fitness: all of its trials failed"
        if episodes >= options.max_episodes:
            return f"all {options.max_episodes} episodes are done"
        evolutions, rest = divmod(episodes, options.evolution_interval)
        if options.patience is None or rest or evolutions <= options.patience:
            return ""
        best = [max(each.fitnesses, default=0.0) for each in self.generations]
        gain = best[-1] - best[-1 - options.patience * options.evolution_interval]
        if gain >= options.min_improvement:
            return ""
        return f"the best gained {gain:.3f} in {options.patience} evolutions"

    def _evolve(self, episode: int) -> Bearing:
        """The elite lives on; children have no fitness yet, and answer first."""
        standing = self.generations[-1].standing
        alive = [Alive(one, fit.total) for one, fit in standing if fit]
        elite = [one.individual for one in alive[: self._options.elite_size]]
        rates = Rates(self._options.crossover_rate, self._options.mutation_rate)
        how = Breeding("rank", 2, "uniform", rates)
        model, random = self._configuration.model, self._random(episode)
        breeder = GeneByGene(self._toolbox, self._genome, model, how, random)
        places = sorted({place for one in alive for place in one.individual.samples})
        planned = breeder.plan(alive, self._options.population_size - len(elite), places)
        return elite + (yield from self._bear_all(episode, planned, breeder, ()))


def unanswered(answering: Sequence[Answering]) -> list[tuple[str, Place]]:
    """Each once: a prompt that has answered a query is not asked again."""
    wanted = [(one.key, place) for one, place in answering if place not in one.samples]
    return list(dict.fromkeys(wanted))


def explore(
    random: Random, fittest: Sequence[Individual], count: int, exploration: float
) -> list[Individual]:
    """The first ones, of whom the last may give its place to any that is not among them."""
    chosen, others = list(fittest[:count]), fittest[count:]
    if others and random.random() < exploration:
        chosen[-1] = random.choice(others)
    return chosen
