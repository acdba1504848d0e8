"""What a prompt is made of when it evolves: a sequence of words, or the sections of a brief."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from random import Random
from statistics import fmean

from rapidfuzz.distance import Levenshtein

from workers.engine.kinds.evolve.crossover import CROSSOVER, Genes, Pair
from workers.engine.kinds.evolve.mutation import change_words
from workers.engine.kinds.evolve.vocabulary import Vocabulary

LINE = "\n"
FEWEST_WORDS, MOST_WORDS = 5, 20  # of a genome that is made up
MOST_PAIRS = 500  # of which the diversity of a large population is the mean
SECTIONS = ("role", "tone", "constraints", "examples", "format")


class Genome(ABC):
    """How genes become a text, and what chance does to them. Genes are a tuple of texts."""

    def __init__(self, seeds: Sequence[str]) -> None:
        self.vocabulary = Vocabulary([words_of(seed) for seed in seeds])

    @abstractmethod
    def read(self, text: str) -> Genes: ...

    @abstractmethod
    def write(self, genes: Genes) -> str: ...

    @abstractmethod
    def make_up(self, random: Random, seeds: Sequence[Genes]) -> Genes:
        """One more for the first generation."""

    @abstractmethod
    def cross(self, random: Random, a: Genes, b: Genes, how: str) -> Pair: ...

    @abstractmethod
    def mutate(self, random: Random, genes: Genes, rate: float) -> Genes: ...

    @abstractmethod
    def distance(self, a: Genes, b: Genes) -> float:
        """From 0, the same, to 1."""

    def diversity(self, population: Sequence[Genes]) -> float:
        """The mean distance of two; of a large population, of as many pairs in a fixed order."""
        pairs = list(combinations(population, 2))
        step = max(1, len(pairs) // MOST_PAIRS)
        some = pairs[::step]
        return fmean(self.distance(a, b) for a, b in some) if some else 0.0


class WordGenome(Genome):
    """Every word is a gene; so is the end of a line."""

    def read(self, text: str) -> Genes:
        return words_of(text)

    def write(self, genes: Genes) -> str:
        return text_of(genes)

    def make_up(self, random: Random, seeds: Sequence[Genes]) -> Genes:
        count = random.randint(FEWEST_WORDS, MOST_WORDS)
        return tuple(self.vocabulary.any_word(random) for _ in range(count))

    def cross(self, random: Random, a: Genes, b: Genes, how: str) -> Pair:
        return CROSSOVER[how](random, a, b)

    def mutate(self, random: Random, genes: Genes, rate: float) -> Genes:
        return change_words(random, genes, rate, self.vocabulary)

    def distance(self, a: Genes, b: Genes) -> float:
        return Levenshtein.normalized_distance(a, b)


class SectionGenome(Genome):
    """Role, tone, constraints, examples and format, each a text that may be empty."""

    def read(self, text: str) -> Genes:
        """Paragraphs in their order; what is left over belongs to the last section."""
        parts = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
        head, rest = parts[: len(SECTIONS) - 1], parts[len(SECTIONS) - 1 :]
        genes = [*head, "\n".join(rest)] if rest else head
        return (*genes, *[""] * (len(SECTIONS) - len(genes)))

    def write(self, genes: Genes) -> str:
        return "\n\n".join(gene for gene in genes if gene)

    def make_up(self, random: Random, seeds: Sequence[Genes]) -> Genes:
        """Each section from any of the first prompts."""
        return tuple(random.choice(seeds)[place] for place in range(len(SECTIONS)))

    def cross(self, random: Random, a: Genes, b: Genes, how: str) -> Pair:
        return CROSSOVER[how](random, a, b)

    def mutate(self, random: Random, genes: Genes, rate: float) -> Genes:
        """Each section by itself, with the given chance."""
        return tuple(
            text_of(change_words(random, words_of(gene), rate, self.vocabulary))
            if gene and random.random() < rate
            else gene
            for gene in genes
        )

    def distance(self, a: Genes, b: Genes) -> float:
        """Of their sets of words (Jaccard)."""
        one, other = (set(words_of(self.write(genes).lower())) for genes in (a, b))
        together = one | other
        return 1.0 - len(one & other) / len(together) if together else 0.0


def words_of(text: str) -> Genes:
    return tuple(re.findall(r"\n|\S+", text))


def text_of(words: Genes) -> str:
    return re.sub(r" *\n *", LINE, " ".join(words)).strip()


GENOMES: dict[str, type[Genome]] = {"words": WordGenome, "sections": SectionGenome}
