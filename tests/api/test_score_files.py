"""All scores of a run as one file, by what the caller accepts."""

import csv
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import AsyncClient

from runs.models import Score
from runs.selectors.scores.lines import PAGE_ROWS
from tests.harness.factories import make_dataset, make_run, new_score

pytestmark = pytest.mark.django_db


def ask_for(asker, run, accept, **query):
    address = f"/runs/{run.pk}/scores?{urlencode(query)}"
    return asker.ask("get", address, headers={"Accept": accept})


def test_csv_has_question_expected_and_judgements(asker, run):
    answer = ask_for(asker, run, "text/csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    right, failed = csv.DictReader(answer.getvalue().decode().splitlines())
    assert (right["question"], right["expected"], right["answer"]) == ("What is 0 + 1?", "1", "4")
    assert (right["judgements"], right["truncated"]) == ("exact 1: is '4'", "False")
    assert (failed["value"], failed["error_class"]) == ("", "timeout")


def test_json_lines_are_filtered_like_the_list(asker, run):
    answer = ask_for(asker, run, "application/x-ndjson, */*;q=0.1", status="correct")
    [line] = answer.getvalue().decode().splitlines()
    found = json.loads(line)
    assert (found["position"], found["expected"]) == (0, "1")
    assert found["judgements"][0]["reason"] == "is '4'"


def test_a_file_has_all_scores_however_many_pages_they_are_read_in(asker, alice):
    dataset = make_dataset(alice, "many", rows=2 * PAGE_ROWS + 1)
    run = make_run(alice, dataset)
    candidate = run.candidates.get()
    Score.objects.bulk_create(
        new_score(run, case, candidate, case.position) for case in dataset.cases.all()
    )
    lines = ask_for(asker, run, "application/x-ndjson").getvalue().decode().splitlines()
    assert [json.loads(line)["position"] for line in lines] == list(range(2 * PAGE_ROWS + 1))


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html, */*;q=0.8"])
def test_who_does_not_ask_for_a_file_gets_json(asker, run, accept):
    answer = ask_for(asker, run, accept)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


@pytest.mark.parametrize("accept", ["application/xml", "text/html", "application/pdf;q=0.9"])
def test_what_cannot_be_made_is_refused_as_a_problem(asker, run, accept):
    answer = ask_for(asker, run, accept)
    assert (answer.status_code, answer["Content-Type"]) == (406, "application/problem+json")
    assert "text/csv" in answer.json()["detail"]


@pytest.mark.parametrize("query", [{"limit": 5}, {"cursor": "x"}, {"fields": "position"}])
def test_a_file_has_no_pages_and_no_chosen_fields(asker, run, query):
    answer = ask_for(asker, run, "text/csv", **query)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["path"] == next(iter(query))


def test_a_strangers_scores_are_not_there(stranger, run):
    assert ask_for(stranger, run, "text/csv").status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_a_server_sends_the_file_part_by_part(alice, run):
    client = AsyncClient()
    await client.aforce_login(alice)
    answer: Any = await client.get(f"/runs/{run.pk}/scores.csv")
    assert answer.is_async, "Django would read all of it before it sends the first byte"
    text = b"".join([part async for part in answer.streaming_content]).decode()
    assert len(list(csv.DictReader(text.splitlines()))) == 2
