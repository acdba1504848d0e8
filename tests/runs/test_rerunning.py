"""Rerunning what matters, through its page: as a new run, in place, and what is refused."""

from typing import Any

import pytest
from django.urls import reverse

from runs.models import CachedReply, Chunk, ChunkState, Override, Run, RunState, Verdict
from runs.selectors.case_sources import positions_of
from runs.selectors.scores.requests import first_calls
from tests.harness.factories import (
    add_cached_reply,
    add_candidate,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)

pytestmark = pytest.mark.django_db

WRONG = {"value": 0.0, "passed": False, "answer": "7"}
FAILED = {"error_class": "timeout", "error_message": "No full answer within 5 s."}


@pytest.fixture
def run(alice):
    """Candidates plain and terse on four cases: trials 0 to 3 and 4 to 7. Of plain, trials 1 and 3
    were wrong, of terse 6; trial 2 failed."""
    make_endpoint()
    dataset = make_dataset(alice, rows=4)
    prompts = [{"name": name, "system": "", "user": "{{question}}"} for name in ("plain", "terse")]
    document = run_document(dataset, prompts=prompts)
    totals = {"done": 8, "failed": 1, "scored": 7, "value_sum": 4.0, "value_square_sum": 4.0}
    run = make_run(alice, dataset, document=document, planned=8, **totals)
    add_candidate(run, "terse")
    run.candidates.filter(position=0).update(done=4, failed=1, scored=3, value_sum=1.0)
    run.candidates.filter(position=1).update(done=4, scored=4, value_sum=3.0)
    trials = [
        [4 * candidate + case, candidate, case, 0] for candidate in (0, 1) for case in range(4)
    ]
    Chunk.objects.create(run=run, start=0, trials=trials, state=ChunkState.DONE)
    fields: dict[int, dict[str, Any]] = {1: WRONG, 2: FAILED, 3: WRONG, 6: WRONG}
    for position, candidate, case, _ in trials:
        add_score(
            run,
            dataset.cases.get(position=case),
            run.candidates.get(position=candidate),
            position,
            **fields.get(position, {}),
        )
    return run


def rerun(person, run, query, **posted):
    address = f"{reverse('run_rerun', args=[run.pk])}?{query}"
    return client_of(person).post(address, posted)


def page_of(person, run, query=""):
    return client_of(person).get(f"{reverse('run_rerun', args=[run.pk])}?{query}").content.decode()


@pytest.mark.parametrize(
    ("query", "rows", "prompts", "what"),
    [
        ("status=wrong", [1, 2, 3], ["plain", "terse"], "3 wrong trials"),
        ("status=failed", [2], ["plain", "terse"], "1 failed trial"),
        ("status=wrong&candidate=1", [2], ["terse"], "1 filtered trial"),
        ("trial=0&trial=3&trial=99", [0, 3], ["plain"], "2 chosen trials"),
        ("q=What+is+1", [1], ["plain", "terse"], "2 filtered trials"),
    ],
)
def test_a_new_run_has_exactly_the_cases_that_were_chosen(alice, run, query, rows, prompts, what):
    answer = rerun(alice, run, query, how="new", cache="refresh")
    new = Run.objects.latest("pk")
    assert answer["Location"] == new.get_absolute_url()
    assert list(positions_of(new)) == rows
    assert [prompt["name"] for prompt in new.document["prompts"]] == prompts
    assert new.planned == len(rows) * len(prompts)
    same = ("kind", "scorers", "models")
    assert {name: new.document[name] for name in same} == {
        name: run.document[name] for name in same
    }
    assert (new.document["cache"], new.rerun_of, new.rerun_what) == ("refresh", run, what)
    run.refresh_from_db()
    assert (run.state, run.done) == (RunState.COMPLETED, 8)


