"""One of everything for each owner, and the people who ask for it."""

from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils.timezone import now

from runs.models import (
    Configuration,
    Run,
    RunState,
    SavedView,
    Scope,
    Team,
    Webhook,
    WebhookDelivery,
)
from runs.roles import PERMISSIONS, Role
from runs.services.people.invitations import invite
from runs.services.people.tokens import create_token
from runs.services.prompts import save_prompt
from runs.services.schedules import save_schedule
from tests.harness.factories import (
    add_cached_reply,
    add_record,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)
from tests.roles.routes import Route
from tests.runs.benchmark_parts import make_benchmark

OWNERS = ("own", "foreign", "shared")
BODIES: dict[str, Any] = {
    "PATCH /runs/{int:run_id}/limits": {"max_concurrent": 3, "reason": "because"},
    "POST teams": {"name": "another"},
    "PATCH /teams/{name}": {"name": "third, renamed"},
    "POST team": {"do": "add", "person": "third"},
    "PATCH /datasets/{path:name}": {"archived": True},
    "PATCH /runs/{int:run_id}": {"tags": ["kept"]},
    "PATCH /prompts/{path:name}": {"shared": True},
    "PATCH /configurations/{path:name}": {"shared": True},
    "PUT /configuration-schedules/{path:name}": {"cron": "0 7 * * *"},
    "PATCH /configuration-schedules/{path:name}": {"on": False},
    "POST /prompts": {"name": "another", "content": {"user": "{{question}}"}},
    "POST /dataset-splits/{path:name}": {"parts": {"train": 0.5, "test": 0.5}},
}
ITSELF = "?base={run_id}&with={run_id}"
QUERIES = {
    "GET /compare": ITSELF,
    "GET compare": ITSELF,
    "POST compare_collect": ITSELF,
    "GET compare_trials": "?of={run_id}-0",
    "GET /dataset-changes/{path:name}": "?base=1",
}


class Stage(NamedTuple):
    """`arguments` of addresses, by whose things they are about."""

    arguments: dict[str, dict[str, Any]]
    document: dict[str, Any]

    def ask(
        self, client: Client, route: Route, whose: str, headers: dict[str, str] | None = None
    ) -> HttpResponse:
        body = BODIES.get(str(route), {})
        if str(route) == "PUT /configurations/{path:name}":
            name = arguments_for(route, self.arguments[whose])["name"]
            body = {**self.document, "name": name}
        return self.send(client, route, whose, body, headers)

    def send(
        self,
        client: Client,
        route: Route,
        whose: str,
        body: Any,
        headers: dict[str, str] | None = None,
    ) -> HttpResponse:
        arguments = arguments_for(route, self.arguments[whose])
        path = (route.path + QUERIES.get(str(route), "")).format(**arguments)
        options: dict[str, Any] = {"headers": headers or {}}
        if not route.is_safe:
            options["data"] = body
        if route.is_api and not route.is_safe:
            options["content_type"] = "application/json"
        answer: HttpResponse = getattr(client, route.method.lower())(path, **options)
        return answer


def different_roles() -> list[Role]:
    """One of those that may do the same stands for the others: every route is asked for each."""
    return list({PERMISSIONS[role]: role for role in reversed(Role)}.values())[::-1]


def arguments_for(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """`pk` and `name` are of what the first word of the path says."""
    kind = route.path.removeprefix("/api/v1").split("/")[1]
    own = {"pk": known.get(f"{kind}.pk", 0), "name": known.get(f"{kind}.name", "")}
    return {**known, **own}


def set_stage(actor: User | None) -> Stage:
    """Things of the actor, of somebody else, and of somebody else who shares."""
    other = make_person("other", role=Role.RUNNER)
    dataset = make_dataset(other)
    common = {
        "endpoints.pk": make_endpoint().pk,
        "endpoints.name": "simulated",
        "benchmark_id": make_benchmark().pk,
        "people.pk": make_person("third").pk,
        "people.name": "third",
        "position": 0,
        "candidate": 0,
        "case": 0,
        "file_name": "combinations.csv",
        "guide": "first-run",
        "token": "x",
        "role": "runner",
    }
    invitation = invite(make_person("inviter", staff=True), Role.VIEWER, 7).invitation
    common["invitations.pk"] = common["invitation_id"] = invitation.pk
    team = Team.objects.create(name="third team")
    common |= {"teams.pk": team.pk, "teams.name": team.name, "person": "third"}
    common["benchmarks.pk"] = common["benchmark_id"]
    owners = {"own": actor or other, "foreign": other, "shared": other}
    return Stage(
        {whose: common | things_of(owner, whose, dataset) for whose, owner in owners.items()},
        run_document(dataset),
    )


def things_of(owner: User, whose: str, dataset: Any) -> dict[str, Any]:
    run: Run = make_run(
        owner, dataset, state=RunState.RUNNING, ended=None, is_shared=whose == "shared"
    )
    add_record(
        add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0), {"steps": []}
    )
    stored = Configuration.objects.create(
        name=f"stored {whose}",
        kind="evaluate",
        owner=owner,
        document=run_document(dataset),
        is_shared=whose == "shared",
    )
    save_schedule(stored, owner, "30 6 * * *", "UTC", now())
    key = whose[0].ljust(64, "0")
    add_cached_reply(run, key, created=now())
    webhook = Webhook.objects.create(owner=owner, url="https://hook.example/")
    delivery = WebhookDelivery.objects.create(webhook=webhook, run=run)
    token = create_token(owner, whose, [Scope.READ]).token
    data = make_dataset(owner, f"data {whose}", share=whose == "shared")
    prompt = save_prompt(
        owner, f"prompt {whose}", {"user": "{{question}}"}, share=whose == "shared"
    )
    return {
        "prompts.pk": prompt.pk,
        "prompts.name": prompt.name,
        "datasets.pk": data.pk,
        "datasets.name": data.name,
        "dataset-reports.name": data.name,
        "dataset-changes.name": data.name,
        "dataset-splits.name": data.name,
        "run_id": run.pk,
        "key": key,
        "webhook_id": webhook.pk,
        "view_id": SavedView.objects.create(owner=owner, name=whose).pk,
        "delivery_id": delivery.pk,
        "tokens.pk": token.pk,
        "configurations.pk": stored.pk,
        "configurations.name": stored.name,
        "configuration-versions.name": stored.name,
        "configuration-trends.name": stored.name,
        "configuration-gates.name": stored.name,
        "configuration-schedules.name": stored.name,
    }


def same_browser(client: Client, **options: Any) -> Client:
    """A fresh client with the same session: one request may sign the other out."""
    copy = Client(**options)
    copy.cookies.load({name: cookie.value for name, cookie in client.cookies.items()})
    return copy


def make_actor(role: Role | None) -> User:
    return make_person("actor", role=role, staff=role == Role.ADMIN)


__all__ = ["OWNERS", "Stage", "client_of", "make_actor", "same_browser", "set_stage"]
