"""What chance does to a sequence of words: each kind of change with a chance of its own."""

from random import Random

from workers.engine.kinds.evolve.crossover import Genes
from workers.engine.kinds.evolve.vocabulary import Vocabulary

INSERTION, MOST_INSERTED = 0.05, 3
DELETION, FEWEST = 0.05, 3
SWAP = 0.05
DUPLICATION, MOST = 0.02, 50


def change_words(random: Random, genes: Genes, rate: float, vocabulary: Vocabulary) -> Genes:
    """A rate of 0 changes nothing. Columns of the dataset, as {{question}}, stay what they are."""
    if rate <= 0:
        return genes
    words = substitute(random, list(genes), rate, vocabulary)
    words = insert(random, words, vocabulary)
    words = delete(random, words)
    words = swap(random, words)
    return tuple(duplicate(random, words))


def substitute(random: Random, words: list[str], rate: float, vocabulary: Vocabulary) -> list[str]:
    return [
        vocabulary.instead_of(word, random)
        if random.random() < rate and not is_fixed(word)
        else word
        for word in words
    ]


def insert(random: Random, words: list[str], vocabulary: Vocabulary) -> list[str]:
    left, longer = MOST_INSERTED, []
    for word in words:
        if left and random.random() < INSERTION:
            longer.append(vocabulary.any_word(random))
            left -= 1
        longer.append(word)
    return longer


def delete(random: Random, words: list[str]) -> list[str]:
    room = len(words) - FEWEST
    kept = []
    for word in words:
        if room > 0 and random.random() < DELETION and not is_fixed(word):
            room -= 1
        else:
            kept.append(word)
    return kept


def swap(random: Random, words: list[str]) -> list[str]:
    for place in range(len(words) - 1):
        if random.random() < SWAP:
            words[place], words[place + 1] = words[place + 1], words[place]
    return words


def duplicate(random: Random, words: list[str]) -> list[str]:
    room, longer = MOST - len(words), []
    for word in words:
        longer.append(word)
        if room > 0 and random.random() < DUPLICATION and not is_fixed(word):
            longer.append(word)
            room -= 1
    return longer


def is_fixed(word: str) -> bool:
    """A place that is filled from the case."""
    return "{{" in word
