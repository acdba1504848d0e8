"""On whose behalf a command acts."""

from django.contrib.auth.models import User


class NobodyFound(LookupError):
    """There is no such person, or nobody said which one. Says what to do."""


class NoAdministrator(NobodyFound):
    """Nobody was named, and there is no administrator to act for."""


def find_person(name: str | None) -> User:
    """The one named, or else the only administrator."""
    people = User.objects.filter(is_active=True)
    if name:
        found = people.filter(username=name).first()
        if found is None:
            raise NobodyFound(f"There is no active account {name!r}. Give --user an existing one.")
        return found
    administrators = list(people.filter(is_superuser=True).order_by("pk")[:2])
    if len(administrators) == 1:
        return administrators[0]
    if administrators:
        raise NobodyFound("There are several administrators: say for whom with --user NAME.")
    raise NoAdministrator("There is no administrator yet. Say for whom with --user NAME.")