def test_both_runs_link_to_each_other(alice, run):
    rerun(alice, run, "status=wrong", how="new", cache="use")
    new = Run.objects.latest("pk")
    client = client_of(alice)
    first, second = (client.get(one.get_absolute_url()).content.decode() for one in (run, new))
    assert f'<a href="{new.get_absolute_url()}">run {new.pk}</a>' in first
    assert f'<a href="{run.get_absolute_url()}">run {run.pk}</a>' in second
    assert "3 wrong trials" in second
    assert new.document["cache"] == "use"
    run.is_shared = True
    run.save()
    stranger = client_of(make_person("bob")).get(run.get_absolute_url()).content.decode()
    assert new.get_absolute_url() not in stranger


def test_in_place_the_old_results_are_taken_back_and_asked_for_past_the_cache(alice, run):
    scores = {score.position: score for score in run.scores.select_related("candidate", "case")}
    keys = {position: call.key for position, call in first_calls(run, scores.values()).items()}
    for position in (0, 1, 3):
        add_cached_reply(run, keys[position])
    Override.objects.create(score=scores[1], run=run, author=alice, verdict=Verdict.RIGHT, value=1)
    page = page_of(alice, run, "status=wrong")
    assert "the new results replace the old ones" in page
    assert "comment on 1 of them" in page
    rerun(alice, run, "status=wrong", how="in_place")
    assert list(run.scores.values_list("position", flat=True)) == [0, 2, 4, 5, 7]
    assert set(CachedReply.objects.values_list("key", flat=True)) == {keys[0]}
    assert not run.overrides.exists()
    run.refresh_from_db()
    assert (run.state, run.done, run.scored, run.failed) == (RunState.RUNNING, 5, 4, 1)
    assert run.chunks.get().state == ChunkState.PENDING
    assert run.events.last().message == "alice ran 3 wrong trials again in place."


def test_a_run_that_decides_by_its_trials_is_not_rewritten_in_place(alice, run):
    Run.objects.update(kind="select")
    answer = rerun(alice, run, "status=wrong", how="in_place")
    assert answer.status_code == 400
    assert "decided by these trials" in answer.content.decode()
    assert run.scores.count() == 8


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "Say which trials"),
        ("trial=99", "No trial that has a result fits"),
        ("status=cached", "No trial that has a result fits"),
        ("trial=x&trial=-1&trial=99999999999999999999", "Say which trials"),
    ],
)
@pytest.mark.parametrize("how", ["new", "in_place"])
def test_nothing_is_started_where_nothing_is_chosen(alice, run, query, told, how):
    answer = rerun(alice, run, query, how=how)
    assert answer.status_code == 400
    assert told in answer.content.decode()
    assert Run.objects.count() == 1
    assert run.scores.count() == 8


def test_a_removed_endpoint_stops_it_before_anything_is_lost(alice, run):
    run.candidates.filter(position=0).update(
        document={
            "prompt": {"name": "plain", "system": "", "user": "{{question}}"},
            "model": {"endpoint": "gone", "model": "m", "parameters": {}},
        }
    )
    answer = rerun(alice, run, "trial=1", how="in_place")
    assert "The endpoint gone was removed" in answer.content.decode()
    assert run.scores.count() == 8


def test_the_tables_lead_there(alice, run):
    client = client_of(alice)
    scores = client.get(reverse("run_scores", args=[run.pk]), {"status": "wrong"}).content.decode()
    place = reverse("run_rerun", args=[run.pk])
    assert f'href="{place}?status=wrong"' in scores
    assert f'formaction="{place}"' in scores
    errors = client.get(reverse("run_errors", args=[run.pk])).content.decode()
    assert f'href="{place}?error=timeout"' in errors


def test_a_rerun_can_be_duplicated_in_the_form_with_its_rows(alice, run):
    rerun(alice, run, "trial=1&trial=3", how="new")
    new = Run.objects.latest("pk")
    page = client_of(alice).get(reverse("run_new"), {"run": new.pk}).content.decode()
    assert 'name="only" value="1, 3"' in " ".join(page.split())


def test_a_hostile_name_is_shown_as_text(alice, run):
    Run.objects.update(name="<script>alert(1)</script>")
    assert "<script>alert" not in page_of(alice, run, "status=wrong")
