"""A model compares the facts of the answer with those of the expected answer."""

from typing import ClassVar, Literal

from pydantic import Field

from workers.engine.records import Case
from workers.engine.scorers.base import Ask, expected_of
from workers.engine.scorers.critics.base import CriticScorer, Opinion
from workers.engine.scorers.critics.brief import Brief, Text, texts_of_case
from workers.engine.scorers.critics.verdicts import Verdict, ask_judge
from workers.engine.spec.model_choice import ModelChoice

TASK = """\
Compare the facts in an answer with those in the expected answer, whatever their style and \
grammar. Choose one:
- subset: the answer gives some of the expected facts, and none against them.
- superset: it gives all of the expected facts and others besides, and none against them.
- same: it gives the same facts.
- disagrees: it says something against the expected facts.
- differs: it differs from the expected answer, but not in fact."""


class Comparison(Verdict):
    example: ClassVar[str] = '{"choice": "subset", "reason": "one sentence"}'
    form: ClassVar[str] = "The choice is subset, superset, same, disagrees or differs."

    choice: Literal["subset", "superset", "same", "disagrees", "differs"]


def worth(default: float, when: str) -> float:
    found: float = Field(default=default, ge=0, le=1, description=f"The value where {when}.")
    return found


class Factuality(CriticScorer):
    name: ClassVar[str] = "factuality"
    summary: ClassVar[str] = (
        "A model compares the facts of the answer with those of the expected answer."
    )
    needs_expected: ClassVar[bool] = True

    same: float = worth(1.0, "the answer gives the same facts")
    differs: float = worth(1.0, "it differs from the expected answer, but not in fact")
    superset: float = worth(0.6, "it gives all of the expected facts and more")
    subset: float = worth(0.4, "it gives only some of them")
    disagrees: float = worth(0.0, "it contradicts them")

    async def opinion(self, judge: ModelChoice, answer: str, case: Case, ask: Ask) -> Opinion:
        expected_of(case, self.own_name)
        texts = (*texts_of_case(case), Text("Answer", answer))
        brief = Brief(TASK, Comparison.example, Comparison.form, texts)
        found = await ask_judge(ask, judge, brief, Comparison)
        values = {
            "same": self.same,
            "differs": self.differs,
            "superset": self.superset,
            "subset": self.subset,
            "disagrees": self.disagrees,
        }
        return Opinion(values[found.choice], found.choice, found.reason)
