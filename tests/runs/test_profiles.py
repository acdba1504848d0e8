"""A person chooses theme and time zone once, for all devices, and no page asks for more rows."""

import json
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import AuditEntry, Profile, Scope
from runs.selectors.profiles import time_zones
from runs.services.people.profiles import change_profile
from runs.services.people.tokens import create_token
from tests.harness.factories import client_of, make_dataset, make_person, make_run

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
LONDON, KATHMANDU = "Europe/London", "Asia/Kathmandu"


@pytest.fixture
def eve():
    return make_person("eve")


def page(client, view="profile", *args):
    answer = client.get(reverse(view, args=args))
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_choice_holds_on_other_devices_over_what_they_remember(eve):
    desk, phone = client_of(eve), client_of(eve)
    phone.cookies["theme"] = "light"
    assert 'data-theme="light"' in page(phone)
    desk.post(reverse("profile"), {"theme": "dark", "time_zone": LONDON})
    for device in (desk, phone):
        assert f'data-theme="dark" data-zone="{LONDON}"' in page(device)
    desk.post(reverse("theme"), {"theme": "system"})
    assert 'data-theme="system"' in page(phone, "runs")


def test_a_choice_under_way_counts_in_its_browser_until_the_profile_has_it(eve):
    change_profile(eve, theme="dark")
    browser = client_of(eve)
    browser.cookies["theme_unsaved"] = "light"
    assert 'data-theme="light"' in page(browser)
    answer = browser.post(reverse("theme"), {"theme": "light"})
    assert answer.cookies["theme_unsaved"]["max-age"] == 0
    assert 'data-theme="light"' in page(client_of(eve))


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("", "1 Jul 2026, 12:00:00 UTC"),
        (LONDON, "1 Jul 2026, 13:00:00 BST"),
        (KATHMANDU, "1 Jul 2026, 17:45:00 +0545"),
        ("Atlantis/Sunken", "1 Jul 2026, 12:00:00 UTC"),  # of a machine that knew it
    ],
)
def test_pages_show_times_in_the_zone_and_files_do_not(eve, zone, shown):
    Profile.objects.create(person=eve, time_zone=zone)
    run = make_run(eve, make_dataset(eve), ended=NOON)
    assert shown in page(client_of(eve), "run_configuration", run.pk)
    headers = {"Authorization": f"Bearer {create_token(eve, 'x', [Scope.READ]).text}"}
    ended = Client().get(f"/api/v1/runs/{run.pk}", headers=headers).json()["ended"]
    assert ended.startswith("2026-07-01T12:00:00")


@pytest.mark.usefixtures("remembered_health")
def test_the_profile_comes_with_the_account(eve):
    def queries():
        with CaptureQueriesContext(connection) as found:
            page(client, "datasets")
        return len(found)

    client = client_of(eve)
    page(client, "datasets")  # the first one starts the session
    before = queries()
    change_profile(eve, theme="dark", time_zone=LONDON)
    assert queries() == before


@pytest.mark.parametrize(
    ("chosen", "field"),
    [
        ({"theme": "pink", "time_zone": "UTC"}, "theme"),
        ({"theme": "dark", "time_zone": "Europe/Atlantis"}, "time_zone"),
        ({"theme": "dark", "time_zone": "../../etc/passwd"}, "time_zone"),
    ],
)
def test_what_does_not_exist_is_refused_by_page_and_api(eve, chosen, field):
    answer = client_of(eve).post(reverse("profile"), chosen)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    answer = patch_me(eve, chosen)
    assert answer.status_code == 422
    assert field in answer.content.decode()
    assert not Profile.objects.exists()


def patch_me(person, changes):
    headers = {"Authorization": f"Bearer {create_token(person, 'x', [Scope.MANAGE]).text}"}
    return Client().patch(
        "/api/v1/me", json.dumps(changes), content_type="application/json", headers=headers
    )


def test_a_script_changes_what_it_names_and_nothing_else(eve):
    change_profile(eve, theme="dark")
    assert patch_me(eve, {"time_zone": LONDON}).json()["changed"]
    assert not patch_me(eve, {"time_zone": LONDON}).json()["changed"]
    me = client_of(eve).get("/api/v1/me").json()
    assert (me["theme"], me["time_zone"]) == ("dark", LONDON)
    told = AuditEntry.objects.filter(action="profile.changed").order_by("pk")
    assert [row.detail for row in told] == ["theme dark", f"time zone {LONDON}"]


def test_there_are_cities_of_the_whole_world_and_every_name_fits():
    assert {"UTC", LONDON, "America/New_York", "Pacific/Auckland"} < set(time_zones())
    longest = Profile._meta.get_field("time_zone").max_length
    assert longest is not None
    assert max(map(len, time_zones())) <= longest
