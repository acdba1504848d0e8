"""People: erasing an account with everything that was its own."""

from typing import Annotated

from django.http import HttpRequest
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import find_person_for
from runs.api.doors import caller, needs
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.models import Scope
from runs.roles import Permission
from runs.selectors.erasures import Erasure, obstacle_to_erasing_person, person_erasure
from runs.services.removing.archiving import InUseError
from runs.services.removing.erasing import erase_person

routes = Routes(tags=["People"])

PersonName = Annotated[str, Field(max_length=150, description="The name of an account.")]
DryRun = Annotated[bool, Field(description="Only count what would go.")]


class EraseQuery(BaseModel):
    dry_run: DryRun = False


class PersonErased(Applied):
    erasure: Erasure


@routes.delete(
    "/people/{name}",
    auth=needs(Scope.MANAGE, Permission.MANAGE_PEOPLE),
    response=PersonErased,
    summary="Erase a person",
)
def erase_account(request: HttpRequest, name: PersonName, query: Query[EraseQuery]) -> PersonErased:
    """The account with its private runs, datasets and configurations, tokens, webhooks and
    sessions, for administrators. What it shares is handed over to you. 409 while runs of it go on.
    It cannot be undone: ask with `dry_run` first."""
    account, heir = find_person_for(caller(request), name), caller(request)
    if not query.dry_run:
        return PersonErased(changed=True, erasure=erase_person(account, heir))
    if obstacle := obstacle_to_erasing_person(account, heir):
        raise InUseError(obstacle)
    return PersonErased(applied=False, changed=False, erasure=person_erasure(account))
