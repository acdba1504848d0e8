"""Asks the API as a script does: with a token, by path, in JSON."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from runs.models import Scope
from runs.services.people.tokens import create_token

ROOT = "/api/v1"
EVERYTHING = tuple(Scope.values)


class Asker:
    """One token."""

    def __init__(self, person: User, *scopes: str) -> None:
        self.text = create_token(person, "test", scopes or EVERYTHING).text
        self.client = Client(raise_request_exception=False)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> Any:
        given = {"content_type": "application/json", **options}
        if body is not None:
            given["data"] = body
        named = {"Authorization": f"Bearer {self.text}", **(headers or {})}
        return getattr(self.client, method)(ROOT + path, headers=named, **given)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(ROOT + path, query, headers={"Authorization": f"Bearer {self.text}"})

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return self.ask("post", path, body, **options)

    def patch(self, path: str, body: Any) -> Any:
        return self.ask("patch", path, body)
