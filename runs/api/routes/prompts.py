"""The prompt library: save versions, list, read, share and delete prompts."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import find_prompt_for, get_run_for, prompts_for, runs_for
from runs.api.bodies import address_of
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Page, PageQuery, answer
from runs.api.problems import of_problems
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.api.sharing_shapes import IsShared, SharedTeam, SharingChanges
from runs.models import Prompt, Scope
from runs.roles import Permission
from runs.selectors.api_lists import list_prompts
from runs.selectors.prompts import Origin, origin_in, origin_of, prompt_versions
from runs.services.people.sharing import share_prompt
from runs.services.prompts import delete_prompt, save_prompt
from workers.engine.errors import Problem
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Prompts"])

PromptName = Annotated[
    str, Field(max_length=140, description="A name, its newest version, or `name@3`.")
]
Content = Annotated[
    dict[str, Any],
    Field(
        description="As in a configuration: system and user, or messages; tools and tool_choice."
    ),
]


class PromptBody(Strict):
    name: Annotated[str, Field(min_length=1, max_length=120)]
    content: Annotated[
        Content | None,
        Field(description="The words. Instead of them, a run may be named that found some."),
    ] = None
    run: Annotated[
        int | None, Field(ge=1, description="A run whose candidate has the words to save.")
    ] = None
    candidate: Annotated[
        str,
        Field(max_length=64, description="Its key. Empty: the one that the run chose as best."),
    ] = ""
    note: Annotated[str, Field(max_length=300, description="What this version changes.")] = ""
    shared: Annotated[
        bool,
        Field(
            strict=True,
            description="Everybody on this site may see it, in all its versions. False: it stays "
            "as it is; a new one is private.",
        ),
    ] = False


class PromptRow(BaseModel):
    name: str
    version: int
    note: str
    owner: Annotated[str | None, Field(description="Who changes it, besides operators.")]
    shared: IsShared
    team: SharedTeam
    created: datetime


class PromptAnswer(PromptRow):
    content: Content
    run: Annotated[
        int | None, Field(description="The run that found these words, if you may see it.")
    ]
    candidate: Annotated[str | None, Field(description="The key of its candidate.")]
    versions: Annotated[list[int], Field(description="All that there are, the newest first.")]


class PromptChanges(SharingChanges):
    """Of all its versions."""


PROMPTS = ApiList("prompts", PromptRow, "name")


@routes.post(
    "/prompts",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE, takes_work=True),
    response={201: PromptAnswer},
    summary="Save a prompt",
)
def add_prompt(request: HttpRequest, body: PromptBody) -> HttpResponse:
    """The content becomes the next version of the name; the same words again give the version that
    there is. 409 if the name is somebody else's. With `run` the words are those of a candidate of
    it, by default of the one that it chose as best; the prompt then says where it was found."""
    origin = origin_named(request, body)
    content = origin.content if origin else body.content
    saved = save_prompt(
        caller(request), body.name, content, body.note, share=body.shared, origin=origin
    )
    where = address_of("prompts", f"{saved.name}@{saved.version}")
    return answer(prompt_answer(request, saved).model_dump(), 201, Location=where)


@routes.get("/prompts", auth=needs(Scope.READ), response=Page[PromptRow], summary="List prompts")
def list_all_prompts(request: HttpRequest, query: Query[PageQuery]) -> HttpResponse:
    """The newest version of each of yours and of the shared ones, by name; for operators of all."""
    visible = prompts_for(caller(request))
    found = list_prompts(visible, query.limit + 1, PROMPTS.place(query.cursor))
    return PROMPTS.page([PromptRow(**row_of(prompt)) for prompt in found], query)


@routes.get(
    "/prompts/{path:name}", auth=needs(Scope.READ), response=PromptAnswer, summary="Show a prompt"
)
def show_prompt(request: HttpRequest, name: PromptName) -> PromptAnswer:
    """One version, with its content."""
    return prompt_answer(request, find_prompt_for(caller(request), name))


@routes.patch(
    "/prompts/{path:name}",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE, takes_work=True),
    response=Applied,
    summary="Share a prompt",
)
def change_prompt(request: HttpRequest, name: PromptName, body: PromptChanges) -> Applied:
    """All its versions, for its owner and operators. Runs of others keep what they froze."""
    found = find_prompt_for(caller(request), name, write=True)
    asked = body.asked_by(caller(request))
    return Applied(changed=share_prompt(found, caller(request), **asked._asdict()))


@routes.delete(
    "/prompts/{path:name}",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE),
    response=Applied,
    summary="Delete a prompt",
)
def remove_prompt(request: HttpRequest, name: PromptName) -> Applied:
    """All its versions, for its owner and operators. Runs keep what they froze; a configuration
    that names it is refused at its next launch."""
    delete_prompt(find_prompt_for(caller(request), name, write=True), caller(request))
    return Applied(changed=True)


def origin_named(request: HttpRequest, body: PromptBody) -> Origin | None:
    if (body.run is None) == (body.content is None):
        told = "Give either content, or a run that found the words."
        raise of_problems([Problem("content", told)])
    if body.run is None:
        return None
    found = origin_in(get_run_for(caller(request), body.run), body.candidate)
    if found is None:
        told = "It has no candidate of this key with a prompt of its own, or chose none yet."
        raise of_problems([Problem("candidate", told)])
    return found


def prompt_answer(request: HttpRequest, prompt: Prompt) -> PromptAnswer:
    versions = prompt_versions(prompts_for(caller(request)), prompt)
    origin = origin_of(prompt, runs_for(caller(request)))
    return PromptAnswer(
        **row_of(prompt),
        content=prompt.content,
        run=origin.run.pk if origin else None,
        candidate=origin.key if origin else None,
        versions=[one.version for one in versions],
    )


def row_of(prompt: Prompt) -> dict[str, Any]:
    return {
        "name": prompt.name,
        "version": prompt.version,
        "note": prompt.note,
        "owner": prompt.owner.get_username() if prompt.owner else None,
        "shared": prompt.is_shared,
        "team": prompt.team.name if prompt.team else None,
        "created": prompt.created,
    }
