"""Members of a team see what is shared with it, change nothing, and see nothing once they left."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse

from runs.access import runs_for
from runs.models import (
    AuditEntry,
    Dataset,
    Prompt,
    Run,
    RunEvent,
    RunState,
    Scope,
    Team,
    TeamMember,
)
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.people.sharing import (
    share_configuration,
    share_dataset,
    share_prompt,
    share_run,
)
from runs.services.people.teams import (
    add_member,
    create_team,
    remove_member,
    remove_team,
    rename_team,
)
from runs.services.people.tokens import create_token
from runs.services.prompts import save_prompt
from runs.services.removing.erasing import erase_person
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return make_person("ada", staff=True)


@pytest.fixture
def team(ada):
    """Alice and Bob are in it, Carl is not."""
    made = create_team(ada, "research")
    for name in ("alice", "bob", "carl"):
        make_person(name)
    for name in ("alice", "bob"):
        assert add_member(ada, made, name)
    return made


def person(name):
    return User.objects.get(username=name)


class Things:
    """A run, a dataset, a prompt and a configuration of Alice."""

    def __init__(self):
        alice = person("alice")
        self.dataset = make_dataset(alice)
        self.run = make_run(alice, self.dataset)
        self.prompt = save_prompt(alice, "triage", {"user": "{{question}}"})
        self.configuration = save_configuration(alice, "nightly", run_document(self.dataset))

    def share(self, team):
        options = {"is_shared": False, "team": team}
        assert share_run(self.run, person("alice"), **options)
        assert share_dataset(self.dataset, person("alice"), **options)
        assert share_prompt(self.prompt, person("alice"), **options)
        assert share_configuration(self.configuration, person("alice"), **options)

    def addresses(self):
        things = (self.run, self.dataset, self.prompt, self.configuration)
        return [thing.get_absolute_url() for thing in things]

    def seen_by(self, name):
        client = client_of(person(name))
        return [client.get(address).status_code for address in self.addresses()]


ALL, NONE = [200] * 4, [404] * 4


def test_members_see_it_others_do_not_and_it_ends_with_the_membership(ada, team):
    things = Things()
    assert things.seen_by("bob") == NONE
    things.share(team)
    assert (things.seen_by("bob"), things.seen_by("carl")) == (ALL, NONE)
    assert remove_member(ada, team, "bob")
    assert not remove_member(ada, team, "bob")
    assert (things.seen_by("bob"), things.seen_by("alice")) == (NONE, ALL)
    assert add_member(ada, team, "carl")
    assert not add_member(ada, team, "carl")
    assert things.seen_by("carl") == ALL
    remove_team(ada, team)
    assert (things.seen_by("carl"), things.seen_by("alice")) == (NONE, ALL)


def test_members_change_nothing(team):
    things = Things()
    things.share(team)
    bob = client_of(person("bob"))
    for view, key in (
        ("run_cancel", things.run.pk),
        ("run_share", things.run.pk),
        ("dataset_share", things.dataset.pk),
        ("prompt_share", things.prompt.pk),
        ("configuration_share", things.configuration.pk),
        ("configuration_remove", things.configuration.pk),
    ):
        assert bob.post(reverse(view, args=[key]), {"share": "yes"}).status_code == 403
    assert not Run.objects.filter(is_shared=True).exists()


def test_a_thing_is_seen_once_however_many_are_in_the_team(ada, team):
    things = Things()
    things.share(team)
    add_member(ada, team, "carl")
    for name in ("alice", "bob", "carl"):
        assert list(runs_for(person(name))) == [things.run]


def test_lists_have_what_is_shared_with_the_team(team):
    Things().share(team)
    bob, carl = client_of(person("bob")), client_of(person("carl"))
    for view, name in (
        ("runs", "/runs/"),
        ("datasets", "sums"),
        ("prompts", "triage"),
        ("configurations", "nightly"),
        ("run_new", "nightly"),
    ):
        assert name in bob.get(reverse(view)).text
    assert "triage" not in carl.get(reverse("prompts")).text
    for view in ("configurations", "run_new"):
        assert "nightly" not in carl.get(reverse(view)).text


@pytest.mark.parametrize("view", ["configuration", "configurations"])
def test_pages_say_that_a_configuration_is_shared_with_a_team(team, view):
    things = Things()
    address = reverse(view, args=[things.configuration.pk] if view == "configuration" else [])
    alice = client_of(person("alice"))
    assert "The members of a team may see it" not in alice.get(address).text
    things.share(team)
    assert "The members of a team may see it" in alice.get(address).text


def test_members_launch_a_configuration_of_their_team(team):
    things = Things()
    make_endpoint()
    launch = reverse("configuration_launch", args=[things.configuration.pk])
    assert client_of(person("bob")).post(launch, {"key": "1"}).status_code == 404
    things.share(team)
    assert client_of(person("bob")).post(launch, {"key": "1"}).status_code == 302
    assert Run.objects.get(configuration=things.configuration).owner == person("bob")
    assert client_of(person("carl")).post(launch, {"key": "1"}).status_code == 404


@pytest.mark.parametrize("kind", ["run", "dataset", "prompt", "configuration"])
def test_the_page_shares_with_a_team_with_everybody_or_with_nobody(team, kind):
    thing = getattr(Things(), kind)
    alice, address = client_of(person("alice")), reverse(f"{kind}_share", args=[thing.pk])
    assert "Share with research" in alice.get(address).content.decode()
    told = []
    for given in ({"share": "team", "team": team.pk}, {"share": "yes"}, {"share": "no"}):
        assert alice.post(address, given)["Location"] == thing.get_absolute_url()
        thing.refresh_from_db()
        told.append((thing.is_shared, thing.team))
    assert told == [(False, team), (True, None), (False, None)]
    actions = AuditEntry.objects.filter(action__startswith=kind, action__contains="shared")
    assert list(actions.order_by("pk").values_list("action", "detail")) == [
        (f"{kind}.shared", "with the team research"),
        (f"{kind}.shared", ""),
        (f"{kind}.unshared", ""),
    ]


def test_nobody_shares_with_a_team_that_they_are_not_in(team):
    carl = person("carl")
    run = make_run(carl, make_dataset(carl, "other"))
    address = reverse("run_share", args=[run.pk])
    page = client_of(carl).get(address).content.decode()
    assert "research" not in page
    given = {"share": "team", "team": team.pk}
    assert client_of(carl).post(address, given).status_code == 404
    answer = ask(carl, "patch", f"/runs/{run.pk}", {"team": "research"})
    assert answer.status_code == 422
    assert "You are in no team of this name" in answer.content.decode()
    run.refresh_from_db()
    assert run.team is None


def test_later_versions_stay_with_the_team(team):
    things = Things()
    things.share(team)
    alice = person("alice")
    make_dataset(alice, rows=5)
    save_prompt(alice, "triage", {"user": "{{question}}!"})
    for model in (Dataset, Prompt):
        assert list(model.objects.order_by("version").values_list("version", "team__name")) == [
            (1, "research"),
            (2, "research"),
        ]


def test_who_is_erased_leaves_the_team_and_hands_over_what_it_sees(ada, team):
    things = Things()
    things.share(team)
    private = make_run(person("alice"), things.dataset)
    erase_person(person("alice"), ada)
    assert not TeamMember.objects.filter(person__username="alice").exists()
    assert things.seen_by("bob") == ALL
    assert Run.objects.get(pk=things.run.pk).owner == ada
    assert not Run.objects.filter(pk=private.pk).exists()


def ask(who, method, path, body=None):
    token = create_token(who, "x", list(Scope)).text
    options = {"content_type": "application/json", "headers": {"Authorization": f"Bearer {token}"}}
    if body is not None:
        options["data"] = json.dumps(body)
    return getattr(Client(), method)(f"/api/v1{path}", **options)


def test_scripts_make_teams_and_share_with_them(ada):
    alice, bob = make_person("alice"), make_person("bob")
    dataset = make_dataset(alice)
    run = make_run(alice, dataset)
    save_prompt(alice, "triage", {"user": "{{question}}"})
    save_configuration(alice, "nightly", run_document(dataset))
    assert ask(ada, "post", "/teams", {"name": "research"}).status_code == 201
    for name in ("alice", "bob"):
        assert ask(ada, "put", f"/teams/research/members/{name}").json()["changed"]
    (listed,) = ask(bob, "get", "/teams").json()["data"]
    assert (listed["name"], listed["members"]) == ("research", ["alice", "bob"])
    paths = (f"/runs/{run.pk}", "/datasets/sums", "/prompts/triage", "/configurations/nightly")
    for path in paths:
        assert ask(bob, "get", path).status_code == 404
        assert ask(alice, "patch", path, {"team": "research"}).json()["changed"]
        assert not ask(alice, "patch", path, {"team": "research"}).json()["changed"]
        assert ask(bob, "get", path).status_code == 200
        both = {"team": "research", "shared": True}
        assert ask(alice, "patch", path, both).status_code == 422
    shown = ask(bob, "get", f"/runs/{run.pk}").json()
    (listed,) = ask(bob, "get", "/runs").json()["data"]
    assert {(one["shared"], one["team"]) for one in (shown, listed)} == {(False, "research")}
    assert ask(bob, "get", "/prompts/triage").json()["team"] == "research"
    assert ask(bob, "get", "/datasets/sums").json()["dataset"]["team"] == "research"
    (row,) = ask(bob, "get", "/configurations").json()["data"]
    assert (row["shared"], row["team"]) == (False, "research")
    assert ask(ada, "delete", "/teams/research/members/bob").json()["changed"]
    assert [ask(bob, "get", path).status_code for path in paths] == NONE
    assert ask(ada, "delete", "/teams/research").json()["changed"]
    assert not Team.objects.exists()


def test_a_renamed_team_keeps_its_members_and_what_is_shared_with_it(ada, team):
    things = Things()
    things.share(team)
    assert ask(ada, "patch", "/teams/research", {"name": " Research "}).json()["changed"]
    assert not ask(ada, "patch", "/teams/Research", {"name": "Research"}).json()["changed"]
    assert ask(ada, "patch", "/teams/research", {"name": "lost"}).status_code == 404
    page = client_of(ada).post(
        reverse("team", args=[team.pk]), {"do": "rename", "name": "evaluation"}, follow=True
    )
    assert "The team is called evaluation now." in page.text
    assert things.seen_by("bob") == ALL
    assert ask(person("bob"), "get", "/prompts/triage").json()["team"] == "evaluation"
    renamed = AuditEntry.objects.filter(action="team.renamed").order_by("pk")
    assert list(renamed.values_list("actor", "subject", "detail")) == [
        ("ada", "Research", "from research to Research"),
        ("ada", "evaluation", "from Research to evaluation"),
    ]


@pytest.mark.parametrize("name", ["", "x" * 81, "a/b", "a\nb", "SALES"])
def test_a_wrong_name_renames_no_team(ada, team, name):
    create_team(ada, "sales")
    assert ask(ada, "patch", "/teams/research", {"name": name}).status_code == 422
    given = {"do": "rename", "name": name}
    page = client_of(ada).post(reverse("team", args=[team.pk]), given, follow=True)
    assert "printable characters" in page.text or "of this name already" in page.text
    assert sorted(Team.objects.values_list("name", flat=True)) == ["research", "sales"]
    assert not AuditEntry.objects.filter(action="team.renamed").exists()


def test_members_rename_nothing(team):
    bob = client_of(person("bob"))
    assert "Rename" not in bob.get(reverse("teams")).text
    given = {"do": "rename", "name": "mine"}
    assert bob.post(reverse("team", args=[team.pk]), given).status_code == 403
    assert ask(person("bob"), "patch", "/teams/research", {"name": "mine"}).status_code == 403


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "a/b", "a\nb", "Research"])
def test_a_wrong_name_makes_no_team(ada, name):
    create_team(ada, "research")
    assert client_of(ada).post(reverse("teams"), {"name": name}).status_code == 400
    assert ask(ada, "post", "/teams", {"name": name}).status_code == 422
    assert Team.objects.count() == 1


def test_the_page_is_for_members_and_its_buttons_for_administrators(ada, team):
    page = client_of(person("bob")).get(reverse("teams")).content.decode()
    assert "research" in page
    assert "Take out" not in page
    assert "research" not in client_of(person("carl")).get(reverse("teams")).content.decode()
    admin, address = client_of(ada), reverse("team", args=[team.pk])
    for given, members in (
        ({"do": "add", "person": "carl"}, ["alice", "bob", "carl"]),
        ({"do": "add", "person": "nobody"}, ["alice", "bob", "carl"]),
        ({"do": "leave", "person": "bob"}, ["alice", "carl"]),
    ):
        assert admin.post(address, given).status_code == 302
        found = TeamMember.objects.order_by("person__username")
        assert [member.person.username for member in found] == members
    admin.post(address, {"do": "remove"})
    assert not Team.objects.exists()


def test_services_ask_who_makes_teams(team):
    operator = make_person("olga", role=Role.OPERATOR)
    for change in (
        lambda: create_team(operator, "x"),
        lambda: remove_team(operator, team),
        lambda: rename_team(operator, team, "y"),
        lambda: add_member(operator, team, "carl"),
        lambda: remove_member(operator, team, "bob"),
    ):
        with pytest.raises(PermissionDenied):
            change()


def test_a_run_in_rest_says_that_everybody_or_nobody_sees_it(team):
    run, alice = Things().run, person("alice")

    def told():
        shown = ask(alice, "get", f"/runs/{run.pk}").json()
        (listed,) = ask(alice, "get", "/runs").json()["data"]
        return [(one["shared"], one["team"]) for one in (shown, listed)]

    assert told() == [(False, None)] * 2
    share_run(run, alice, is_shared=True)
    assert told() == [(True, None)] * 2


def test_a_run_notes_with_whom_it_was_shared(team):
    things = Things()
    Run.objects.update(state=RunState.RUNNING)
    things.share(team)
    notes = RunEvent.objects.values_list("message", flat=True)
    assert "alice shared this run with the team research." in list(notes)
