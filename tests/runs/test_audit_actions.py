"""Each action leaves one row that says who did it, through which door, and no secret."""

import json
import shlex
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from runs import models
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
    make_person_with_password,
    make_run,
    run_document,
)

pytestmark = pytest.mark.django_db

KEY = "sk-canary-0123456789abcdef"
HOOK = "https://hooks.example/services/T0/canary-path"
NEW_PASSWORD = "seven slow snails racing"
A = models.AuditAction


class Stage:
    """An administrator, something of every kind to act on, and the doors."""

    def __init__(self, ada, bob):
        ada.is_superuser = True  # Django's own part of the admin asks for it
        ada.save()
        self.ada, self.bob, self.eve = ada, bob, make_person_with_password("eve")
        self.endpoint, self.second = make_endpoint(), make_endpoint("second")
        self.dataset, self.old = make_dataset(ada), make_dataset(ada, "old")
        self.run = make_run(ada, self.dataset, state=models.RunState.RUNNING, ended=None)
        self.prompt = prompts.save_prompt(ada, "triage", {"user": "{{question}}"})
        self.configuration = models.Configuration.objects.create(
            name="kept", kind="evaluate", owner=ada, document=run_document(self.dataset)
        )
        self.team = models.Team.objects.create(name="research")
        self.view = models.SavedView.objects.create(owner=ada, name="x")
        self.hook = models.Webhook.objects.create(owner=ada, url=HOOK)
        self.delivery = models.WebhookDelivery.objects.create(webhook=self.hook, run=self.run)
        self.link = invite(ada, Role.VIEWER, 7, "Eve")
        self.invitation = self.link.invitation
        made = create_token(ada, "script", list(models.Scope))
        self.token = made.token
        self.headers = {"Authorization": f"Bearer {made.text}"}
        invited = self.link.path.split("/")[2]
        self.secrets = [made.text, KEY, PASSWORD, NEW_PASSWORD, invited, "T0/canary"]

    def add_wrong_score(self):
        case, candidate = self.dataset.cases.get(position=0), self.run.candidates.get()
        return add_score(self.run, case, candidate, 0, value=0.0, passed=False).position

    def hold(self, state):
        models.Run.objects.filter(pk=self.run.pk).update(state=state)


def post(s, words):
    """`view thing field=value ...`: the form of a page about something of the stage."""
    view, *rest = shlex.split(words)
    form = dict(word.split("=", 1) for word in rest if "=" in word)
    about = [getattr(s, word).pk for word in rest if "=" not in word]
    return s.page.post(reverse(view, args=about), form)


def ask(s, words):
    """`method path body`: the request of a script."""
    method, path, *body = words.split(maxsplit=2)
    given = {"data": json.loads(body[0])} if body else {}
    address = f"/api/v1{path.format(s=s)}"
    options = {"content_type": "application/json", "headers": s.headers}
    return getattr(Client(), method)(address, **given, **options)


def sign_in(password):
    chosen = {"username": "eve", "password": password}
    return lambda s: Client().post(reverse("sign_in"), chosen)


def come(name, path):
    """Choose a name and a password at an address that somebody was given."""
    chosen = {"username": name, "password": PASSWORD, "password_again": PASSWORD}
    Client().post(path, chosen)


def set_up(s):
    User.objects.update(password=make_password(None))  # nobody can sign in, so there is a set-up
    come("root", make_setup_link())


def change_password(s):
    new = {"password": NEW_PASSWORD, "password_again": NEW_PASSWORD}
    client_of(s.eve).post(reverse("password"), {"old_password": PASSWORD, **new})


def remove_samples(s):
    models.Run.objects.update(state=models.RunState.COMPLETED, ended=now() - timedelta(days=2))
    s.run.samples.create(second=1)
    remove_old_samples(1)


def retry(s):
    s.run.chunks.create(start=0, trials=[[0, 0, 0, 0]], state="done")
    case, candidate = s.dataset.cases.get(position=0), s.run.candidates.get()
    add_score(s.run, case, candidate, 0, error_class="timeout")
    models.Run.objects.update(done=1, failed=1)
    s.run.candidates.update(done=1, failed=1)
    post(s, "run_retry run")


def try_again(s):
    with open_redis() as shared:  # as workers leave it after many failures
        shared.hset(f"permits:state:endpoint:{s.endpoint.pk}/sim-small", "rest", "5")
    post(s, "endpoint_reset endpoint")


