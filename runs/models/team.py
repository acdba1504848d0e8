"""Teams: people who see what is shared with their team."""

from typing import ClassVar

from django.contrib.auth.models import User
from django.db import models
from django.utils.timezone import now


class Team(models.Model):
    name = models.CharField(max_length=80, unique=True)
    created = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    team = models.ForeignKey(Team, models.CASCADE, related_name="members")
    person = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    added = models.DateTimeField(default=now)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["team", "person"], name="once_in_a_team")
        ]

    def __str__(self) -> str:
        return f"{self.person.get_username()} in {self.team.name}"
