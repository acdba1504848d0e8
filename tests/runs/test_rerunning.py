"""Trials again: chosen ones through their page, failed ones, one alone; and what is refused."""

import pytest
from django.urls import reverse

from runs.models import CachedReply, Chunk, ChunkState, Override, Run, RunState, Score, Verdict
from runs.selectors.case_sources import positions_of
from runs.selectors.runs.snapshot import take_snapshot
from runs.selectors.scores.requests import first_calls
from runs.services.chunks.kept_answers import anew_in
from runs.services.control.retrying import rerun_trial, retry_failed
from tests.harness.factories import (
    add_cached_reply,
    add_candidate,
    client_of,
    make_dataset,
    make_run,
    run_document,
)
from tests.runs.comparing_parts import make_scored, store_outcomes

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice, endpoint):
    """Candidates plain and terse on four cases: trials 0 to 3 and 4 to 7. Of plain, trials 1 and 3
    were wrong, of terse 6; trial 2 failed."""
    dataset = make_dataset(alice, rows=4)
    prompts = [{"name": name, "system": "", "user": "{{question}}"} for name in ("plain", "terse")]
    run = make_run(alice, dataset, document=run_document(dataset, prompts=prompts), planned=8)
    add_candidate(run, "terse")
    trials = [
        [4 * candidate + case, candidate, case, 0] for candidate in (0, 1) for case in range(4)
    ]
    Chunk.objects.create(run=run, start=0, trials=trials, state=ChunkState.DONE)
    return store_outcomes(run, [1, 0, None, 0], [1, 1, 0, 1])


def rerun(person, run, query, **posted):
    address = f"{reverse('run_rerun', args=[run.pk])}?{query}"
    return client_of(person).post(address, posted)


def page_of(person, run, query=""):
    return client_of(person).get(f"{reverse('run_rerun', args=[run.pk])}?{query}").text


def test_a_new_run_has_exactly_the_cases_that_were_chosen(alice, run):
    for query, rows, prompts, what in (
        ("status=wrong", [1, 2, 3], ["plain", "terse"], "3 wrong trials"),
        ("status=failed", [2], ["plain", "terse"], "1 failed trial"),
        ("status=wrong&candidate=1", [2], ["terse"], "1 filtered trial"),
        ("trial=0&trial=3&trial=99", [0, 3], ["plain"], "2 chosen trials"),
        ("q=What+is+1", [1], ["plain", "terse"], "2 filtered trials"),
    ):
        answer = rerun(alice, run, query, how="new", cache="refresh")
        new = Run.objects.latest("pk")
        assert answer["Location"] == new.get_absolute_url()
        assert list(positions_of(new)) == rows
        assert [prompt["name"] for prompt in new.document["prompts"]] == prompts
        assert new.planned == len(rows) * len(prompts)
        for name in ("kind", "scorers", "models"):
            assert new.document[name] == run.document[name]
        assert (new.document["cache"], new.rerun_of, new.rerun_what) == ("refresh", run, what)
    run.refresh_from_db()
    assert (run.state, run.done) == (RunState.COMPLETED, 8)


def test_runs_link_to_each_other_can_be_duplicated_and_tables_lead_there(alice, browser, run, bob):
    rerun(alice, run, "status=wrong", how="new", cache="use")
    new = Run.objects.latest("pk")
    first, second = (browser.get(one.get_absolute_url()).text for one in (run, new))
    assert f'<a href="{new.get_absolute_url()}">run {new.pk}</a>' in first
    assert f'<a href="{run.get_absolute_url()}">run {run.pk}</a>' in second
    assert "3 wrong trials" in second
    assert new.document["cache"] == "use"
    run.is_shared = True
    run.save()
    assert new.get_absolute_url() not in client_of(bob).get(run.get_absolute_url()).text
    rerun(alice, run, "trial=1&trial=3", how="new")
    page = browser.get(reverse("run_new"), {"run": Run.objects.latest("pk").pk}).text
    assert 'name="only" value="1, 3"' in " ".join(page.split()), "a duplicate has its rows"
    Run.objects.update(name="<script>alert(1)</script>")
    assert "<script>alert" not in page_of(alice, run, "status=wrong")
    scores = browser.get(reverse("run_scores", args=[run.pk]), {"status": "wrong"}).text
    place = reverse("run_rerun", args=[run.pk])
    assert f'href="{place}?status=wrong"' in scores
    assert f'formaction="{place}"' in scores
    assert f'href="{place}?error=timeout"' in browser.get(reverse("run_errors", args=[run.pk])).text


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
    kept = {keys[position] for position in (0, 1, 3)}  # others may have paid for them
    assert set(CachedReply.objects.values_list("key", flat=True)) == kept
    assert not run.overrides.exists()
    run.refresh_from_db()
    assert (run.state, run.done, run.scored, run.failed) == (RunState.RUNNING, 5, 4, 1)
    chunk = run.chunks.get()
    assert (chunk.state, set(chunk.kept)) == (ChunkState.PENDING, {"1", "3", "6"})
    assert anew_in(chunk.kept) == {1, 3, 6}
    assert run.events.last().message == "alice ran 3 wrong trials again in place."


