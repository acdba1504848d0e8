"""The tokens page."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from runs.models import ApiToken, Scope

MOST_LISTED = 200


class TokenRow(NamedTuple):
    token: ApiToken
    scopes: list[str]
    state: str  # active, expired or revoked


def list_tokens(tokens: QuerySet[ApiToken]) -> list[TokenRow]:
    """The usable ones first."""
    now = timezone.now()
    rows = [
        TokenRow(token, [Scope(name).value for name in token.scopes], state_of(token, now))
        for token in tokens.order_by("-pk")[:MOST_LISTED]
    ]
    return sorted(rows, key=lambda row: row.state != "active")


def active_tokens(tokens: QuerySet[ApiToken]) -> list[ApiToken]:
    return [row.token for row in list_tokens(tokens) if row.state == "active"]


def state_of(token: ApiToken, now: datetime) -> str:
    if token.revoked is not None:
        return "revoked"
    return "active" if token.is_valid_at(now) else "expired"
