"""Members of a team see what is shared with it, change nothing, and see nothing once they left."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from runs.access import runs_for
from runs.models import AuditEntry, Dataset, Prompt, Run, RunEvent, RunState, Team, TeamMember
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.people.sharing import share_configuration, share_dataset, share_prompt, share_run
from runs.services.people.teams import (
    add_member,
    create_team,
    remove_member,
    remove_team,
    rename_team,
)
from runs.services.prompts import save_prompt
from runs.services.removing.erasing import erase_person
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_person, make_run, run_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def carl(db):
    return make_person("carl")


@pytest.fixture
def team(ada, alice, bob, carl):
    """Alice and Bob are in it, Carl is not."""
    made = create_team(ada, "research")
    for name in ("alice", "bob"):
        assert add_member(ada, made, name)
    return made


class Things:
    """A run, a dataset, a prompt and a configuration of Alice, who is in the team."""

    def __init__(self, alice, dataset):
        self.alice, self.dataset = alice, dataset
        self.run = make_run(alice, dataset)
        self.prompt = save_prompt(alice, "triage", {"user": "{{question}}"})
        self.configuration = save_configuration(alice, "nightly", run_document(dataset))

    def share(self, team):
        given: dict[str, Any] = {"is_shared": False, "team": team}
        assert share_run(self.run, self.alice, **given)
        assert share_dataset(self.dataset, self.alice, **given)
        assert share_prompt(self.prompt, self.alice, **given)
        assert share_configuration(self.configuration, self.alice, **given)

    def seen_by(self, person):
        addresses = [getattr(self, kind).get_absolute_url() for kind in KINDS]
        return [client_of(person).get(address).status_code for address in addresses]


@pytest.fixture
def things(team, alice, dataset):
    return Things(alice, dataset)


ALL, NONE = [200] * 4, [404] * 4
KINDS = ("run", "dataset", "prompt", "configuration")


def test_members_see_it_others_do_not_and_it_ends_with_the_membership(
    ada, alice, bob, carl, team, things
):
    launch = reverse("configuration_launch", args=[things.configuration.pk])
    assert things.seen_by(bob) == NONE
    assert client_of(bob).post(launch, {"key": "1"}).status_code == 404
    things.share(team)
    assert (things.seen_by(bob), things.seen_by(carl)) == (ALL, NONE)
    cancel = reverse("run_cancel", args=[things.run.pk])
    assert client_of(bob).post(cancel).status_code == 403  # who only sees it changes nothing
    assert client_of(bob).post(launch, {"key": "1"}).status_code == 302
    assert Run.objects.get(configuration=things.configuration).owner == bob
    assert client_of(carl).post(launch, {"key": "1"}).status_code == 404
    assert remove_member(ada, team, "bob")
    assert not remove_member(ada, team, "bob")
    assert (things.seen_by(bob), things.seen_by(alice)) == (NONE, ALL)
    assert add_member(ada, team, "carl")
    assert not add_member(ada, team, "carl")
    assert things.seen_by(carl) == ALL
    remove_team(ada, team)
    assert (things.seen_by(carl), things.seen_by(alice)) == (NONE, ALL)


def test_lists_have_what_is_shared_with_the_team_just_once(ada, alice, bob, carl, team, things):
    things.share(team)
    told = "The members of a team may see it"
    member, stranger = client_of(bob), client_of(carl)
    for address in (things.configuration.get_absolute_url(), reverse("configurations")):
        assert told in client_of(alice).get(address).text
    names = {"datasets": "sums", "prompts": "triage", "configurations": "nightly"}
    for view, name in {**names, "run_new": "nightly"}.items():
        assert name in member.get(reverse(view)).text, view
        assert name not in stranger.get(reverse(view)).text, view
    add_member(ada, team, "carl")
    for person in (alice, bob, carl):
        assert list(runs_for(person)) == [things.run], "however many are in the team"


def test_the_page_shares_with_a_team_with_everybody_or_with_nobody(ada, alice, team, things):
    elsewhere = create_team(ada, "sales")  # nobody shares with a team that they are not in
    client = client_of(alice)
    for kind in KINDS:
        thing = getattr(things, kind)
        address = reverse(f"{kind}_share", args=[thing.pk])
        page = client.get(address).text
        assert ("Share with research" in page, "sales" in page) == (True, False)
        for given, is_shared, shared_with in (
            ({"share": "team", "team": team.pk}, False, team),
            ({"share": "yes"}, True, None),
            ({"share": "no"}, False, None),
        ):
            assert client.post(address, given)["Location"] == thing.get_absolute_url()
            thing.refresh_from_db()
            assert (thing.is_shared, thing.team) == (is_shared, shared_with), kind
        actions = AuditEntry.objects.filter(action__startswith=kind, action__contains="shared")
        assert list(actions.order_by("pk").values_list("action", "detail")) == [
            (f"{kind}.shared", "with the team research"),
            (f"{kind}.shared", ""),
            (f"{kind}.unshared", ""),
        ]
    given = {"share": "team", "team": elsewhere.pk}
    assert client.post(reverse("run_share", args=[things.run.pk]), given).status_code == 404
    answer = Asker(alice).patch(f"/runs/{things.run.pk}", {"team": "sales"})
    assert (answer.status_code, "You are in no team of this name" in answer.text) == (422, True)


def test_later_versions_stay_with_the_team_also_of_who_is_erased(ada, alice, bob, team, things):
    Run.objects.update(state=RunState.RUNNING)
    things.share(team)
    notes = RunEvent.objects.values_list("message", flat=True)
    assert "alice shared this run with the team research." in list(notes)
    Run.objects.update(state=RunState.COMPLETED)
    make_dataset(alice, rows=5)
    save_prompt(alice, "triage", {"user": "{{question}}!"})
    for model in (Dataset, Prompt):
        versions = model.objects.order_by("version").values_list("version", "team__name")
        assert list(versions) == [(1, "research"), (2, "research")]
    private = make_run(alice, things.dataset)
    erase_person(alice, ada)
    assert not TeamMember.objects.filter(person__username="alice").exists()
    assert things.seen_by(bob) == ALL
    assert Run.objects.get(pk=things.run.pk).owner == ada
    assert not Run.objects.filter(pk=private.pk).exists()


def test_scripts_make_teams_and_share_with_them(ada, alice, bob, dataset):
    run = Things(alice, dataset).run
    admin, owner, member = Asker(ada), Asker(alice), Asker(bob)
    assert admin.post("/teams", {"name": "research"}).status_code == 201
    for name in ("alice", "bob"):
        assert admin.ask("put", f"/teams/research/members/{name}").json()["changed"]
    (listed,) = member.get("/teams").json()["data"]
    assert (listed["name"], listed["members"]) == ("research", ["alice", "bob"])
    paths = (f"/runs/{run.pk}", "/datasets/sums", "/prompts/triage", "/configurations/nightly")
    for path in paths:
        assert member.get(path).status_code == 404
        assert owner.patch(path, {"team": "research"}).json()["changed"]
        assert not owner.patch(path, {"team": "research"}).json()["changed"]
        assert member.get(path).status_code == 200
        assert owner.patch(path, {"team": "research", "shared": True}).status_code == 422

    def told_of_run(asker):
        (listed,) = asker.get("/runs").json()["data"]
        shown = asker.get(f"/runs/{run.pk}").json()
        return {(one["shared"], one["team"]) for one in (shown, listed)}

    assert told_of_run(member) == {(False, "research")}
    assert member.get("/prompts/triage").json()["team"] == "research"
    assert member.get("/datasets/sums").json()["dataset"]["team"] == "research"
    (row,) = member.get("/configurations").json()["data"]
    assert (row["shared"], row["team"]) == (False, "research")
    for path in ("/teams/research/members/bob", "/teams/research"):
        assert admin.ask("delete", path).json()["changed"]
    assert not Team.objects.exists()
    share_run(run, alice, is_shared=True)
    assert told_of_run(owner) == {(True, None)}


@pytest.mark.postgresql("collation: names are told apart whatever their capitals")
def test_a_wrong_name_makes_and_renames_no_team_nor_does_an_operator(ada, team):
    create_team(ada, "sales")
    admin, client = Asker(ada), client_of(ada)
    for name in ("", " ", "x" * 81, "a/b", "a\nb", "SALES"):
        assert admin.post("/teams", {"name": name}).status_code == 422, name
        assert admin.patch("/teams/research", {"name": name}).status_code == 422, name
    assert client.post(reverse("teams"), {"name": name}).status_code == 400
    given = {"do": "rename", "name": name}
    page = client.post(reverse("team", args=[team.pk]), given, follow=True).text
    assert "of this name already" in page
    assert sorted(Team.objects.values_list("name", flat=True)) == ["research", "sales"]
    assert not AuditEntry.objects.filter(action="team.renamed").exists()
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


def test_the_page_is_for_members_and_its_buttons_for_administrators(ada, bob, carl, team):
    page = client_of(bob).get(reverse("teams")).text
    texts = ("research", "Take out", "Rename")
    assert [text in page for text in texts] == [True, False, False]
    assert "research" not in client_of(carl).get(reverse("teams")).text
    admin, address = client_of(ada), reverse("team", args=[team.pk])
    for given, members in (
        ({"do": "add", "person": "carl"}, ["alice", "bob", "carl"]),
        ({"do": "add", "person": "nobody"}, ["alice", "bob", "carl"]),
        ({"do": "leave", "person": "bob"}, ["alice", "carl"]),
    ):
        assert admin.post(address, given).status_code == 302
        found = TeamMember.objects.order_by("person__username")
        assert [member.person.username for member in found] == members
    asker = Asker(ada)
    assert asker.patch("/teams/research", {"name": " Research "}).json()["changed"]
    assert not asker.patch("/teams/Research", {"name": "Research"}).json()["changed"]
    assert asker.patch("/teams/research", {"name": "lost"}).status_code == 404
    page = admin.post(address, {"do": "rename", "name": "evaluation"}, follow=True).text
    assert "The team is called evaluation now." in page
    assert [member.team.name for member in found.all()] == ["evaluation"] * 2
    renamed = AuditEntry.objects.filter(action="team.renamed").order_by("pk")
    assert list(renamed.values_list("actor", "subject", "detail")) == [
        ("ada", "Research", "from research to Research"),
        ("ada", "evaluation", "from Research to evaluation"),
    ]
    admin.post(address, {"do": "remove"})
    assert not Team.objects.exists()