def test_nothing_is_started_where_nothing_can_be_and_nothing_is_lost(alice, run):
    nothing = "No trial that has a result fits"
    for query, how, told in (
        ("", "new", "Say which trials"),
        ("trial=99", "new", nothing),
        ("status=cached", "in_place", nothing),
        ("trial=x&trial=-1&trial=99999999999999999999", "in_place", "Say which trials"),
    ):
        answer = rerun(alice, run, query, how=how)
        assert (answer.status_code, told in answer.text) == (400, True), query
    first = run.candidates.get(position=0)
    first.document["model"]["endpoint"] = "gone"
    first.save()
    answer = rerun(alice, run, "trial=1", how="in_place")
    assert "The endpoint gone was removed" in answer.text
    Run.objects.update(kind="select")  # which decided by its trials
    answer = rerun(alice, run, "status=wrong", how="in_place")
    assert (answer.status_code, "decided by these trials" in answer.text) == (400, True)
    assert (Run.objects.count(), run.scores.count()) == (1, 8)


@pytest.fixture
def failed_run(alice, endpoint):
    """Six trials in three chunks; trials 1, 2 and 5 failed; the last chunk is still at work."""
    outcomes = [1, None, None, 1, 1, None]
    ended = {"state": RunState.COMPLETED_WITH_ERRORS, "planned": 6}
    run = make_scored(alice, make_dataset(alice, rows=6), outcomes, **ended)
    for start, state in ((0, ChunkState.DONE), (2, ChunkState.DONE), (4, ChunkState.LEASED)):
        trials = [[start, 0, start, 0], [start + 1, 0, start + 1, 0]]
        Chunk.objects.create(run=run, start=start, trials=trials, state=state, token=1)
    return run


def positions(run):
    return list(run.scores.values_list("position", flat=True))


@pytest.mark.postgresql("locks and the database's clock: totals are taken back at once")
def test_failed_trials_of_closed_chunks_are_put_back(alice, failed_run):
    run = failed_run
    assert retry_failed(run, alice) == 2
    assert positions(run) == [0, 3, 4, 5]
    states = run.chunks.order_by("start").values_list("state", flat=True)
    assert list(states) == [ChunkState.PENDING, ChunkState.PENDING, ChunkState.LEASED]
    run.refresh_from_db()
    assert (run.state, run.ended) == (RunState.RUNNING, None)
    assert (run.done, run.failed, run.scored) == (4, 1, 3)
    assert run.candidates.get().failed == 1
    assert run.events.last().message == "alice retried 2 failed trials."
    assert retry_failed(run, alice) == 0


def test_one_trial_is_run_again_and_no_longer_counted(alice, failed_run):
    run = failed_run
    assert rerun_trial(run, alice, 3)
    assert positions(run) == [0, 1, 2, 4, 5]
    run.refresh_from_db()
    assert (run.done, run.scored, run.value_sum, run.failed) == (5, 2, 2.0, 3)
    assert not rerun_trial(run, alice, 3)
    assert not rerun_trial(run, alice, 4), "what a worker still has is left to it"
    assert Score.objects.filter(run=run, position=4).exists()


def test_a_run_that_was_stopped_does_not_go_on_and_a_paused_one_does(alice, failed_run):
    run, address = failed_run, reverse("api:run_retry", args=[failed_run.pk])
    for state in (RunState.CANCELLED, RunState.FAILED):
        Run.objects.update(state=state)
        answer = client_of(alice).post(address, content_type="application/json")
        assert answer.status_code == 409
        assert "Duplicate it" in answer.json()["problems"][0]["message"]
        assert not take_snapshot(Run.objects.get(pk=run.pk))["can_retry"]
    assert positions(run) == list(range(6))
    Run.objects.update(state=RunState.PAUSED, ended=None, reason="The key was refused.")
    run.chunks.update(state=ChunkState.PENDING)  # given back, with trials that failed already
    assert retry_failed(run, alice) == 3
    run.refresh_from_db()
    assert (run.state, run.reason, positions(run)) == (RunState.RUNNING, "", [0, 3, 4])


def test_the_doors_answer(browser, failed_run):
    run = failed_run
    answer = browser.post(reverse("trial_rerun", args=[run.pk, 0]), follow=True)
    assert answer.status_code == 200
    assert positions(run) == [1, 2, 3, 4, 5]
    assert "Retry failed" in browser.get(run.get_absolute_url()).text
    answer = browser.post(reverse("api:run_retry", args=[run.pk]), content_type="application/json")
    assert answer.json() == {"applied": True, "changed": True, "trials": 2}
    assert browser.post(reverse("run_retry", args=[run.pk])).status_code == 302
    assert positions(run) == [3, 4, 5]
