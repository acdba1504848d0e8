"""A promptfoo file as a configuration and a dataset."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel, Field

from runs.api.bodies import address_of
from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.router import Routes
from runs.models import Scope
from runs.roles import Permission
from runs.services.promptfoo import LONGEST_NAME, import_promptfoo, look_at_promptfoo
from workers.engine.errors import Problem
from workers.engine.spec.configuration import Strict
from workers.engine.spec.documents import MAX_BYTES

routes = Routes(tags=["Configurations"])


class PromptfooBody(Strict):
    text: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_BYTES, description="promptfooconfig.yaml, as YAML or JSON."
        ),
    ]
    name: Annotated[
        str,
        Field(
            max_length=LONGEST_NAME,
            description="Of the configuration and of the dataset. Empty: the file's description.",
        ),
    ] = ""
    dry_run: Annotated[
        bool, Field(strict=True, description="Only say what would become of it; nothing is stored.")
    ] = False


class NotUnderstood(BaseModel):
    path: str
    message: Annotated[str, Field(description="What was left out, and what to do instead.")]


class PromptfooAnswer(BaseModel):
    """`version` of the configuration and `dataset_version` are null where nothing was stored."""

    name: str
    version: int | None
    dataset_version: int | None
    rows: int
    not_understood: list[NotUnderstood]


@routes.post(
    "/promptfoo",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE, takes_work=True),
    response={200: PromptfooAnswer, 201: PromptfooAnswer},
    summary="Import a promptfoo file",
)
def add_promptfoo(request: HttpRequest, body: PromptfooBody) -> HttpResponse:
    """Its tests become a dataset, its prompts, providers and asserts a configuration of the same
    name. Files, addresses and code that it names are never read. 422 if nothing can be made of
    it."""
    if body.dry_run:
        looked = look_at_promptfoo(caller(request), body.text, body.name)
        rows, notes = len(looked.rows), told(looked.notes)
        found = PromptfooAnswer(
            name=looked.name, version=None, dataset_version=None, rows=rows, not_understood=notes
        )
        return answer(found.model_dump(), 200)
    stored = import_promptfoo(caller(request), body.text, body.name)
    made = PromptfooAnswer(
        name=stored.configuration.name,
        version=stored.configuration.version,
        dataset_version=stored.dataset.version,
        rows=stored.dataset.rows,
        not_understood=told(stored.notes),
    )
    where = address_of("configurations", stored.configuration.name)
    return answer(made.model_dump(), 201, Location=where)


def told(notes: list[Problem]) -> list[NotUnderstood]:
    return [NotUnderstood(path=note.path, message=note.message) for note in notes]
