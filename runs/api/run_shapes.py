"""What the routes of runs take and answer."""

from datetime import datetime
from typing import Annotated

from django.contrib.auth.models import AbstractBaseUser
from pydantic import BaseModel, Field, SkipValidation

from runs.api.pages import Fields, Moment, PageQuery, Since
from runs.api.sharing_shapes import SharingChanges
from runs.models import RunState
from runs.selectors.runs.run_filters import RunFilters
from runs.services.organising import LONGEST_NOTE, MOST_TAGS
from workers.engine.spec.configuration import Configuration, Strict


class Applied(BaseModel):
    """`changed` is false when it was so already."""

    applied: bool = True
    changed: bool


class RunBody(Strict):
    """The name of a stored configuration, or a configuration itself."""

    # The engine reads it: its messages say what is allowed, and its schema is the one shown.
    configuration: Annotated[str, Field(max_length=120)] | SkipValidation[Configuration]


class Launched(BaseModel):
    id: int
    state: RunState


class RunsQuery(PageQuery):
    state: RunState | None = None
    kind: Annotated[str, Field(max_length=20)] = ""
    name: Annotated[str, Field(max_length=120, description="A part of the name.")] = ""
    since: Since | None = None
    owner: Annotated[str, Field(max_length=150, description="The name of an account.")] = ""
    endpoint: Annotated[str, Field(max_length=60, description="That they call or called.")] = ""
    tag: Annotated[str, Field(max_length=40)] = ""
    starred: Annotated[bool, Field(description="Only those that you starred.")] = False
    created_from: Annotated[Moment, Field(description="Launched then or later.")] | None = None
    created_until: Annotated[Moment, Field(description="Launched before.")] | None = None
    archived: Annotated[bool, Field(description="The archived and the deleted ones instead.")] = (
        False
    )
    fields: Fields = ""

    def filters_of(self, person: AbstractBaseUser) -> RunFilters:
        return RunFilters(
            state=self.state or "",
            kind=self.kind,
            owner=self.owner,
            endpoint=self.endpoint,
            tag=self.tag,
            since=self.created_from,
            until=self.created_until,
            starred_by=person.pk if self.starred else None,
        )


class RunQuery(BaseModel):
    fields: Fields = ""


class EstimateAnswer(BaseModel):
    """What a run would take. Nothing is started. `trials` and `calls_to_send` are at most: who
    chooses among combinations may need as few as `trials_low` and `calls_low`. `cases` are
    those taken of the dataset's `rows`; `expected` is the column that answers are compared with.
    `held_out` cases come beside those: the best is scored on them (of kind mutate, the trained
    policy and two simpler ones), in `confirming` trials more.
    `proposals`, at most, are those of the calls that ask a model for new candidates, and
    `proposals_cost` is their part of the cost. `judge_calls`, at most, and `judge_cost` are those
    of scorers that ask a model, apart from the others."""

    candidates: int
    cases: int
    rows: int
    expected: str
    repeats: int
    held_out: int
    confirming: int
    trials_low: int
    trials: int
    calls_cached: int
    calls_low: int
    calls_to_send: int
    proposals: int
    judge_calls: int
    max_concurrent: int | None
    seconds_low: float
    seconds_high: float
    limited_by: str
    cost: str
    proposals_cost: str
    judge_cost: str
    over_budget: list[str]
    basis: str


class RunChanges(SharingChanges):
    """What is not given stays. Of `shared` and `team` one takes the place of the other.
    `archived: false` also brings a deleted run back."""

    tags: (
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=40)]],
            Field(max_length=MOST_TAGS, description="These and no others."),
        ]
        | None
    ) = None
    note: Annotated[str, Field(max_length=LONGEST_NOTE)] | None = None
    archived: Annotated[bool, Field(strict=True)] | None = None


class DeleteRunQuery(BaseModel):
    dry_run: Annotated[bool, Field(description="Only say what would go.")] = False


class RunDeleted(Applied):
    """`removed` goes for good after `remove_after`; the cached answers that it paid for stay."""

    remove_after: datetime | None
    removed: dict[str, int]
    cached_answers_kept: int