def restore_an_answer(s):
    add_cached_reply(s.run, "a" * 64)
    removed = prune_cache(Pruning(run_id=s.run.pk)).remove_after
    assert removed is not None
    s.page.post(reverse("cache_restore"), {"remove_after": removed.isoformat()})


def rerun(s):
    trials = json.dumps({"trials": [s.add_wrong_score()]})
    s.hold(models.RunState.COMPLETED)
    ask(s, f"post /runs/{s.run.pk}/rerun {trials}")


def override(s):
    path = f"/runs/{s.run.pk}/trials/{s.add_wrong_score()}/overrides"
    ask(s, f'post {path} {{"verdict": "right"}}')


def several(*what):
    """Ticked in the list of runs."""

    def act(s):
        s.hold(models.RunState.COMPLETED)
        for do in what:
            s.page.post(reverse("runs_several"), {"do": do, "run": [s.run.pk]})

    return act


def bring_back(s):
    several("delete")(s)
    ask(s, 'patch /runs/{s.run.pk} {"archived": false}')


def remove_old_runs(s):
    make_run(s.ada, s.dataset, ended=now() - timedelta(days=90))
    call_command("prune_runs", older_than_days=30, yes=True, verbosity=0)


def run_it(path):
    """Nobody listens where the simulated provider would: one attempt is enough to know."""

    def act(s):
        once = {"configuration": run_document(s.dataset, limits={"attempts": 1})}
        ask(s, f"post {path} {json.dumps(once)}")

    return act


def in_the_admin(s, address, *args, **form):
    s.page.post(reverse(f"admin:runs_configuration_{address}", args=args), form)


