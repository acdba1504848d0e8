"""Tags, notes, stars and saved views: who puts them on, how they filter, by page and by REST."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Run, RunStar, RunState, SavedView
from runs.roles import Role
from runs.selectors.runs.attention import find_alerts
from runs.services.organising import MOST_VIEWS, change_tags, set_tags, star_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_person, make_run
from tests.runs.test_pages_runs import ids_on

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def listed(person, **query):
    return ids_on(client_of(person).get(reverse("runs"), query).text)


def told(person, **query):
    answer = Asker(person).get("/runs", **query)
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["data"]]


@pytest.mark.postgresql("JSON and dates: tags and endpoints are found by SQL of each database")
def test_each_filter_finds_the_same_runs_on_the_page_and_by_rest(alice, bob, dataset):
    olga = make_person("olga", role=Role.OPERATOR)
    make_run(alice, dataset)
    mine = make_run(alice, dataset, snapshot_of={"endpoints": {"main": {}}})
    his = make_run(bob, dataset)
    old = make_run(alice, dataset)
    Run.objects.filter(pk=old.pk).update(created=now() - 10 * DAY)
    set_tags(mine, alice, ["baseline"])
    star_run(his, olga, is_starred=True)
    star_run(mine, bob, is_starred=True)  # whoever else starred it does not matter
    before = now() - 5 * DAY
    until = {"created_until": before.isoformat().replace("+00:00", "Z")}
    for on_page, by_rest, wanted in (
        ({"owner": "bob"}, {"owner": "bob"}, his),
        ({"endpoint": "main"}, {"endpoint": "main"}, mine),
        ({"tag": "baseline"}, {"tag": "baseline"}, mine),
        ({"starred": "1"}, {"starred": "true"}, his),
        ({"to": before.date().isoformat()}, until, old),
    ):
        assert listed(olga, **on_page) == [wanted.pk], on_page
        assert told(olga, **by_rest) == [wanted.pk], by_rest
    since = {"from": before.date().isoformat()}
    assert old.pk not in listed(olga, **since)
    assert len(listed(olga, **since)) == 3
    for mangled in ({"from": "yesterday"}, {"to": "9999-12-31"}, {"endpoint": 'a"$[*]'}):
        assert client_of(alice).get(reverse("runs"), mangled).status_code == 200
    assert listed(alice, tag="%") == []


def test_who_only_sees_a_run_stars_it(alice, bob, dataset):
    run = make_run(alice, dataset, is_shared=True)
    set_tags(run, alice, ["baseline"])
    eve = make_person("eve", role=Role.VIEWER)
    for person in (bob, eve):
        client = client_of(person)
        page = {"next": reverse("runs") + "?q=first"}
        answer = client.post(reverse("run_star", args=[run.pk]), {"star": "yes", **page})
        assert (answer.status_code, answer["Location"]) == (302, "/runs/?q=first")
        assert listed(person, tag="baseline", starred=1) == [run.pk]
    assert RunStar.objects.count() == 2
    assert not listed(alice, starred=1), "a star is its giver's own"
    assert Asker(eve).get(f"/runs/{run.pk}").json()["starred"] is True
    assert Asker(eve).ask("delete", f"/runs/{run.pk}/star").json()["changed"]
    assert not listed(eve, starred=1)
    for place in ("https://evil.example/", "//evil.example/runs/", "/people/"):
        form = {"star": "yes", "next": place}
        answer = client_of(alice).post(reverse("run_star", args=[run.pk]), form)
        assert answer["Location"] == f"/runs/{run.pk}/", "nobody is led elsewhere by a form"


def test_tags_and_note_show_everywhere_and_what_cannot_be_a_tag_is_refused(alice, dataset):
    run = make_run(alice, dataset)
    client = client_of(alice)
    form = {"tags": " june  report, <b>bold</b>, june report,", "note": "Before\r\nMay & after."}
    assert client.post(reverse("run_about", args=[run.pk]), form).status_code == 302
    for address in (reverse("runs"), reverse("run", args=[run.pk])):
        page = client.get(address).text
        assert "june report" in page
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
        assert "May &amp; after." in page
    found = Asker(alice).get(f"/runs/{run.pk}").json()
    assert found["tags"] == ["<b>bold</b>", "june report"]
    assert found["note"] == "Before\nMay & after."
    for tags in ("x" * 41, "\x01", ",".join(f"t{n}" for n in range(21))):
        assert Asker(alice).patch(f"/runs/{run.pk}", {"tags": tags.split(",")}).status_code == 422
    assert client.post(reverse("run_about", args=[run.pk]), {"tags": tags}).status_code == 400
    assert change_tags(run, alice, add=["new"], remove=["june report"])
    (listed_run,) = Asker(alice).get("/runs", fields="tags").json()["data"]
    assert listed_run == {"tags": ["<b>bold</b>", "new"]}


def test_a_view_of_chosen_columns_is_saved_and_removed_by_its_owner_alone(alice, bob, dataset):
    make_run(alice, dataset)
    client = client_of(alice)
    query = "state=failed&before=99&show=run&show=cost&csrfmiddlewaretoken=x"
    answer = client.post(reverse("run_views"), {"name": " Broken  ones ", "query": query})
    assert answer["Location"] == "/runs/?state=failed&show=run&show=cost"
    view = SavedView.objects.get()
    page = client.get(reverse("runs"), {"show": ["run", "owner", "cost"]}).text
    assert 'href="/runs/?state=failed&amp;show=run&amp;show=cost">Broken ones</a>' in page
    columns = ("Owner", "Cost", "Score", "Time")
    assert [f'data-label="{name}"' in page for name in columns] == [True, True, False, False]
    client.cookies["run_columns"] = "run.best"
    page = client.get(reverse("runs")).text
    assert ('data-label="Best candidate"' in page, 'data-label="Cost"' in page) == (True, False)
    assert "Broken ones" not in client_of(bob).get(reverse("runs")).text
    removal = reverse("run_view_remove", args=[view.pk])
    assert client_of(bob).post(removal).status_code == 404
    client.post(reverse("run_views"), {"name": "Broken ones", "query": "kind=select"})
    assert SavedView.objects.get().query == "kind=select", "the same name is replaced"
    assert client.post(removal).status_code == 302
    assert not SavedView.objects.exists()
    SavedView.objects.bulk_create(SavedView(owner=alice, name=str(n)) for n in range(MOST_VIEWS))
    answer = client.post(reverse("run_views"), {"name": "one more"}, follow=True)
    assert "which is the most" in answer.text
    assert SavedView.objects.count() == MOST_VIEWS


ALERTS: list[tuple[dict[str, Any], str]] = [
    ({"state": RunState.PAUSED, "reason": "Paused by alice"}, "resume"),
    ({"state": RunState.PAUSED, "reason": "x", "spent_budgets": {"dollars": 1}}, "raise"),
    ({"state": RunState.PAUSED, "reason": "Paused for maintenance by ada"}, ""),
    ({"state": RunState.FAILED, "ended": now(), "reason": "No endpoint."}, "duplicate"),
    ({"state": RunState.COMPLETED_WITH_ERRORS, "ended": now(), "failed": 1, "done": 3}, "retry"),
]


@pytest.mark.usefixtures("still_clock")
def test_what_needs_attention_says_why_and_offers_its_action(alice, dataset):
    """What goes on, or is archived, or failed long ago, does not come."""
    runs = [make_run(alice, dataset, **{"ended": None, **fields}) for fields, _ in ALERTS]
    make_run(alice, dataset)
    long_ago = now() - timedelta(minutes=20)
    going = {"state": RunState.RUNNING, "ended": None, "started": long_ago, "going_since": long_ago}
    stalled, well = (make_run(alice, dataset, **going) for _ in range(2))
    stalled.samples.create(second=100, fresh=3)
    well.samples.create(second=1130, fresh=9)  # more than a minute ago
    well.samples.create(second=1190, fresh=5, cached=2, failed=1)
    failed = make_run(alice, dataset, state=RunState.FAILED)
    make_run(alice, dataset, state=RunState.FAILED, archived=now())
    make_run(alice, dataset, state=RunState.FAILED, ended=now() - 8 * DAY)
    waiting = Run.objects.filter(pk__in=[run.pk for run in runs])
    alerts = find_alerts(waiting)
    wanted = dict(zip(runs, [action for _, action in ALERTS], strict=True))
    assert {alert.run: alert.action for alert in alerts} == wanted
    assert all(alert.why for alert in alerts)
    others = [(one.run, one.action) for one in find_alerts(Run.objects.exclude(pk__in=waiting))]
    assert others == [(stalled, "look"), (failed, "duplicate")]
    page = client_of(alice).get(reverse("runs"))
    assert list(page.context["alerts"]) == list(find_alerts(Run.objects.all()))
    assert not client_of(alice).get(reverse("runs"), {"q": "first"}).context["alerts"]
    (row,) = [row for row in page.context["rows"] if row.run == well]
    assert sum(row.spark) == 8
    assert 'class="spark"' in page.text
