"""The words that prompts are made of, and which of them may stand for each other."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from random import Random

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

NEIGHBOURS = 50  # that one word has at most
NEAR = 0.9  # how often a word is replaced by a neighbour instead of by any word

ALIKE = """
solve compute calculate work determine find evaluate
problem question task exercise puzzle
step steps stage part point
carefully precisely exactly accurately closely slowly thoroughly
first start begin initially
then next afterwards after
finally lastly last end
answer result solution value number
show explain describe write state give report say
check verify confirm review test prove
think reason consider reflect analyse plan
simple plain clear short brief concise direct
every each all
mistake error slip
careful exact precise thorough patient
teacher expert tutor mathematician assistant accountant
never not avoid without
always only must
before after while until
understand read study know
break split divide separate
known given needed wanted
operation sum product difference ratio
logic logical method approach way strategy
by with using through
one single
you your
a the
and or
"""


class Vocabulary:
    """All words of the first prompts, and some that instructions are written with."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._groups = [line.split() for line in ALIKE.strip().splitlines()]
        known = {word for text in texts for word in text if word.strip()}
        known.update(word for group in self._groups for word in group)
        self.words = sorted(known)  # a set has no order that a replay would repeat
        self._near: dict[str, list[str]] = {}

    @cached_property
    def _friends(self) -> dict[str, list[str]]:
        friends: dict[str, list[str]] = {}
        for group in self._groups:
            for word in group:
                friends.setdefault(word, []).extend(other for other in group if other != word)
        return friends

    def any_word(self, random: Random) -> str:
        return random.choice(self.words)

    def instead_of(self, word: str, random: Random) -> str:
        if random.random() < NEAR and (near := self.neighbours(word)):
            return random.choice(near)
        return self.any_word(random)

    def neighbours(self, word: str) -> list[str]:
        """Those that mean much the same where we know it; else those that look alike, which are
        mostly other forms of the word."""
        plain = word.strip(".,:;!?").lower()
        if plain not in self._near:
            alike = process.extract(plain, self.words, scorer=JaroWinkler.similarity, limit=10)
            looks = [found for found, nearness, _ in alike if nearness > 0.8 and found != word]
            self._near[plain] = [*self._friends.get(plain, []), *looks][:NEIGHBOURS]
        return self._near[plain]
