"""What workers wrote can be looked at, filtered and searched in the admin, and not changed."""

import pytest
from django.contrib.auth.models import User
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

READ_ONLY = [CachedReply, Candidate, Chunk, Dataset, Run, RunEvent, RunSample, Score]

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator():
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def page(client, operator):
    client.force_login(operator)
    return client


def address(model, name="changelist", *args):
    return reverse(f"admin:runs_{model._meta.model_name}_{name}", args=args)


def make_run(owner, scores=3):
    dataset = Dataset.objects.create(name="sums", columns=["question"], rows=scores, digest="d")
    run = Run.objects.create(
        owner=owner, name="first", kind="evaluate", document={}, dataset=dataset
    )
    candidate = Candidate.objects.create(run=run, position=0, key="k", name="plain", document={})
    Chunk.objects.create(run=run, start=0, trials=[])
    RunEvent.objects.create(run=run, message="Started.")
    RunSample.objects.create(run=run, second=0)
    CachedReply.objects.create(
        key="c" * 64, endpoint="simulated", model="m", text="t", latency_ms=1, created=now()
    )
    for position in range(scores):
        case = Case.objects.create(dataset=dataset, position=position, fields={"question": "?"})
        Score.objects.create(
            run=run,
            position=position,
            candidate=candidate,
            case=case,
            value=1.0 if position else None,
            error_class="" if position else "timeout",
            finished=now(),
        )
    return run


def make_run_beside(run):
    return Run.objects.create(
        owner=run.owner, name="second", kind="evaluate", document={}, dataset=run.dataset
    )


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda model: model.__name__)
def test_what_workers_wrote_cannot_be_changed(page, operator, model):
    make_run(operator)
    stored = model.objects.first()
    before = model.objects.values().get(pk=stored.pk)
    assert page.get(address(model, "add")).status_code == 403
    assert page.post(address(model, "change", stored.pk), {"name": "x"}).status_code == 403
    assert page.post(address(model, "delete", stored.pk), {"post": "yes"}).status_code == 403
    page.post(address(model), {"action": "delete_selected", "_selected_action": [stored.pk]})
    assert model.objects.values().get(pk=stored.pk) == before


@pytest.mark.parametrize(
    ("model", "query", "count"),
    [
        (Score, {"outcome": "ok"}, 2),
        (Score, {"outcome": "failed"}, 1),
        (Score, {"outcome": "timeout"}, 1),
        (Score, {"outcome": "refused"}, 0),
        (Score, {"q": "first"}, 3),
        (Run, {"q": "ada"}, 1),
        (Run, {"state__exact": "queued"}, 1),
        (Chunk, {"state__exact": "done"}, 0),
        (CachedReply, {"q": "c" * 64}, 1),
    ],
)
def test_lists_are_filtered_and_searched(page, operator, model, query, count):
    make_run(operator)
    answer = page.get(address(model), query)
    assert answer.context["cl"].result_count == count


def test_a_run_leads_to_its_parts(page, operator):
    run = make_run(operator)
    other = make_run_beside(run)
    shown = page.get(address(Run, "change", run.pk)).content.decode()
    link = f"{address(Score)}?run__id__exact={run.pk}"
    assert link in shown
    assert page.get(link).context["cl"].result_count == 3
    assert page.get(f"{address(Score)}?run__id__exact={other.pk}").context["cl"].result_count == 0


@pytest.mark.parametrize("model", [*READ_ONLY, Endpoint], ids=lambda model: model.__name__)
def test_a_longer_list_takes_no_more_queries(page, operator, model):
    run = make_run(operator)
    Endpoint.objects.create(name="a", kind="simulated", key_set_by=operator)
    with CaptureQueriesContext(
        connection,
    ) as few:
        page.get(address(model))
    for place in range(1, 6):
        Candidate.objects.create(run=run, position=place, key=f"k{place}", name="n", document={})
        Chunk.objects.create(run=run, start=place * 10, trials=[])
        RunEvent.objects.create(run=run, message="m")
        RunSample.objects.create(run=run, second=place)
        Endpoint.objects.create(name=f"b{place}", kind="simulated", key_set_by=operator)
        Dataset.objects.create(name=f"d{place}", columns=[], rows=0, digest="d", owner=operator)
        make_run_beside(run)
    with CaptureQueriesContext(connection) as many:
        page.get(address(model))
    assert len(many) <= len(few)


def test_a_huge_table_is_not_counted_to_its_end(page, operator):
    make_run(operator)
    with CaptureQueriesContext(connection) as queries:
        page.get(address(Score))
    counts = [
        query["sql"] for query in queries if "COUNT(*)" in query["sql"] and "score" in query["sql"]
    ]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)


def test_every_view_of_what_workers_wrote_opens(page, operator):
    make_run(operator)
    for model in READ_ONLY:
        stored = model._default_manager.first()
        assert stored is not None
        assert page.get(address(model)).status_code == 200
        assert page.get(address(model, "change", stored.pk)).status_code == 200
        assert page.get(address(model, "history", stored.pk)).status_code == 200
