"""Each action of the audit table: how it is done, through which door, and what its row says."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from runs.models import (
    AuditAction,
    AuditDoor,
    Configuration,
    Run,
    RunState,
    SavedView,
    Scope,
    Score,
    Team,
    Webhook,
    WebhookDelivery,
)
from runs.roles import Role
from runs.selectors.cache_page import Pruning
from runs.selectors.endpoints.permit_state import open_redis
from runs.services import prompts
from runs.services.cache import prune_cache
from runs.services.people.accounts import make_setup_link
from runs.services.people.invitations import invite
from runs.services.people.tokens import create_token
from runs.services.removing.rules import remove_old_samples
from tests.harness.factories import (
    PASSWORD,
    add_cached_reply,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_person_with_password,
    make_run,
    run_document,
)

KEY = "sk-canary-0123456789abcdef"
HOOK = "https://hooks.example/services/T0/canary-path"
PATH = re.compile(r"T0/canary")


def removed_answer(run: Run) -> datetime:
    """One that can be brought back until then."""
    add_cached_reply(run, "a" * 64)
    removed = prune_cache(Pruning(run_id=run.pk)).remove_after
    assert removed is not None
    return removed


class Stage:
    """An administrator, a run with a failed trial, and the doors."""

    def __init__(self) -> None:
        self.ada = make_person("ada", staff=True, role=Role.ADMIN)
        User.objects.update(is_superuser=True)  # Django's own part of the admin asks for it
        self.bob = make_person("bob")
        self.endpoint = make_endpoint()
        self.dataset = make_dataset(self.ada)
        self.run = make_run(self.ada, self.dataset, state=RunState.RUNNING, ended=None)
        self.page = client_of(self.ada)
        token = create_token(self.ada, "script", list(Scope))
        self.token = token.token
        self.headers = {"Authorization": f"Bearer {token.text}"}
        self.secrets = [token.text, KEY, PASSWORD]

    def post(self, view: str, *args: Any, **data: Any) -> Any:
        return self.page.post(reverse(view, args=args), data)

    def api(self, method: str, path: str, data: Any = None) -> Any:
        options = {"content_type": "application/json", "headers": self.headers}
        ask = getattr(Client(), method)
        return (
            ask(f"/api/v1{path}", **options)
            if data is None
            else ask(f"/api/v1{path}", data, **options)
        )

    def endpoint_form(self, **changes: Any) -> dict[str, Any]:
        stored = {"name": self.endpoint.name, "kind": self.endpoint.kind, "max_concurrent": 20}
        return {**stored, "model_names": "sim-small\nsim-large", "prices": "", **changes}

    def add_wrong_score(self) -> Score:
        case, candidate = self.dataset.cases.get(position=0), self.run.candidates.get()
        return add_score(self.run, case, candidate, 0, value=0.0, passed=False)

    def hold(self, state: RunState) -> None:
        Run.objects.filter(pk=self.run.pk).update(state=state)


def run_once(stage: Stage) -> dict[str, Any]:
    """Nobody listens where the simulated provider would: one attempt is enough to know."""
    return run_document(stage.dataset, limits={"attempts": 1})


def rerun_wrong(stage: Stage) -> None:
    score = stage.add_wrong_score()
    Run.objects.filter(pk=stage.run.pk).update(state=RunState.COMPLETED)
    stage.api("post", f"/runs/{stage.run.pk}/rerun", {"trials": [score.position]})


def override(stage: Stage) -> None:
    position = stage.add_wrong_score().position
    stage.api("post", f"/runs/{stage.run.pk}/trials/{position}/overrides", {"verdict": "right"})


def save_prompt(stage: Stage) -> int:
    return int(prompts.save_prompt(stage.ada, "triage", {"user": "{{question}}"}).pk)


def share_prompt(stage: Stage, *, times: int = 1) -> None:
    key = save_prompt(stage)
    for share in ("yes", "no")[:times]:
        stage.post("prompt_share", key, share=share)


def remove_prompt(stage: Stage) -> None:
    stage.post("prompt_remove", save_prompt(stage), typed="triage")


def unshare_dataset(stage: Stage) -> None:
    stage.api("patch", "/datasets/sums", {"shared": True})
    stage.api("patch", "/datasets/sums", {"shared": False})


def sign_in(stage: Stage, password: str) -> None:
    make_person_with_password("eve")
    Client().post(reverse("sign_in"), {"username": "eve", "password": password})


def set_key(stage: Stage, key: str = KEY) -> None:
    stage.post("endpoint", stage.endpoint.pk, **stage.endpoint_form(new_key=key))


def remove_key(stage: Stage) -> None:
    set_key(stage)
    stage.api("patch", "/endpoints/simulated", {"api_key": ""})


def restore(kind: str) -> Callable[[Stage], object]:
    def act(stage: Stage) -> None:
        thing = getattr(stage, kind)
        stage.post(f"{kind}_remove", thing.pk, action="archive")
        stage.post(f"{kind}_restore", thing.pk)

    return act


def archive(kind: str) -> Callable[[Stage], object]:
    return lambda s: s.post(f"{kind}_remove", getattr(s, kind).pk, action="archive")


def remove_endpoint(stage: Stage, *, for_good: bool = False) -> None:
    other = make_endpoint("other")
    for action in ("delete", "remove")[: 1 + for_good]:
        stage.post("endpoint_remove", other.pk, action=action, typed="other")


def remove_dataset(stage: Stage, *, for_good: bool = False) -> None:
    other = make_dataset(stage.ada, "old")
    for action in ("delete", "remove")[: 1 + for_good]:
        stage.post("dataset_remove", other.pk, action=action, typed="old")


def remove_samples(stage: Stage) -> None:
    stage.hold(RunState.COMPLETED)
    Run.objects.update(ended=now() - timedelta(days=2))
    stage.run.samples.create(second=1)
    remove_old_samples(1)


def retry(stage: Stage) -> None:
    stage.run.chunks.create(start=0, trials=[[0, 0, 0, 0]], state="done")
    case, candidate = stage.dataset.cases.get(position=0), stage.run.candidates.get()
    add_score(stage.run, case, candidate, 0, error_class="timeout")
    Run.objects.update(done=1, failed=1)
    stage.run.candidates.update(done=1, failed=1)
    stage.post("run_retry", stage.run.pk)


def try_again(stage: Stage) -> None:
    with open_redis() as shared:  # as workers leave it after many failures
        shared.hset(f"permits:state:endpoint:{stage.endpoint.pk}/sim-small", "rest", "5")
    stage.post("endpoint_reset", stage.endpoint.pk)


def unshare(stage: Stage) -> None:
    stage.post("run_share", stage.run.pk, share="yes")
    stage.post("run_share", stage.run.pk, share="no")


def put_away(stage: Stage, do: str) -> None:
    stage.hold(RunState.COMPLETED)
    stage.post("runs_several", do=do, run=[stage.run.pk])


def bring_back(stage: Stage) -> None:
    put_away(stage, "delete")
    stage.api("patch", f"/runs/{stage.run.pk}", {"archived": False})


def resume(stage: Stage) -> None:
    stage.hold(RunState.PAUSED)
    stage.api("post", f"/runs/{stage.run.pk}/resume")


def configuration(stage: Stage) -> Configuration:
    return Configuration.objects.create(
        name="kept", kind="evaluate", owner=stage.ada, document=run_document(stage.dataset)
    )


def remove_configuration(stage: Stage) -> None:
    stored = configuration(stage)
    address = reverse("admin:runs_configuration_delete", args=[stored.pk])
    stage.page.post(address, {"post": "yes"})


def restore_configuration(stage: Stage) -> None:
    configuration(stage)
    stage.api("delete", "/configurations/kept")
    stage.api("patch", "/configurations/kept", {"archived": False})


def change_configuration(change: str, body: Any, method: str = "patch") -> Callable[[Stage], Any]:
    """Of /configurations, /configuration-gates or -schedules."""

    def act(stage: Stage) -> None:
        configuration(stage)
        stage.api(method, f"/{change}/kept", body)

    return act


def unshare_configuration(stage: Stage) -> None:
    key = configuration(stage).pk
    stage.post("configuration_share", key, share="yes")
    stage.post("configuration_share", key, share="no")


def change_schedule(do: str) -> Callable[[Stage], object]:
    def act(stage: Stage) -> None:
        key = configuration(stage).pk
        stage.post("configuration_schedule", key, cron="30 6 * * *", time_zone="UTC")
        stage.post("configuration_schedule_change", key, do=do)

    return act


def offer_preset(stage: Stage) -> None:
    chosen = {"action": "offer_as_preset", "_selected_action": configuration(stage).pk}
    stage.page.post(reverse("admin:runs_configuration_changelist"), chosen)


def remove_old_runs(stage: Stage) -> None:
    make_run(stage.ada, stage.dataset, ended=now() - timedelta(days=90))
    call_command("prune_runs", older_than_days=30, yes=True, verbosity=0)


def set_up(stage: Stage) -> None:
    User.objects.update(password=make_password(None))  # nobody can sign in, so there is a set-up
    chosen = {"username": "root", "password": PASSWORD, "password_again": PASSWORD}
    Client().post(make_setup_link(), chosen)


def add_webhook(stage: Stage) -> None:
    assert stage.api("post", "/webhooks", {"url": HOOK}).status_code == 201


def remove_webhook(stage: Stage) -> None:
    made = Webhook.objects.create(owner=stage.ada, url=HOOK)
    stage.api("delete", f"/webhooks/{made.pk}")


def come_by_invitation(stage: Stage) -> None:
    link = invite(stage.ada, Role.VIEWER, 7, "Eve")
    chosen = {"username": "eve", "password": PASSWORD, "password_again": PASSWORD}
    Client().post(link.path, chosen)
    stage.secrets.append(link.path.split("/")[2])


def take_back_invitation(stage: Stage) -> None:
    made = invite(stage.ada, Role.VIEWER, 7, "Eve").invitation
    stage.api("delete", f"/invitations/{made.pk}")


def team(stage: Stage) -> Team:
    return Team.objects.get_or_create(name="research")[0]


def send_again(stage: Stage) -> None:
    made = Webhook.objects.create(owner=stage.ada, url=HOOK)
    sent = WebhookDelivery.objects.create(webhook=made, run=stage.run)
    stage.post("delivery_again", sent.pk)


def change_password(stage: Stage) -> None:
    new = "seven slow snails racing"
    chosen = {"old_password": PASSWORD, "password": new, "password_again": new}
    client_of(make_person_with_password("eve")).post(reverse("password"), chosen)
    stage.secrets.append(new)


ENDS = {"door": AuditDoor.PAGE, "actor": "ada", "address": "127.0.0.1"}
SCRIPT = {"door": AuditDoor.API, "actor": "ada", "address": "127.0.0.1"}
SHELL = {"door": AuditDoor.COMMAND, "actor_id": None, "address": ""}
ADMIN = {"door": AuditDoor.ADMIN, "actor": "ada"}
DOORS: dict[AuditAction, tuple[Callable[[Stage], object], dict[str, Any]]] = {
    AuditAction.SIGN_IN: (lambda s: sign_in(s, PASSWORD), ENDS | {"actor": "eve"}),
    AuditAction.SIGN_IN_FAILED: (
        lambda s: sign_in(s, "no"),
        ENDS | {"actor": "", "subject": "eve"},
    ),
    AuditAction.PASSWORD_CHANGED: (
        change_password,
        ENDS | {"actor": "eve", "subject": "eve", "detail": "knowing the old one"},
    ),
    AuditAction.PASSWORD_LINK_MADE: (
        lambda s: s.post("person_password", s.bob.pk),
        ENDS | {"subject": "bob"},
    ),
    AuditAction.PROFILE_CHANGED: (
        lambda s: s.post("profile", theme="dark", time_zone="UTC"),
        ENDS | {"subject": "ada", "detail": "theme dark, time zone UTC"},
    ),
    AuditAction.SIGN_OUT: (lambda s: s.post("sign_out"), ENDS),
    AuditAction.DENIED: (
        lambda s: client_of(s.bob).get(reverse("run", args=[s.run.pk])),
        ENDS | {"actor": "bob", "detail": "GET, 404"},
    ),
    AuditAction.KEY_SET: (set_key, ENDS | {"subject": "simulated"}),
    AuditAction.KEY_REMOVED: (remove_key, SCRIPT | {"subject": "simulated"}),
    AuditAction.KEYS_ROTATED: (lambda s: call_command("rotate_keys", verbosity=0), SHELL),
    AuditAction.ENDPOINT_ADDED: (
        lambda s: s.post("endpoint_new", **s.endpoint_form(name="second")),
        ENDS | {"subject": "second"},
    ),
    AuditAction.ENDPOINT_CHANGED: (
        lambda s: s.post("endpoint", s.endpoint.pk, **s.endpoint_form(max_concurrent=7)),
        ENDS | {"detail": "max_concurrent, adaptive"},
    ),
    AuditAction.ENDPOINT_DELETED: (remove_endpoint, ENDS | {"subject": "other"}),
    AuditAction.ENDPOINT_REMOVED: (
        lambda s: remove_endpoint(s, for_good=True),
        ENDS | {"subject": "other"},
    ),
    AuditAction.ENDPOINT_ARCHIVED: (archive("endpoint"), ENDS),
    AuditAction.ENDPOINT_RESTORED: (restore("endpoint"), ENDS),
    AuditAction.ENDPOINT_PAUSED: (lambda s: s.post("endpoint_pause", s.endpoint.pk), ENDS),
    AuditAction.ENDPOINT_RESUMED: (
        lambda s: (
            s.post("endpoint_pause", s.endpoint.pk),
            s.post("endpoint_resume", s.endpoint.pk),
        ),
        ENDS,
    ),
    AuditAction.MAINTENANCE_BEGUN: (
        lambda s: s.post("maintenance", reason="a new disk"),
        ENDS | {"subject_kind": "site", "detail": "a new disk"},
    ),
    AuditAction.MAINTENANCE_ENDED: (
        lambda s: (s.post("maintenance"), s.post("maintenance", do="end")),
        ENDS | {"subject_kind": "site"},
    ),
    AuditAction.ENDPOINT_PROMPTED: (
        lambda s: s.post("endpoint_try", s.endpoint.pk, model="sim-small", prompt="Hello"),
        ENDS | {"detail": "sim-small"},
    ),
    AuditAction.RETENTION_CHANGED: (
        lambda s: s.post("retention", run_days=90),
        ENDS | {"subject_kind": "site", "detail": "run_days 90"},
    ),
    AuditAction.SAMPLES_REMOVED: (remove_samples, {"door": AuditDoor.SITE, "subject_kind": "run"}),
    AuditAction.ENDPOINT_TRIED_AGAIN: (try_again, ENDS),
    AuditAction.RUN_TRIED: (
        lambda s: s.api("post", "/runs/dry", {"configuration": run_once(s)}),
        SCRIPT | {"detail": "3 trials of kind evaluate"},
    ),
    AuditAction.RUN_LAUNCHED: (
        lambda s: s.api("post", "/runs", {"configuration": run_document(s.dataset)}),
        SCRIPT | {"detail": "3 trials on sums v1"},
    ),
    AuditAction.RUN_CANCELLED: (lambda s: s.post("run_cancel", s.run.pk), ENDS),
    AuditAction.RUN_PAUSED: (lambda s: s.api("post", f"/runs/{s.run.pk}/pause"), SCRIPT),
    AuditAction.RUN_RESUMED: (resume, SCRIPT),
    AuditAction.RUN_RETRIED: (retry, ENDS | {"detail": "1 failed trial"}),
    AuditAction.RUN_SHARED: (lambda s: s.post("run_share", s.run.pk, share="yes"), ENDS),
    AuditAction.RUN_UNSHARED: (unshare, ENDS),
    AuditAction.RUN_REMOVED: (remove_old_runs, SHELL),
    AuditAction.RUN_TAGGED: (
        lambda s: s.post("run_about", s.run.pk, tags="new, old"),
        ENDS | {"detail": "+new, +old"},
    ),
    AuditAction.RUN_NOTED: (
        lambda s: s.api("patch", f"/runs/{s.run.pk}", {"note": "Why."}),
        SCRIPT | {"detail": "4 characters"},
    ),
    AuditAction.RUN_ARCHIVED: (lambda s: put_away(s, "archive"), ENDS),
    AuditAction.RUN_DELETED: (lambda s: put_away(s, "delete"), ENDS),
    AuditAction.RUN_RESTORED: (bring_back, SCRIPT),
    AuditAction.VIEW_SAVED: (
        lambda s: s.post("run_views", name="mine", query="state=failed&before=3"),
        ENDS | {"subject": "mine", "detail": "state=failed"},
    ),
    AuditAction.VIEW_REMOVED: (
        lambda s: s.post("run_view_remove", SavedView.objects.create(owner=s.ada, name="x").pk),
        ENDS | {"subject": "x"},
    ),
    AuditAction.LIMITS_CHANGED: (
        lambda s: s.api("patch", f"/runs/{s.run.pk}/limits", {"max_concurrent": 3}),
        SCRIPT | {"detail": "calls at once from no limit to 3"},
    ),
    AuditAction.CACHE_CLEARED: (
        lambda s: call_command("prune_cache", run=s.run.pk, yes=True, verbosity=0),
        SHELL | {"subject_kind": "cache"},
    ),
    AuditAction.CACHE_RESTORED: (
        lambda s: s.post("cache_restore", remove_after=removed_answer(s.run).isoformat()),
        ENDS | {"subject_kind": "cache", "detail": "1 answer"},
    ),
    AuditAction.EXPORTED: (
        lambda s: s.page.get(reverse("run_scores_csv", args=[s.run.pk])),
        ENDS | {"detail": "scores.csv"},
    ),
    AuditAction.DATASET_SHARED: (
        lambda s: s.post("dataset_share", s.dataset.pk, share="yes"),
        ENDS | {"subject": "sums"},
    ),
    AuditAction.DATASET_UNSHARED: (unshare_dataset, SCRIPT | {"subject": "sums"}),
    AuditAction.DATASET_DELETED: (remove_dataset, ENDS | {"subject": "old"}),
    AuditAction.DATASET_REMOVED: (
        lambda s: remove_dataset(s, for_good=True),
        ENDS | {"subject": "old"},
    ),
    AuditAction.DATASET_ARCHIVED: (archive("dataset"), ENDS | {"subject": "sums"}),
    AuditAction.DATASET_RESTORED: (restore("dataset"), ENDS),
    AuditAction.CONFIGURATION_SAVED: (
        lambda s: s.api("post", "/configurations", run_document(s.dataset, name="new")),
        SCRIPT | {"subject": "new", "detail": "version 1"},
    ),
    AuditAction.CONFIGURATION_SHARED: (
        change_configuration("configurations", {"shared": True}),
        SCRIPT | {"subject": "kept"},
    ),
    AuditAction.CONFIGURATION_UNSHARED: (unshare_configuration, ENDS | {"subject": "kept"}),
    AuditAction.CONFIGURATION_GATED: (
        change_configuration("configuration-gates", {"min_score": 0.8}, "put"),
        SCRIPT | {"subject": "kept", "detail": "min score 0.8"},
    ),
    AuditAction.SCHEDULE_SAVED: (
        change_configuration("configuration-schedules", {"cron": "30 6 * * *"}, "put"),
        SCRIPT | {"subject": "kept", "detail": "30 6 * * * (UTC)"},
    ),
    AuditAction.SCHEDULE_PAUSED: (change_schedule("pause"), ENDS | {"subject": "kept"}),
    AuditAction.SCHEDULE_REMOVED: (change_schedule("remove"), ENDS | {"subject": "kept"}),
    AuditAction.CONFIGURATION_DELETED: (
        lambda s: s.post(
            "configuration_remove", configuration(s).pk, action="delete", typed="kept"
        ),
        ENDS | {"subject": "kept"},
    ),
    AuditAction.CONFIGURATION_RESTORED: (restore_configuration, SCRIPT | {"subject": "kept"}),
    AuditAction.CONFIGURATION_REMOVED: (remove_configuration, ADMIN | {"subject": "kept"}),
    AuditAction.PRESET_CHANGED: (offer_preset, ADMIN | {"detail": "offered"}),
    AuditAction.PERSON_ADDED: (set_up, {"door": AuditDoor.PAGE, "subject": "root"}),
    AuditAction.INVITATION_MADE: (
        lambda s: s.post("person_invite", role="viewer", days=7, note="Eve"),
        ENDS | {"subject": "Eve"},
    ),
    AuditAction.INVITATION_REVOKED: (
        take_back_invitation,
        SCRIPT | {"subject": "Eve", "detail": "as viewer"},
    ),
    AuditAction.INVITATION_USED: (
        come_by_invitation,
        ENDS | {"actor": "eve", "subject": "Eve", "detail": "by eve"},
    ),
    AuditAction.TEAM_MADE: (
        lambda s: s.post("teams", name="research"),
        ENDS | {"subject_kind": "team", "subject": "research"},
    ),
    AuditAction.TEAM_RENAMED: (
        lambda s: s.post("team", team(s).pk, do="rename", name="evaluation"),
        ENDS | {"subject": "evaluation", "detail": "from research to evaluation"},
    ),
    AuditAction.TEAM_REMOVED: (
        lambda s: s.post("team", team(s).pk, do="remove"),
        ENDS | {"subject": "research"},
    ),
    AuditAction.TEAM_JOINED: (
        lambda s: s.post("team", team(s).pk, do="add", person="bob"),
        ENDS | {"subject": "research", "detail": "bob"},
    ),
    AuditAction.TEAM_LEFT: (
        lambda s: [s.post("team", team(s).pk, do=do, person="bob") for do in ("add", "leave")],
        ENDS | {"subject": "research", "detail": "bob"},
    ),
    AuditAction.ROLE_CHANGED: (
        lambda s: s.post("person_role", s.bob.pk, role="operator"),
        ENDS | {"subject": "bob", "detail": "from runner to operator"},
    ),
    AuditAction.ACCOUNT_CLOSED: (lambda s: s.post("person_active", s.bob.pk, active="no"), ENDS),
    AuditAction.ACCOUNT_OPENED: (lambda s: s.post("person_active", s.bob.pk, active="yes"), ENDS),
    AuditAction.QUOTA_CHANGED: (
        lambda s: s.post("person_quota", s.bob.pk, slots=5),
        ENDS | {"subject": "bob", "detail": "slots 5"},
    ),
    AuditAction.PERSON_ERASED: (
        lambda s: s.post("person_erase", s.bob.pk, typed="bob"),
        ENDS | {"subject": "bob"},
    ),
    AuditAction.TOKEN_MADE: (
        lambda s: s.post("tokens", name="ci", scopes=["read"], days=30),
        ENDS | {"subject_kind": "apitoken"},
    ),
    AuditAction.TOKEN_REVOKED: (lambda s: s.post("token_revoke", s.token.pk), ENDS),
    AuditAction.RUN_RERUN: (rerun_wrong, SCRIPT | {"subject_kind": "run"}),
    AuditAction.SCORE_OVERRIDDEN: (override, SCRIPT | {"subject_kind": "run"}),
    AuditAction.PROMPT_SAVED: (
        lambda s: s.api("post", "/prompts", {"name": "triage", "content": {"user": "Go."}}),
        SCRIPT | {"subject": "triage v1"},
    ),
    AuditAction.PROMPT_SHARED: (share_prompt, ENDS | {"subject": "triage"}),
    AuditAction.PROMPT_UNSHARED: (
        lambda s: share_prompt(s, times=2),
        ENDS | {"subject": "triage"},
    ),
    AuditAction.PROMPT_REMOVED: (remove_prompt, ENDS | {"subject": "triage"}),
    AuditAction.WEBHOOK_ADDED: (add_webhook, SCRIPT | {"subject": "hooks.example"}),
    AuditAction.WEBHOOK_SENT_AGAIN: (send_again, ENDS | {"subject": "hooks.example"}),
    AuditAction.WEBHOOK_REMOVED: (remove_webhook, SCRIPT | {"subject": "hooks.example"}),
}
