"""What makes children of parents: chance, or a model that writes. To add one: a class and a line
in OPERATORS."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from workers.engine.kinds.evolve.genomes import Genome, SectionGenome, WordGenome
from workers.engine.named import NamedChoice, Registry, WithOptions
from workers.engine.named.registry import subclass_of
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.spec.parts import NotSwitch


class Operator(WithOptions):
    weight: Annotated[float, Field(gt=0, le=1000), NotSwitch] = Field(
        1.0, description="How many of the children it makes, beside the weights of the others."
    )


class TextOperator(Operator):
    """Changes and crosses genomes by chance, without a model."""

    genome: ClassVar[type[Genome]]


class Words(TextOperator):
    summary: ClassVar[str] = "Crosses and changes prompts word by word, by chance."
    genome: ClassVar[type[Genome]] = WordGenome


class Sections(TextOperator):
    summary: ClassVar[str] = (
        "Crosses prompts section by section (role, tone, constraints, examples, format; in this "
        "order, with an empty line between), and changes words within."
    )
    genome: ClassVar[type[Genome]] = SectionGenome


class WritingOperator(Operator):
    """Asks a model for a prompt."""

    task: ClassVar[str]
    """What the model is told to do with the prompts below."""
    parents: ClassVar[int] = 1

    model: ModelChoice | None = Field(
        None,
        description="The model that writes, as endpoint/model. Empty: the one that the prompts "
        "are for.",
    )


class Reflect(WritingOperator):
    summary: ClassVar[str] = (
        "Shows a model some wrong answers of a prompt, with what was wrong, and asks for a better "
        "prompt."
    )
    task: ClassVar[str] = (
        "Below are a prompt, and questions that a model with this prompt answered wrongly, each "
        "with what was wrong. Reflect on what these mistakes have in common. Then improve the "
        "prompt, so that a model which follows it would not make them. Keep what works."
    )

    failures: Annotated[int, Field(ge=1, le=20), NotSwitch] = Field(
        4, description="Wrong answers that are shown at once: a writer sees the pattern in a few."
    )


class Combine(WritingOperator):
    summary: ClassVar[str] = "Asks a model for one prompt with the strengths of two."
    task: ClassVar[str] = "Combine the two prompts below into one that has the strengths of both."
    parents: ClassVar[int] = 2


class Rewrite(WritingOperator):
    summary: ClassVar[str] = "Asks a model to rewrite a prompt so that it works better."
    task: ClassVar[str] = (
        "Rewrite the prompt below so that a model which follows it answers better."
    )


class Paraphrase(WritingOperator):
    summary: ClassVar[str] = "Asks a model to say the same as a prompt in other words."
    task: ClassVar[str] = "Paraphrase the prompt below: say the same in other words."


def adopt(plugin: object) -> Any:
    return subclass_of(TextOperator)(plugin) or subclass_of(WritingOperator)(plugin)


OPERATORS: Registry[Operator] = Registry(
    "operator",
    {
        "words": Words,
        "sections": Sections,
        "reflect": Reflect,
        "combine": Combine,
        "rewrite": Rewrite,
        "paraphrase": Paraphrase,
    },
    adopt=adopt,
    example="{reflect: {model: simulated/sim-large}}",
)


class OperatorChoice(NamedChoice):
    """An operator by name, or with its options, as in {reflect: {model: simulated/sim-large}}."""

    registry: ClassVar[Registry[Any]] = OPERATORS

    @property
    def operator(self) -> Operator:
        """Ready for use. UnknownName of a plug-in that is not there."""
        made: Operator = OPERATORS.choose(self.name, self.options).options
        return made


class Writer(NamedTuple):
    """A writing operator, by the name that the configuration gives it."""

    name: str
    operator: WritingOperator


class Toolbox:
    """The operators of a run, and whose turn it is."""

    def __init__(self, choices: Sequence[OperatorChoice]) -> None:
        made = [(one.name, one.operator) for one in choices]
        self._texts = [one for _, one in made if isinstance(one, TextOperator)]
        self.writers = [Writer(name, one) for name, one in made if isinstance(one, WritingOperator)]

    @property
    def most_shown(self) -> int:
        """Wrong answers that a writer is shown at once; 0: none is."""
        reflecting = [one.operator for one in self.writers if isinstance(one.operator, Reflect)]
        return max((one.failures for one in reflecting), default=0)

    @property
    def genome(self) -> type[Genome]:
        """That of words, also where only models write: a writer may fail."""
        return self._texts[0].genome if self._texts else WordGenome

    def in_turn(self, children: int, born: int = 0) -> list[Writer | None]:
        """Who makes each of so many children, after so many that were born: a writer, or None for
        chance. All that were made until then have the shares of the weights, as nearly as can
        be, also where a generation has too few children for them."""
        makers: list[Writer | None] = [*self.writers]
        weights = [one.operator.weight for one in self.writers]
        if self._texts or not makers:
            makers.append(None)
            weights.append(sum(one.weight for one in self._texts) or 1.0)
        credit = [0.0] * len(makers)
        turns = []
        for _ in range(born + children):
            credit = [had + weight for had, weight in zip(credit, weights, strict=True)]
            place = max(range(len(makers)), key=credit.__getitem__)
            credit[place] -= sum(weights)
            turns.append(makers[place])
        return turns[born:]
