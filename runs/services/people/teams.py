"""Makes teams, renames them and says who is in them. Access follows the rows: whoever leaves sees
nothing of the team from the next request on, and pages that are open are told to look again."""

from functools import partial

from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from runs.live import publish
from runs.models import AuditAction, Run, RunState, Team, TeamMember
from runs.roles import Permission, check_permission
from runs.services.audit import record

LONGEST_NAME = 80  # characters, as in the table
NAME_TAKEN = "There is a team of this name already. Choose another name."
NO_ACCOUNT = "There is no account of this name that may sign in."


@transaction.atomic
def create_team(admin: AbstractBaseUser, name: str) -> Team:
    """ValidationError names the field that is wrong."""
    check_permission(admin, Permission.MANAGE_PEOPLE)
    team = Team.objects.create(name=_free_name(name, Team.objects.all()))
    record(AuditAction.TEAM_MADE, team, actor=admin)
    return team


@transaction.atomic
def rename_team(admin: AbstractBaseUser, team: Team, name: str) -> bool:
    """Its members and what is shared with it stay. False if that was its name already.
    ValidationError names the field that is wrong."""
    check_permission(admin, Permission.MANAGE_PEOPLE)
    before, team.name = team.name, _free_name(name, Team.objects.exclude(pk=team.pk))
    if team.name == before:
        return False
    team.save(update_fields=["name"])
    record(AuditAction.TEAM_RENAMED, team, f"from {before} to {team.name}", actor=admin)
    return True


def _free_name(name: str, others: QuerySet[Team]) -> str:
    plain = name.strip()
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable() or "/" in plain:
        told = f"Give 1 to {LONGEST_NAME} printable characters, without /."
        raise ValidationError({"name": told})
    if others.filter(name__iexact=plain).exists():
        raise ValidationError({"name": NAME_TAKEN})
    return plain


@transaction.atomic
def remove_team(admin: AbstractBaseUser, team: Team) -> None:
    """What was shared with it is its owner's alone."""
    check_permission(admin, Permission.MANAGE_PEOPLE)
    _tell_open_pages(team)
    record(AuditAction.TEAM_REMOVED, team, actor=admin)
    team.delete()


@transaction.atomic
def add_member(admin: AbstractBaseUser, team: Team, username: str) -> bool:
    """False if they were in it already. ValidationError: nobody has this name."""
    check_permission(admin, Permission.MANAGE_PEOPLE)
    person = User.objects.filter(username=username.strip(), is_active=True).first()
    if person is None:
        raise ValidationError({"person": NO_ACCOUNT})
    _, is_new = TeamMember.objects.get_or_create(team=team, person=person)
    if is_new:
        record(AuditAction.TEAM_JOINED, team, person.get_username(), actor=admin)
    return is_new


@transaction.atomic
def remove_member(admin: AbstractBaseUser, team: Team, username: str) -> bool:
    """False if they were not in it."""
    check_permission(admin, Permission.MANAGE_PEOPLE)
    gone, _ = TeamMember.objects.filter(team=team, person__username=username.strip()).delete()
    if not gone:
        return False
    record(AuditAction.TEAM_LEFT, team, username.strip(), actor=admin)
    _tell_open_pages(team)
    return True


def _tell_open_pages(team: Team) -> None:
    """Their sockets ask again who may see the run: at once, not at their next check."""
    live = Run.objects.filter(team=team, state__in=RunState.live())
    for run_id in live.values_list("pk", flat=True):
        transaction.on_commit(partial(publish, run_id, always=True))
