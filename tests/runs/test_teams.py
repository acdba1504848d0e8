"""Members of a team see what is shared with it, change nothing, and see nothing once they left."""

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


@pytest.fixture
def things(team, alice, dataset):
    """A run, a dataset, a prompt and a configuration of Alice, who is in the team."""
    return Things(alice, dataset)


class Things:
    def __init__(self, alice, dataset):
        self.alice, self.dataset = alice, dataset
        self.run = make_run(alice, dataset)
        self.prompt = save_prompt(alice, "triage", {"user": "{{question}}"})
        self.configuration = save_configuration(alice, "nightly", run_document(dataset))

    def share(self, team):
        options = {"is_shared": False, "team": team}
        assert share_run(self.run, self.alice, **options)
        assert share_dataset(self.dataset, self.alice, **options)
        assert share_prompt(self.prompt, self.alice, **options)
        assert share_configuration(self.configuration, self.alice, **options)

    def seen_by(self, person):
        things = (self.run, self.dataset, self.prompt, self.configuration)
        client = client_of(person)
        return [client.get(thing.get_absolute_url()).status_code for thing in things]


ALL, NONE = [200] * 4, [404] * 4


def test_members_see_it_others_do_not_and_it_ends_with_the_membership(
    ada, alice, bob, carl, team, things
):
    launch = reverse("configuration_launch", args=[things.configuration.pk])
    assert things.seen_by(bob) == NONE
    assert client_of(bob).post(launch, {"key": "1"}).status_code == 404
    things.share(team)
    assert (things.seen_by(bob), things.seen_by(carl)) == (ALL, NONE)
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


def test_members_change_nothing(bob, team, things):
    things.share(team)
    client = client_of(bob)
    for view, key in (
        ("run_cancel", things.run.pk),
        ("run_share", things.run.pk),
        ("dataset_share", things.dataset.pk),
        ("prompt_share", things.prompt.pk),
        ("configuration_share", things.configuration.pk),
        ("configuration_remove", things.configuration.pk),
    ):
        assert client.post(reverse(view, args=[key]), {"share": "yes"}).status_code == 403
    assert not Run.objects.filter(is_shared=True).exists()
    assert "Rename" not in client.get(reverse("teams")).text
    given = {"do": "rename", "name": "mine"}
    assert client.post(reverse("team", args=[team.pk]), given).status_code == 403
    assert Asker(bob).patch("/teams/research", {"name": "mine"}).status_code == 403


def test_lists_have_what_is_shared_with_the_team_and_have_it_once(
    ada, alice, bob, carl, team, things
):
    told = "The members of a team may see it"
    pages = (things.configuration.get_absolute_url(), reverse("configurations"))
    owner, member, stranger = (client_of(person) for person in (alice, bob, carl))
    for address in pages:
        assert told not in owner.get(address).text
    things.share(team)
    for address in pages:
        assert told in owner.get(address).text
    for view, name in (
        ("runs", "/runs/"),
        ("datasets", "sums"),
        ("prompts", "triage"),
        ("configurations", "nightly"),
        ("run_new", "nightly"),
    ):
        assert name in member.get(reverse(view)).text
    assert "triage" not in stranger.get(reverse("prompts")).text
    for view in ("configurations", "run_new"):
        assert "nightly" not in stranger.get(reverse(view)).text
    add_member(ada, team, "carl")
    for person in (alice, bob, carl):
        assert list(runs_for(person)) == [things.run], "however many are in the team"


@pytest.mark.parametrize("kind", ["run", "dataset", "prompt", "configuration"])
def test_the_page_shares_with_a_team_with_everybody_or_with_nobody(alice, team, things, kind):
    thing = getattr(things, kind)
    client, address = client_of(alice), reverse(f"{kind}_share", args=[thing.pk])
    assert "Share with research" in client.get(address).text
    told = []
    for given in ({"share": "team", "team": team.pk}, {"share": "yes"}, {"share": "no"}):
        assert client.post(address, given)["Location"] == thing.get_absolute_url()
        thing.refresh_from_db()
        told.append((thing.is_shared, thing.team))
    assert told == [(False, team), (True, None), (False, None)]
    actions = AuditEntry.objects.filter(action__startswith=kind, action__contains="shared")
    assert list(actions.order_by("pk").values_list("action", "detail")) == [
        (f"{kind}.shared", "with the team research"),
        (f"{kind}.shared", ""),
        (f"{kind}.unshared", ""),
    ]


def test_nobody_shares_with_a_team_that_they_are_not_in(carl, team):
    run = make_run(carl, make_dataset(carl, "other"))
    address = reverse("run_share", args=[run.pk])
    assert "research" not in client_of(carl).get(address).text
    given = {"share": "team", "team": team.pk}
    assert client_of(carl).post(address, given).status_code == 404
    answer = Asker(carl).patch(f"/runs/{run.pk}", {"team": "research"})
    assert answer.status_code == 422
    assert "You are in no team of this name" in answer.text
    run.refresh_from_db()
    assert run.team is None


def test_later_versions_stay_with_the_team_also_of_somebody_who_is_erased(
    ada, alice, bob, team, things
):
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
    assert admin.ask("delete", "/teams/research/members/bob").json()["changed"]
    assert [member.get(path).status_code for path in paths] == NONE
    assert admin.ask("delete", "/teams/research").json()["changed"]
    assert not Team.objects.exists()
    assert told_of_run(owner) == {(False, None)}
    share_run(run, alice, is_shared=True)
    assert told_of_run(owner) == {(True, None)}


def test_a_renamed_team_keeps_its_members_and_what_is_shared_with_it(ada, bob, team, things):
    things.share(team)
    admin = Asker(ada)
    assert admin.patch("/teams/research", {"name": " Research "}).json()["changed"]
    assert not admin.patch("/teams/Research", {"name": "Research"}).json()["changed"]
    assert admin.patch("/teams/research", {"name": "lost"}).status_code == 404
    given = {"do": "rename", "name": "evaluation"}
    page = client_of(ada).post(reverse("team", args=[team.pk]), given, follow=True)
    assert "The team is called evaluation now." in page.text
    assert things.seen_by(bob) == ALL
    assert Asker(bob).get("/prompts/triage").json()["team"] == "evaluation"
    renamed = AuditEntry.objects.filter(action="team.renamed").order_by("pk")
    assert list(renamed.values_list("actor", "subject", "detail")) == [
        ("ada", "Research", "from research to Research"),
        ("ada", "evaluation", "from Research to evaluation"),
    ]


@pytest.mark.postgresql("collation: names are told apart whatever their capitals")
def test_a_wrong_name_makes_and_renames_no_team(ada, team):
    create_team(ada, "sales")
    admin, client = Asker(ada), client_of(ada)
    for name in ("", " ", "x" * 81, "a/b", "a\nb", "SALES"):
        assert client.post(reverse("teams"), {"name": name}).status_code == 400, name
        assert admin.post("/teams", {"name": name}).status_code == 422, name
        assert admin.patch("/teams/research", {"name": name}).status_code == 422, name
        given = {"do": "rename", "name": name}
        page = client.post(reverse("team", args=[team.pk]), given, follow=True).text
        assert "printable characters" in page or "of this name already" in page, name
    assert sorted(Team.objects.values_list("name", flat=True)) == ["research", "sales"]
    assert not AuditEntry.objects.filter(action="team.renamed").exists()


def test_the_page_is_for_members_and_its_buttons_for_administrators(ada, bob, carl, team):
    page = client_of(bob).get(reverse("teams")).text
    assert "research" in page
    assert "Take out" not in page
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
