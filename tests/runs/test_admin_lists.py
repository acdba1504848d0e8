"""What workers wrote can be looked at, filtered and searched in the admin, and not changed."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from runs.models import (
    CachedReply,
    Candidate,
    Case,
    Chunk,
    Dataset,
    Endpoint,
    Run,
    RunEvent,
    RunSample,
    Score,
)

READ_ONLY: list[type[Any]] = [
    CachedReply,
    Candidate,
    Chunk,
    Dataset,
    Run,
    RunEvent,
    RunSample,
    Score,
]

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, ada):
    ada.is_superuser = True
    ada.save()
    client.force_login(ada)
    return client


def address(model, name="changelist", *args):
    return reverse(f"admin:runs_{model._meta.model_name}_{name}", args=args)


@pytest.fixture
def run(ada):
    """With a row in every table that workers write to, and three scores."""
    dataset = Dataset.objects.create(name="sums", columns=["question"], rows=3, digest="d")
    run = Run.objects.create(owner=ada, name="first", kind="evaluate", document={}, dataset=dataset)
    candidate = Candidate.objects.create(run=run, position=0, key="k", name="plain", document={})
    Chunk.objects.create(run=run, start=0, trials=[])
    RunEvent.objects.create(run=run, message="Started.")
    RunSample.objects.create(run=run, second=0)
    CachedReply.objects.create(
        key="c" * 64, endpoint="simulated", model="m", text="t", latency_ms=1, created=now()
    )
    for place in range(3):
        case = Case.objects.create(dataset=dataset, position=place, fields={"question": "?"})
        outcome = {"value": 1.0} if place else {"error_class": "timeout"}
        Score.objects.create(
            run=run, position=place, candidate=candidate, case=case, finished=now(), **outcome
        )
    return run


def make_run_beside(run):
    return Run.objects.create(
        owner=run.owner, name="second", kind="evaluate", document={}, dataset=run.dataset
    )


def test_what_workers_wrote_can_be_looked_at_and_not_changed(page, run):
    answers = {}
    for model in READ_ONLY:
        stored = model.objects.first()
        before = model.objects.values().get(pk=stored.pk)
        answers[model.__name__] = [
            page.get(address(model)).status_code,
            page.get(address(model, "change", stored.pk)).status_code,
            page.get(address(model, "history", stored.pk)).status_code,
            page.get(address(model, "add")).status_code,
            page.post(address(model, "change", stored.pk), {"name": "x"}).status_code,
            page.post(address(model, "delete", stored.pk), {"post": "yes"}).status_code,
        ]
        page.post(address(model), {"action": "delete_selected", "_selected_action": [stored.pk]})
        assert model.objects.values().get(pk=stored.pk) == before
    wanted = [200, 200, 200, 403, 403, 403]
    assert {name: found for name, found in answers.items() if found != wanted} == {}


FILTERED = [
    (Score, {"outcome": "ok"}, 2),
    (Score, {"outcome": "failed"}, 1),
    (Score, {"outcome": "timeout"}, 1),
    (Score, {"outcome": "refused"}, 0),
    (Score, {"q": "first"}, 3),
    (Run, {"q": "ada"}, 1),
    (Run, {"state__exact": "queued"}, 1),
    (Chunk, {"state__exact": "done"}, 0),
    (CachedReply, {"q": "c" * 64}, 1),
]


def test_lists_are_filtered_and_searched(page, run):
    for model, query, count in FILTERED:
        found = page.get(address(model), query).context["cl"].result_count
        assert found == count, (model, query)


def test_a_run_leads_to_its_parts(page, run):
    other = make_run_beside(run)
    shown = page.get(address(Run, "change", run.pk)).content.decode()
    link = f"{address(Score)}?run__id__exact={run.pk}"
    assert link in shown
    assert page.get(link).context["cl"].result_count == 3
    assert page.get(f"{address(Score)}?run__id__exact={other.pk}").context["cl"].result_count == 0


def queries_of(page, model):
    with CaptureQueriesContext(connection) as asked:
        page.get(address(model))
    return len(asked)


def test_a_longer_list_takes_no_more_queries(page, run, ada):
    Endpoint.objects.create(name="a", kind="simulated", key_set_by=ada)
    lists = [*READ_ONLY, Endpoint]
    few = {model: queries_of(page, model) for model in lists}
    for place in range(1, 6):
        Candidate.objects.create(run=run, position=place, key=f"k{place}", name="n", document={})
        Chunk.objects.create(run=run, start=place * 10, trials=[])
        RunEvent.objects.create(run=run, message="m")
        RunSample.objects.create(run=run, second=place)
        Endpoint.objects.create(name=f"b{place}", kind="simulated", key_set_by=ada)
        Dataset.objects.create(name=f"d{place}", columns=[], rows=0, digest="d", owner=ada)
        make_run_beside(run)
    many = {model: queries_of(page, model) for model in lists}
    assert {model: many[model] for model in lists if many[model] > few[model]} == {}


@pytest.mark.postgresql("SQL: the count of a huge table is cut by a statement of our own")
def test_a_huge_table_is_not_counted_to_its_end(page, run):
    with CaptureQueriesContext(connection) as queries:
        page.get(address(Score))
    counts = [
        query["sql"] for query in queries if "COUNT(*)" in query["sql"] and "score" in query["sql"]
    ]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)