ENDPOINT = "name=simulated kind=simulated model_names=sim-small prices= max_concurrent"
SECOND = "endpoint_remove second typed=second action"
OLD = "dataset_remove old typed=old action"
SCHEDULE = "configuration_schedule configuration cron='30 6 * * *' time_zone=UTC"
# Pages: the action, what is posted (one form after the other), and the row of the last one: what
# kind of thing it is about and its name, then the detail.
BY_PAGE = f"""
PASSWORD_LINK_MADE | person_password bob | user bob
PROFILE_CHANGED | profile theme=dark time_zone=UTC | user ada | theme dark, time zone UTC
SIGN_OUT | sign_out
KEY_SET | endpoint endpoint {ENDPOINT}=20 new_key={KEY} | endpoint simulated
ENDPOINT_ADDED | endpoint_new {ENDPOINT}=20 name=third | endpoint third
ENDPOINT_CHANGED | endpoint endpoint {ENDPOINT}=7 | endpoint | model_names, max_concurrent, adaptive
ENDPOINT_DELETED | {SECOND}=delete | endpoint second
ENDPOINT_REMOVED | {SECOND}=delete ; {SECOND}=remove | endpoint second
ENDPOINT_ARCHIVED | endpoint_remove endpoint action=archive
ENDPOINT_RESTORED | endpoint_remove endpoint action=archive ; endpoint_restore endpoint
ENDPOINT_PAUSED | endpoint_pause endpoint
ENDPOINT_RESUMED | endpoint_pause endpoint ; endpoint_resume endpoint
ENDPOINT_PROMPTED | endpoint_try endpoint model=sim-small prompt=Hello | endpoint | sim-small
MAINTENANCE_BEGUN | maintenance reason='a new disk' | site | a new disk
MAINTENANCE_ENDED | maintenance ; maintenance do=end | site
RETENTION_CHANGED | retention run_days=90 | site | run_days 90
RUN_CANCELLED | run_cancel run
RUN_SHARED | run_share run share=yes
RUN_UNSHARED | run_share run share=yes ; run_share run share=no
RUN_TAGGED | run_about run tags='new, old' | run | +new, +old
VIEW_SAVED | run_views name=mine query='state=failed&before=3' | view mine | state=failed
VIEW_REMOVED | run_view_remove view | view x
DATASET_SHARED | dataset_share dataset share=yes | dataset sums
DATASET_DELETED | {OLD}=delete | dataset old
DATASET_REMOVED | {OLD}=delete ; {OLD}=remove | dataset old
DATASET_ARCHIVED | dataset_remove dataset action=archive | dataset sums
DATASET_RESTORED | dataset_remove dataset action=archive ; dataset_restore dataset
CONFIGURATION_UNSHARED | configuration_share configuration share=yes \
    ; configuration_share configuration share=no | configuration kept
SCHEDULE_PAUSED | {SCHEDULE} ; configuration_schedule_change configuration do=pause \
    | configuration kept
SCHEDULE_REMOVED | {SCHEDULE} ; configuration_schedule_change configuration do=remove \
    | configuration kept
CONFIGURATION_DELETED | configuration_remove configuration action=delete typed=kept \
    | configuration kept
INVITATION_MADE | person_invite role=viewer days=7 note=Eve | invitation Eve
TEAM_MADE | teams name=sales | team sales
TEAM_RENAMED | team team do=rename name=evaluation | team evaluation | from research to evaluation
TEAM_REMOVED | team team do=remove | team research
TEAM_JOINED | team team do=add person=bob | team research | bob
TEAM_LEFT | team team do=add person=bob ; team team do=leave person=bob | team research | bob
ROLE_CHANGED | person_role bob role=operator | user bob | from runner to operator
ACCOUNT_CLOSED | person_active bob active=no
ACCOUNT_OPENED | person_active bob active=yes
QUOTA_CHANGED | person_quota bob slots=5 | user bob | slots 5
PERSON_ERASED | person_erase bob typed=bob | user bob
TOKEN_MADE | tokens name=ci scopes=read days=30 | apitoken
TOKEN_REVOKED | token_revoke token
PROMPT_SHARED | prompt_share prompt share=yes | prompt triage
PROMPT_UNSHARED | prompt_share prompt share=yes ; prompt_share prompt share=no | prompt triage
PROMPT_REMOVED | prompt_remove prompt typed=triage | prompt triage
WEBHOOK_SENT_AGAIN | delivery_again delivery | webhook hooks.example
"""
NEW = run_document(models.Dataset(name="sums", version=1), name="new")
BY_REST = f"""
KEY_REMOVED | patch /endpoints/simulated {{"api_key": "{KEY}"}} \
    ; patch /endpoints/simulated {{"api_key": ""}} | endpoint simulated
RUN_PAUSED | post /runs/{{s.run.pk}}/pause
RUN_RESUMED | post /runs/{{s.run.pk}}/pause ; post /runs/{{s.run.pk}}/resume
RUN_NOTED | patch /runs/{{s.run.pk}} {{"note": "Why."}} | run | 4 characters
LIMITS_CHANGED | patch /runs/{{s.run.pk}}/limits {{"max_concurrent": 3}} \
    | run | calls at once from no limit to 3
DATASET_UNSHARED | patch /datasets/sums {{"shared": true}} \
    ; patch /datasets/sums {{"shared": false}} | dataset sums
CONFIGURATION_SAVED | post /configurations {json.dumps(NEW)} | configuration new | version 1
CONFIGURATION_SHARED | patch /configurations/kept {{"shared": true}} | configuration kept
CONFIGURATION_GATED | put /configuration-gates/kept {{"min_score": 0.8}} \
    | configuration kept | min score 0.8
SCHEDULE_SAVED | put /configuration-schedules/kept {{"cron": "30 6 * * *"}} \
    | configuration kept | 30 6 * * * (UTC)
CONFIGURATION_RESTORED | delete /configurations/kept \
    ; patch /configurations/kept {{"archived": false}} | configuration kept
INVITATION_REVOKED | delete /invitations/{{s.invitation.pk}} | invitation Eve | as viewer
PROMPT_SAVED | post /prompts {{"name": "new", "content": {{"user": "Go."}}}} | prompt new v1
WEBHOOK_ADDED | post /webhooks {{"url": "{HOOK}/2"}} | webhook hooks.example
WEBHOOK_REMOVED | delete /webhooks/{{s.hook.pk}} | webhook hooks.example
"""
PAGE = {"door": models.AuditDoor.PAGE, "actor": "ada", "address": "127.0.0.1"}
REST = {"door": models.AuditDoor.API, "actor": "ada", "address": "127.0.0.1"}
SHELL = {"door": models.AuditDoor.COMMAND, "actor_id": None, "address": ""}
ADMIN = {"door": models.AuditDoor.ADMIN, "actor": "ada"}
BY_EVE = PAGE | {"actor": "eve"}
# What takes more than forms or requests.
OTHERS = {
    A.SIGN_IN: (sign_in(PASSWORD), BY_EVE),
    A.SIGN_IN_FAILED: (sign_in("no"), PAGE | {"actor": "", "subject": "eve"}),
    A.PASSWORD_CHANGED: (
        change_password,
        BY_EVE | {"subject": "eve", "detail": "knowing the old one"},
    ),
    A.DENIED: (
        lambda s: client_of(s.bob).get(reverse("run", args=[s.run.pk])),
        PAGE | {"actor": "bob", "detail": "GET, 404"},
    ),
    A.KEYS_ROTATED: (lambda s: call_command("rotate_keys", verbosity=0), SHELL),
    A.ENDPOINT_TRIED_AGAIN: (try_again, PAGE),
    A.SAMPLES_REMOVED: (remove_samples, {"door": models.AuditDoor.SITE, "subject_kind": "run"}),
    A.RUN_TRIED: (run_it("/runs/dry"), REST | {"detail": "3 trials of kind evaluate"}),
    A.RUN_LAUNCHED: (run_it("/runs"), REST | {"detail": "3 trials on sums v1"}),
    A.RUN_RETRIED: (retry, PAGE | {"detail": "1 failed trial"}),
    A.RUN_RERUN: (rerun, REST | {"subject_kind": "run"}),
    A.SCORE_OVERRIDDEN: (override, REST | {"subject_kind": "run"}),
    A.RUN_REMOVED: (remove_old_runs, SHELL),
    A.RUN_ARCHIVED: (several("archive"), PAGE),
    A.RUN_DELETED: (several("delete"), PAGE),
    A.RUN_RESTORED: (bring_back, REST),
    A.CACHE_CLEARED: (
        lambda s: call_command("prune_cache", run=s.run.pk, yes=True, verbosity=0),
        SHELL | {"subject_kind": "cache"},
    ),
    A.CACHE_RESTORED: (restore_an_answer, PAGE | {"subject_kind": "cache", "detail": "1 answer"}),
    A.EXPORTED: (
        lambda s: s.page.get(reverse("run_scores_csv", args=[s.run.pk])),
        PAGE | {"detail": "scores.csv"},
    ),
    A.CONFIGURATION_REMOVED: (
        lambda s: in_the_admin(s, "delete", s.configuration.pk, post="yes"),
        ADMIN | {"subject": "kept"},
    ),
    A.PRESET_CHANGED: (
        lambda s: in_the_admin(
            s, "changelist", action="offer_as_preset", _selected_action=s.configuration.pk
        ),
        ADMIN | {"detail": "offered"},
    ),
    A.PERSON_ADDED: (set_up, {"door": models.AuditDoor.PAGE, "subject": "root"}),
    A.INVITATION_USED: (
        lambda s: come("evelyn", s.link.path),
        PAGE | {"actor": "evelyn", "subject": "Eve", "detail": "by evelyn"},
    ),
}
SHOWN_ELSEWHERE = {A.PRIVATE_ALLOWED, A.PRIVATE_REVOKED, A.PROVIDER_CONNECTED}


