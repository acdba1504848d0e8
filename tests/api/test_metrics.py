"""What a monitoring system reads."""

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from tests.api.asking import Asker
from tests.harness.factories import beat, client_of, make_person

pytestmark = pytest.mark.django_db


def read(asker):
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {asker.text}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_numbers_are_those_of_the_database(asker, run):
    beat("w1")
    numbers = read(asker)
    assert numbers["evalsite_runs", "running"] == 1
    assert numbers["evalsite_runs", "completed"] == 0
    assert numbers["evalsite_trials_total", "scored"] == 1
    assert numbers["evalsite_trials_total", "failed"] == 1
    assert numbers["evalsite_redis_up",] == 1
    assert numbers["evalsite_workers",] >= 1
    assert numbers["evalsite_calls_in_flight", "simulated", "sim-small"] == 0


def test_an_empty_site_has_numbers_too(asker):
    assert read(asker)["evalsite_cached_replies",] == 0


def test_they_are_for_reading_tokens_and_for_staff(alice, asker):
    assert Client().get("/metrics").status_code == 401
    assert Client().get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
    assert client_of(alice).get("/metrics").status_code == 401
    assert client_of(make_person("ada", staff=True)).get("/metrics").status_code == 200
    other = {"Authorization": f"Bearer {Asker(alice, 'run').text}"}
    assert Client().get("/metrics", headers=other).status_code == 403
