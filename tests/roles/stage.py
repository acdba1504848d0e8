"""One of everything for each owner, and the people who ask for it."""

import re
from copy import copy
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils.timezone import now

from runs.models import Configuration, RunState, SavedView, Scope, Team, Webhook, WebhookDelivery
from runs.roles import Role
from runs.services.people.invitations import invite
from runs.services.people.tokens import create_token
from runs.services.prompts import save_prompt
from runs.services.schedules import save_schedule
from tests.harness import factories
from tests.roles.test_routes import Route
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
QUERIES = dict.fromkeys(("GET /compare", "GET compare", "POST compare_collect"), ITSELF)
QUERIES |= {"GET compare_trials": "?of={run_id}-0", "GET /dataset-changes/{path:name}": "?base=1"}


class Stage(NamedTuple):
    """`arguments` of addresses, by whose things they are about."""

    arguments: dict[str, dict[str, Any]]
    document: dict[str, Any]

    def ask(self, client: Client, route: Route, whose: str, **headers: str) -> HttpResponse:
        body = BODIES.get(str(route), {})
        if str(route) == "PUT /configurations/{path:name}":
            name = arguments_for(route, self.arguments[whose])["name"]
            body = {**self.document, "name": name}
        return self.send(client, route, whose, body, **headers)

    def send(
        self, client: Client, route: Route, whose: str, body: Any, **headers: str
    ) -> HttpResponse:
        """The client keeps the cookies it had: one request may sign the next one out."""
        arguments = arguments_for(route, self.arguments[whose])
        path = (route.path + QUERIES.get(str(route), "")).format(**arguments)
        options: dict[str, Any] = {"headers": headers}
        if not route.is_safe:
            options["data"] = body
        if route.is_api and not route.is_safe:
            options["content_type"] = "application/json"
        cookies = copy(client.cookies)
        answer: HttpResponse = getattr(client, route.method.lower())(path, **options)
        client.cookies = cookies
        return answer


def arguments_for(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """`pk` and `name` are of what the first word of the path says."""
    word = route.path.removeprefix("/api/v1").split("/")[1]
    kind = re.sub(r"-\w+$", "s", word)
    own = {"pk": known.get(f"{kind}.pk", 0), "name": known.get(f"{kind}.name", "")}
    return {**known, **own}


def names_of(**things: Any) -> dict[str, Any]:
    """As the addresses of their pages and of the API have them."""
    keys = {f"{kind}.pk": one.pk for kind, one in things.items()}
    named = {f"{kind}.name": getattr(one, "name", "third") for kind, one in things.items()}
    return keys | named


def set_stage(actor: User | None) -> Stage:
    """Things of the actor, of somebody else, and of somebody else who shares."""
    other = factories.make_person("other", role=Role.RUNNER)
    dataset, benchmark = factories.make_dataset(other), make_benchmark()
    third, team = factories.make_person("third"), Team.objects.create(name="third team")
    invitation = invite(factories.make_person("inviter", staff=True), Role.VIEWER, 7).invitation
    endpoint = factories.make_endpoint()
    common = names_of(endpoints=endpoint, people=third, teams=team, benchmarks=benchmark)
    common |= {"benchmark_id": benchmark.pk, "person": "third", "position": 0, "candidate": 0}
    common |= {"file_name": "combinations.csv", "guide": "first-run", "token": "x", "case": 0}
    common |= {"role": "runner", "invitations.pk": invitation.pk, "invitation_id": invitation.pk}
    owners = {"own": actor or other, "foreign": other, "shared": other}
    things = {whose: things_of(owner, whose, dataset) for whose, owner in owners.items()}
    arguments = {whose: common | theirs for whose, theirs in things.items()}
    return Stage(arguments, factories.run_document(dataset))


def things_of(owner: User, whose: str, dataset: Any) -> dict[str, Any]:
    shares = whose == "shared"
    run = factories.make_run(owner, dataset, state=RunState.RUNNING, ended=None, is_shared=shares)
    score = factories.add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0)
    factories.add_record(score, {"steps": []})
    fields = {"kind": "evaluate", "document": factories.run_document(dataset), "is_shared": shares}
    stored = Configuration.objects.create(name=f"stored {whose}", owner=owner, **fields)
    save_schedule(stored, owner, "30 6 * * *", "UTC", now())
    key = whose[0].ljust(64, "0")
    factories.add_cached_reply(run, key, created=now())
    webhook = Webhook.objects.create(owner=owner, url="https://hook.example/")
    delivery = WebhookDelivery.objects.create(webhook=webhook, run=run)
    view = SavedView.objects.create(owner=owner, name=whose)
    token = create_token(owner, whose, [Scope.READ]).token
    data = factories.make_dataset(owner, f"data {whose}", share=shares)
    prompt = save_prompt(owner, f"prompt {whose}", {"user": "{{question}}"}, share=shares)
    named = names_of(configurations=stored, datasets=data, prompts=prompt, tokens=token)
    ids = {"run_id": run.pk, "webhook_id": webhook.pk, "delivery_id": delivery.pk}
    return {**named, **ids, "view_id": view.pk, "key": key}


def token_of(person: User) -> dict[str, str]:
    """The header of one with all scopes."""
    return {"Authorization": f"Bearer {create_token(person, 'all', list(Scope)).text}"}


def make_actor(role: Role | None) -> User:
    return factories.make_person("actor", role=role, staff=role == Role.ADMIN)
