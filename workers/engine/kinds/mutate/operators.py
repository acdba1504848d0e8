"""How a query is rewritten: a model is asked, or chance does it. To add one: a class and a line in
OPERATORS. All are neutral: each keeps what is asked, and changes how it is asked."""

import re
from abc import abstractmethod
from random import Random
from typing import Annotated, Any, ClassVar

from pydantic import Field

from workers.engine.named import NamedChoice, Registry, WithOptions
from workers.engine.named.registry import subclass_of
from workers.engine.spec.parts import NotSwitch

_long_word = re.compile(r"[^\W\d_]{4,}")


class Operator(WithOptions):
    asks: ClassVar[bool] = True
    """Whether it needs the model of the role mutator."""


class WritingOperator(Operator):
    """Asks the mutator."""

    task: ClassVar[str]
    """What the mutator is told to do with the query."""


class LocalOperator(Operator):
    """Needs no model."""

    asks: ClassVar[bool] = False

    @abstractmethod
    def rewrite(self, query: str, random: Random) -> str:
        """The generator is seeded by the run's seed and the query: the same query becomes the same
        text."""


class Paraphrase(WritingOperator):
    summary: ClassVar[str] = "Says the same in other words."
    task: ClassVar[str] = "Paraphrase the query: say the same in other words."


class AddPoliteness(WritingOperator):
    summary: ClassVar[str] = "Asks more politely."
    task: ClassVar[str] = "Make the query more polite, and change nothing else."


class SynonymReplace(WritingOperator):
    summary: ClassVar[str] = "Replaces some words by synonyms."
    task: ClassVar[str] = "Replace some words of the query by synonyms. Keep its structure."


class Shorten(WritingOperator):
    summary: ClassVar[str] = "Asks the same in fewer words."
    task: ClassVar[str] = "Shorten the query: ask the same in as few words as possible."


class PassiveVoice(WritingOperator):
    summary: ClassVar[str] = "Puts the query into the passive voice."
    task: ClassVar[str] = "Rewrite the query in the passive voice."


class ChangePerspective(WritingOperator):
    summary: ClassVar[str] = "Lets somebody else ask, as in “A friend wants to know …”."
    task: ClassVar[str] = "Change the perspective of the query: let somebody else ask it."


class MakeIndirect(WritingOperator):
    summary: ClassVar[str] = "Turns a question into an indirect one, as in “I wonder …”."
    task: ClassVar[str] = "Make the query indirect: wonder about it instead of asking outright."


class AddContext(WritingOperator):
    summary: ClassVar[str] = "Adds a sentence of harmless context."
    task: ClassVar[str] = (
        "Add one sentence of harmless context before the query, which changes nothing about what "
        "is asked."
    )


class AddJustification(WritingOperator):
    summary: ClassVar[str] = "Adds why somebody wants to know."
    task: ClassVar[str] = "Add to the query, in one clause, why somebody may want to know."


class TypoNoise(LocalOperator):
    """Swaps two letters inside some words. Numbers and short words stay as they are."""

    rate: Annotated[float, Field(gt=0, le=1), NotSwitch] = Field(
        0.3, description="The share of words with four letters or more that get a typo."
    )

    def rewrite(self, query: str, random: Random) -> str:
        def swap(found: re.Match[str]) -> str:
            word = found.group()
            if random.random() >= self.rate:
                return word
            place = random.randrange(1, len(word) - 2)
            return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

        return _long_word.sub(swap, query)


class Noop(LocalOperator):
    """Leaves the query as it is. Costs no call of the mutator."""

    def rewrite(self, query: str, random: Random) -> str:
        return query


def adopt(plugin: object) -> Any:
    return subclass_of(WritingOperator)(plugin) or subclass_of(LocalOperator)(plugin)


OPERATORS: Registry[Operator] = Registry(
    "rewriting operator",
    {
        "noop": Noop,
        "paraphrase": Paraphrase,
        "add_politeness": AddPoliteness,
        "make_indirect": MakeIndirect,
        "synonym_replace": SynonymReplace,
        "shorten": Shorten,
        "passive_voice": PassiveVoice,
        "change_perspective": ChangePerspective,
        "add_context": AddContext,
        "add_justification": AddJustification,
        "typo_noise": TypoNoise,
    },
    adopt=adopt,
    example="{typo_noise: {rate: 0.2}}",
)
USUAL = (
    "noop",
    "paraphrase",
    "add_politeness",
    "make_indirect",
    "synonym_replace",
    "shorten",
    "passive_voice",
)


class OperatorChoice(NamedChoice):
    """A rewriting operator by name, or with its options, as in {typo_noise: {rate: 0.2}}."""

    registry: ClassVar[Registry[Any]] = OPERATORS

    @property
    def operator(self) -> Operator:
        """Ready for use. UnknownName of a plug-in that is not there."""
        made: Operator = OPERATORS.choose(self.name, self.options).options
        return made

    @property
    def asks(self) -> bool:
        """Whether it needs a mutator. Nobody knows of a plug-in that is not there."""
        return self.name in OPERATORS and OPERATORS[self.name].asks
