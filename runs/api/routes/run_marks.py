"""What people put on runs: tags, a note, a star; and taking runs out of lists, or away."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.api.routes.runs import RunId
from runs.models import Scope
from runs.selectors.runs.several import answers_kept, goes_along
from runs.services.organising import LONGEST_NOTE, MOST_TAGS, set_note, set_tags, star_run
from runs.services.removing.run_trash import archive_run, delete_run, restore_run
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Runs"])


class RunChanges(Strict):
    """What is not given stays. `archived: false` also brings a deleted run back."""

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


@routes.patch(
    "/runs/{int:run_id}",
    auth=needs(Scope.RUN),
    response=Applied,
    summary="Tag, note or archive a run",
)
def change_run(request: HttpRequest, run_id: RunId, body: RunChanges) -> Applied:
    """For its owner and operators. 409 for archiving a run that has not ended, and for bringing
    back one whose removal has begun."""
    user = caller(request)
    run = get_run_for(user, run_id, write=True)
    if body.tags is None and body.note is None and body.archived is None:
        raise refuse("", "Give tags, note or archived.")
    changed = False
    if body.tags is not None:
        changed |= set_tags(run, user, body.tags)
    if body.note is not None:
        changed |= set_note(run, user, body.note)
    if body.archived is not None:
        changed |= (archive_run if body.archived else restore_run)(run, user)
    return Applied(changed=changed)


@routes.put(
    "/runs/{int:run_id}/star", auth=needs(Scope.READ), response=Applied, summary="Star a run"
)
def star(request: HttpRequest, run_id: RunId) -> Applied:
    """For yourself: seeing the run is enough."""
    user = caller(request)
    return Applied(changed=star_run(get_run_for(user, run_id), user, is_starred=True))


@routes.delete(
    "/runs/{int:run_id}/star",
    auth=needs(Scope.READ),
    response=Applied,
    summary="Remove your star",
)
def unstar(request: HttpRequest, run_id: RunId) -> Applied:
    """Those of others stay."""
    user = caller(request)
    return Applied(changed=star_run(get_run_for(user, run_id), user, is_starred=False))


@routes.delete(
    "/runs/{int:run_id}", auth=needs(Scope.RUN), response=RunDeleted, summary="Delete a run"
)
def remove_run(request: HttpRequest, run_id: RunId, query: Query[DeleteRunQuery]) -> RunDeleted:
    """It leaves the lists at once, and is removed for good after some days (EVALSITE_TRASH_DAYS);
    until then `PATCH` with `archived: false` brings it back. 409 while it has not ended."""
    user = caller(request)
    run = get_run_for(user, run_id, write=True)
    along, kept = goes_along([run]), answers_kept([run])
    changed = False
    if not query.dry_run:
        changed = delete_run(run, user)
        run.refresh_from_db(fields=["remove_after"])
    return RunDeleted(
        applied=not query.dry_run,
        changed=changed,
        remove_after=run.remove_after,
        removed=along,
        cached_answers_kept=kept,
    )
