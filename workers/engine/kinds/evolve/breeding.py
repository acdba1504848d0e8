"""The next generation: who lives on, and how the others are made, by chance or by a writer."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from workers.engine.kinds.evolve.adapting import Rates
from workers.engine.kinds.evolve.crossover import Genes, pick_genes
from workers.engine.kinds.evolve.frontier import draw_complement, draw_parent
from workers.engine.kinds.evolve.genomes import Genome
from workers.engine.kinds.evolve.operators import Reflect, Rewrite, Toolbox, Writer, WritingOperator
from workers.engine.kinds.evolve.population import Individual, Place
from workers.engine.kinds.evolve.selection import SELECTION
from workers.engine.kinds.evolve.writing import Failure, Order
from workers.engine.spec.model_choice import ModelChoice


class Child(NamedTuple):
    """Made by chance: its genes are known at once."""

    genes: Genes
    operator: str
    parents: tuple[str, ...]


class Alive(NamedTuple):
    """One that may become a parent, with its fitness."""

    individual: Individual
    fitness: float


class Breeding(NamedTuple):
    """How children are made."""

    selection: str
    tournament_size: int
    crossover: str
    rates: Rates
    born: int = 0  # children before these, for whose turn it is
    first: Individual | None = None  # the one that writers begin with; None: drawn for each


class Breeder:
    """Plans one generation. The same chance plans the same children."""

    def __init__(
        self, toolbox: Toolbox, genome: Genome, model: ModelChoice, how: Breeding, random: Random
    ) -> None:
        self._toolbox, self._genome, self._model = toolbox, genome, model
        self._how, self._random = how, random

    def plan(
        self, alive: Sequence[Alive], count: int, places: Sequence[Place]
    ) -> list[Child | Order]:
        """So many children: those that writers make, then those of chance."""
        turns = self._toolbox.in_turn(count, self._how.born)
        orders = [self._order(writer, alive, places) for writer in turns if writer]
        return [*orders, *self._by_chance(alive, count - len(orders))]

    def mutant(self, parent: Individual) -> Child:
        """Instead of a child that the writer did not write."""
        rate = max(0.2, self._how.rates.mutation)
        return Child(
            self._genome.mutate(self._random, parent.genes, rate), "mutation", (parent.key,)
        )

    def _by_chance(self, alive: Sequence[Alive], count: int) -> list[Child]:
        children: list[Child] = []
        pairs = (count + 1) // 2
        chosen = SELECTION[self._how.selection](
            self._random, [one.fitness for one in alive], 2 * pairs, self._how.tournament_size
        )
        for a, b in zip(chosen[::2], chosen[1::2], strict=True):
            children += self._children_of(alive[a].individual, alive[b].individual)
        return children[:count]

    def _children_of(self, a: Individual, b: Individual) -> list[Child]:
        if a is not b and self._random.random() < self._how.rates.crossover:
            one, other = self._genome.cross(self._random, a.genes, b.genes, self._how.crossover)
            both = (a.key, b.key)
            children = [Child(one, "crossover", both), Child(other, "crossover", both)]
        else:
            children = [Child(one.genes, "copy", (one.key,)) for one in (a, b)]
        return [self._perhaps_mutated(child) for child in children]

    def _perhaps_mutated(self, child: Child) -> Child:
        mutation = self._how.rates.mutation
        if self._random.random() >= mutation:
            return child
        genes = self._genome.mutate(self._random, child.genes, mutation)
        operator = "mutation" if child.operator == "copy" else "crossover and mutation"
        return Child(genes, operator, child.parents)

    def _order(self, writer: Writer, alive: Sequence[Alive], places: Sequence[Place]) -> Order:
        """By the writer whose turn it is, or by another one that has what it needs."""
        individuals = [one.individual for one in alive]
        first = self._how.first or draw_parent(self._random, individuals, places)
        others = [one for one in individuals if one is not first]
        wrong = [first.failures[place] for place in places if place in first.failures]
        able = [one for one in (writer, *self._toolbox.writers) if is_able(one, others, wrong)]
        name, operator = (
            able[0] if able else Writer("rewrite", Rewrite(model=writer.operator.model))
        )
        parents = [first]
        if operator.parents > 1:
            parents.append(draw_complement(self._random, first, others, places))
        return Order(
            name,
            operator.task,
            operator.model or self._model,
            tuple(one.key for one in parents),
            tuple(one.text for one in parents),
            self._shown(operator, wrong),
        )

    def _shown(self, operator: WritingOperator, wrong: Sequence[Failure]) -> tuple[Failure, ...]:
        if not isinstance(operator, Reflect):
            return ()
        return tuple(self._random.sample(wrong, min(operator.failures, len(wrong))))


def is_able(writer: Writer, others: Sequence[Individual], wrong: Sequence[Failure]) -> bool:
    """Two parents need two that live, a reflection something that went wrong."""
    if writer.operator.parents > 1 and not others:
        return False
    return bool(wrong) or not isinstance(writer.operator, Reflect)


class GeneByGene(Breeder):
    """Every gene of a child is from its first parent with the crossover rate, else from the
    second; then each is changed with the mutation rate."""

    def _children_of(self, a: Individual, b: Individual) -> list[Child]:
        return [self._child_of(a, b), self._child_of(b, a)]

    def _child_of(self, a: Individual, b: Individual) -> Child:
        rates = self._how.rates
        genes = pick_genes(self._random, a.genes, b.genes, rates.crossover)
        genes = self._genome.mutate(self._random, genes, rates.mutation)
        parents = (a.key,) if a is b else (a.key, b.key)
        return Child(genes, "mutation" if a is b else "crossover and mutation", parents)
