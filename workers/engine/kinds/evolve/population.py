"""The genomes of a run, each once, however often it is born, and what is known of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from workers.engine.json_text import digest
from workers.engine.kinds.evolve.crossover import Genes
from workers.engine.kinds.evolve.fitness import Fitness, Sample, Weights, fitness_of
from workers.engine.kinds.evolve.writing import Failure
from workers.engine.records import Candidate
from workers.engine.spec.configuration import ModelChoice, Prompt

Place = tuple[int, int]  # a case and a repeat


class Birth(NamedTuple):
    """Where a genome came from."""

    generation: int
    operator: str  # seed, made up, crossover, mutation, copy, or what a writer was asked for
    parents: tuple[str, ...] = ()  # keys


@dataclass
class Individual:
    """One genome. Its key is that of its candidate: a digest of prompt and model."""

    candidate: Candidate
    genes: Genes
    words: int
    birth: Birth
    samples: dict[Place, Sample] = field(default_factory=dict)
    failures: dict[Place, Failure] = field(default_factory=dict)  # answers that were wrong

    @property
    def key(self) -> str:
        return self.candidate.key

    @property
    def text(self) -> str:
        system: str = self.candidate.document["prompt"]["system"]
        return system

    def value_at(self, place: Place) -> float | None:
        return self.samples.get(place, MISSING).value

    def mean_at(self, places: Iterable[Place]) -> float | None:
        """Over those that were judged."""
        known = [value for place in places if (value := self.value_at(place)) is not None]
        return fmean(known) if known else None

    def fitness(self, places: Iterable[Place], weights: Weights) -> Fitness | None:
        """On these trials. None: too many of them failed, or were not made."""
        known = [self.samples.get(place, MISSING) for place in places]
        return fitness_of(known, self.words, weights)


MISSING = Sample(None, False, 0)


class People:
    """All individuals that were ever born, by their text."""

    def __init__(self, user: str, model: ModelChoice) -> None:
        self._user, self._model = user, model
        self._by_text: dict[str, Individual] = {}
        self.by_key: dict[str, Individual] = {}

    def add(self, name: str, text: str, genes: Genes, birth: Birth) -> tuple[Individual, bool]:
        """The one with this text, and whether it is new."""
        if text in self._by_text:
            return self._by_text[text], False
        prompt = Prompt(name=name, system=text, user=self._user).model_dump()
        document = {"prompt": prompt, "model": self._model.model_dump()}
        candidate = Candidate(digest(document)[:16], name, document)
        found = Individual(candidate, genes, len(text.split()), birth)
        self._by_text[text] = self.by_key[candidate.key] = found
        return found, True


def ranked(
    individuals: Sequence[Individual], places: Sequence[Place], weights: Weights
) -> list[tuple[Individual, Fitness | None]]:
    """The fittest first; those without a fitness last. Of equals the younger one: steps that cost
    nothing lead on, and a child was made to be better."""
    measured = [(one, one.fitness(places, weights)) for one in individuals]
    return sorted(
        measured,
        key=lambda pair: (-pair[1].total if pair[1] else 1.0, -pair[0].birth.generation),
    )