def read(table, door, do):
    """The lines of a table, as the entries of OTHERS are."""
    for line in table.strip().splitlines():
        name, steps, about, detail = (*map(str.strip, line.split("|")), "", "")[:4]
        kind, _, subject = about.partition(" ")
        asked = {"subject_kind": kind, "subject": subject, "detail": detail}
        acts = partial(one_after_the_other, steps.split(" ; "), do)
        yield (
            models.AuditAction[name],
            (acts, door | {field: text for field, text in asked.items() if text}),
        )


def one_after_the_other(steps, do, s):
    for words in steps:
        do(s, words)


DOORS = {**OTHERS, **dict(read(BY_PAGE, PAGE, post)), **dict(read(BY_REST, REST, ask))}


def flaws_of(stage, action):
    """What is wrong with the row that the action leaves; undone when it was looked at."""
    act, wanted = DOORS[action]
    with transaction.atomic():
        stage.page = client_of(stage.ada)
        before = set(models.AuditEntry.objects.values_list("pk", flat=True))
        act(stage)
        rows = list(models.AuditEntry.objects.filter(action=action).exclude(pk__in=before))
        told = str(list(models.AuditEntry.objects.values()))
        transaction.set_rollback(True)
    if len(rows) != 1:
        return [f"{len(rows)} rows"]
    found = {name: getattr(rows[0], name) for name in wanted}
    flaws = [f"{found} instead of {wanted}"] if found != wanted else []
    if rows[0].door == models.AuditDoor.API and rows[0].token != stage.token.prefix:
        flaws.append(f"token {rows[0].token}")
    return flaws + [f"tells {secret}" for secret in stage.secrets if secret in told]


def test_every_action_leaves_one_row_without_a_secret(ada, bob, settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    assert set(DOORS) | SHOWN_ELSEWHERE == set(models.AuditAction)
    stage = Stage(ada, bob)
    flaws = {action: flaws_of(stage, action) for action in DOORS}
    assert {action: found for action, found in flaws.items() if found} == {}
