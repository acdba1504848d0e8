"""What strategies that evolve prompts have in common: they bear genomes, ask for their trials, and
are told what became of them. A function of configuration, seed and history, so that a replay lives
the same life."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from workers.engine.kinds.evolve.adapting import Rates
from workers.engine.kinds.evolve.breeding import Breeder, Child
from workers.engine.kinds.evolve.fitness import Fitness, Sample
from workers.engine.kinds.evolve.operators import Toolbox
from workers.engine.kinds.evolve.options import EvolutionOptions
from workers.engine.kinds.evolve.population import Birth, Individual, People, Place
from workers.engine.kinds.evolve.problems import order_of_cases
from workers.engine.kinds.evolve.writing import Failure, Order, proposal, read_prompt
from workers.engine.records import ANSWER, CASE, Candidate, Score, Trial
from workers.engine.spec.births import names_filled

if TYPE_CHECKING:
    from workers.engine.kinds.evolve import Evolution

FILL_RATE = 0.3  # how much of a first prompt is changed to fill up the first generation
Asking = Generator[list[Trial], None, None]
Bearing = Generator[list[Trial], None, list[Individual]]
OptionsType = TypeVar("OptionsType", bound=EvolutionOptions)


class Generation(NamedTuple):
    """What a generation came to. Fitness is on the cases that all of it was tried on."""

    number: int
    cases: int
    standing: list[tuple[Individual, Fitness | None]]  # the fittest first
    diversity: float
    rates: Rates
    gated: int  # children that were dropped after a few cases
    asked: int  # trials of the run until its end, of all roles
    proposed: int  # of them, those that asked for a prompt

    @property
    def fitnesses(self) -> list[float]:
        return [fitness.total for _, fitness in self.standing if fitness]


class Life(ABC, Generic[OptionsType]):
    learns = True
    label: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    version: ClassVar[int] = 1
    word: ClassVar[str] = "generation"
    """What a point of its curve of fitness is called."""
    options_type: ClassVar[type[EvolutionOptions]]

    def __init__(self, configuration: "Evolution", cases: int, options: OptionsType) -> None:
        self._configuration, self._options = configuration, options
        self._seed, self._repeats = configuration.seed, configuration.repeats
        self._cases, self._order = cases, order_of_cases(cases, configuration.seed)
        self._toolbox = Toolbox(configuration.operators)
        self._genome = self._toolbox.genome([prompt.system for prompt in configuration.prompts])
        self._people = People(configuration.prompts[0].user, configuration.model)
        self._allowed = names_filled(configuration)
        self.hears = frozenset({ANSWER, CASE} if self._toolbox.writers else {ANSWER})
        self.candidates: list[Candidate] = []
        self.generations: list[Generation] = []
        self.reason = ""  # why it ended; empty: it did not yet
        self._written: dict[str, str] = {}  # by the key of a proposal: what the writer gave
        self._asked, self._proposed = 0, 0
        self.under_way: list[Trial] = []  # asked since the last generation was measured
        self._queue: list[Trial] = []
        self._seeds = [
            self._bear(prompt.name, prompt.system, Birth(0, "seed"))
            for prompt in configuration.prompts
        ]
        self._life = self._live()

    @classmethod
    def options_model(cls) -> type[EvolutionOptions]:
        return cls.options_type

    @abstractmethod
    def _live(self) -> Asking:
        """Every `yield` asks for trials; after it all of them were told."""

    @property
    def planned(self) -> int | None:
        """How long it lives is not known before."""
        return self._asked if self.reason and not self._queue else None

    @property
    def listens(self) -> bool:
        return not self._queue

    @property
    def best(self) -> int | None:
        """The fittest of the last generation that was measured: elites were measured with it."""
        if not self.generations:
            return None
        one, fitness = self.generations[-1].standing[0]
        return self.candidates.index(one.candidate) if fitness else None

    @property
    def rival(self) -> int | None:
        """The best of the first prompts, by the cases that all of them were tried on; what evolved
        must beat it on cases that nobody has seen."""
        tried = [one for one in self._seeds if one.samples]
        shared = set.intersection(*(set(one.samples) for one in tried)) if tried else set()
        means = [(one.mean_at(shared), one) for one in tried]
        known = [(mean, one) for mean, one in means if mean is not None]
        if not known:
            return None
        _, first = max(known, key=lambda pair: pair[0])
        return self.candidates.index(first.candidate)

    def individual(self, key: str) -> Individual:
        return self._people.by_key[key]

    def is_proposal(self, key: str) -> bool:
        return key not in self._people.by_key

    def ask(self, limit: int) -> list[Trial]:
        while not self._queue:
            asked = next(self._life, None)
            if asked is None:
                return []
            self._queue = asked
        given, self._queue = self._queue[:limit], self._queue[limit:]
        return given

    def tell(self, scores: Sequence[Score]) -> None:
        for score in scores:
            one = self._people.by_key.get(score.trial.candidate)
            if one is not None:
                note(one, score)
            elif not score.error:
                self._written[score.trial.candidate] = read_prompt(score.answer, self._allowed)

    def _first_generation(self) -> list[Individual]:
        """The first prompts, then others that are made up."""
        if self._options.fill == "none":
            return list(self._seeds)
        random = self._random(0)
        population = self._seeds[: self._options.population_size]
        genes = [one.genes for one in self._seeds]
        while len(population) < self._options.population_size:
            parent = genes[len(population) % len(genes)]
            if self._options.fill == "random":
                child = Child(self._genome.make_up(random, genes), "made up", ())
            else:
                child = Child(self._genome.mutate(random, parent, FILL_RATE), "mutation", ())
            population.append(self._child(0, len(population), child))
        return population

    def _bear_all(
        self,
        number: int,
        planned: Sequence[Child | Order],
        breeder: Breeder,
        places: Sequence[Place],
    ) -> Bearing:
        """The children of a generation. While the writers write, those of chance are tried."""
        proposals = self._propose([one for one in planned if isinstance(one, Order)])
        born = {
            place: self._child(number, place, one)
            for place, one in enumerate(planned)
            if isinstance(one, Child)
        }
        asked = self._proposal_trials(proposals)
        yield asked + self._trials(list(born.values()), places)
        written = iter(proposals)
        for place, one in enumerate(planned):
            if isinstance(one, Order):
                born[place] = self._written_child(number, place, one, next(written), breeder)
        return [born[place] for place in range(len(planned))]

    def _propose(self, orders: Sequence[Order]) -> list[Candidate]:
        proposals = []
        for order in orders:
            self._proposed += 1
            proposals.append(proposal(order, self._proposed))
        self.candidates += proposals
        return proposals

    def _written_child(
        self, generation: int, place: int, order: Order, proposed: Candidate, breeder: Breeder
    ) -> Individual:
        text = self._written.get(proposed.key, "")
        if not text:  # the call failed, or gave no prompt: chance makes the child
            parent = self._people.by_key[order.parents[0]]
            return self._child(generation, place, breeder.mutant(parent))
        birth = Birth(generation, order.operator, order.parents)
        return self._bear(name_of(generation, place), text, birth)

    def _child(self, generation: int, place: int, child: Child) -> Individual:
        text = self._genome.write(child.genes)
        birth = Birth(generation, child.operator, child.parents)
        return self._bear(name_of(generation, place), text, birth)

    def _bear(self, name: str, text: str, birth: Birth) -> Individual:
        one, is_new = self._people.add(name, text, self._genome.read(text), birth)
        if is_new:
            self.candidates.append(one.candidate)
        return one

    def _trials(self, population: Sequence[Individual], places: Sequence[Place]) -> list[Trial]:
        """Of each genome once, on what it was not asked yet: nothing is paid twice."""
        distinct = {one.key: one for one in population}
        return self._numbered(
            [
                (key, place)
                for place in places
                for key, one in distinct.items()
                if place not in one.samples
            ]
        )

    def _proposal_trials(self, proposals: Sequence[Candidate]) -> list[Trial]:
        """Each a repeat of its own: the same words asked twice shall give two answers."""
        return self._numbered(
            [(one.key, (self._order[0], one.document["number"])) for one in proposals]
        )

    def _numbered(self, wanted: Sequence[tuple[str, Place]]) -> list[Trial]:
        start, self._asked = self._asked, self._asked + len(wanted)
        trials = [
            Trial(start + number, key, case, repeat)
            for number, (key, (case, repeat)) in enumerate(wanted)
        ]
        self.under_way += trials
        return trials

    def _note(self, generation: Generation) -> None:
        self.generations.append(generation)
        self.under_way = []

    def _random(self, *what: Any) -> Random:
        return Random(f"{self._seed} generation {' '.join(map(str, what))}")


def name_of(generation: int, place: int) -> str:
    return f"g{generation + 1}.{place + 1:02}"  # people count from 1


def note(one: Individual, score: Score) -> None:
    place = (score.trial.case, score.trial.repeat)
    passed = [judgement.passed for judgement in score.judgements if judgement.passed is not None]
    is_right = score.value is not None and all(passed) and bool(passed)
    one.samples[place] = Sample(score.value, is_right, len(score.answer))
    if score.value is not None and not is_right and score.fields is not None:
        reasons = tuple(judgement.told for judgement in score.judgements if not judgement.passed)
        one.failures[place] = Failure(score.fields, score.answer, reasons)
