"""The account that commands act for until a person has made one."""

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.db import transaction

from runs.models import AuditAction
from runs.roles import Role
from runs.selectors.people import NoAdministrator, find_person
from runs.services.audit import record

LOCAL_ACCOUNT = "local"


def person_for_command(name: str | None) -> User:
    """The one named, or the only administrator, or else a local operator: whoever may run commands
    on this machine can read the database anyway. NobodyFound says what to do."""
    try:
        return find_person(name)
    except NoAdministrator:
        return _local_operator()


@transaction.atomic
def _local_operator() -> User:
    """Without a password, so that nobody can sign in as it."""
    account, is_new = User.objects.get_or_create(
        username=LOCAL_ACCOUNT, defaults={"password": make_password(None)}
    )
    account.groups.add(Group.objects.get_or_create(name=Role.OPERATOR.value)[0])
    if is_new:
        record(AuditAction.PERSON_ADDED, account, "for commands; nobody can sign in with it")
    return account
