"""What a run brought, through the API."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from runs.models import RunSample, Score
from runs.services.events import note
from tests.harness.factories import add_candidate, add_score, make_run

pytestmark = pytest.mark.django_db

SCORE = {
    "candidate",
    "case",
    "repeat",
    "value",
    "passed",
    "error",
    "answer",
    "latency_ms",
    "tokens_in",
    "tokens_out",
    "cost",
    "cached",
    "truncated",
    "attempts",
}


def test_a_score_has_the_shape_that_was_promised(asker, run):
    right, failed = asker.get(f"/runs/{run.pk}/scores").json()["data"]
    assert right.keys() >= SCORE
    assert (right["candidate"], right["case"], right["repeat"]) == ("key0", 0, 0)
    assert (right["value"], right["passed"], right["error"]) == (1.0, True, None)
    assert (failed["value"], failed["passed"]) == (None, None)
    assert failed["error"] == {"class": "timeout", "message": "no answer"}
    assert right["attempts"] == 1


@pytest.mark.parametrize(
    ("query", "positions"),
    [
        ({"status": "failed"}, [1]),
        ({"status": "correct"}, [0]),
        ({"error": "timeout"}, [1]),
        ({"error": "refused"}, []),
        ({"candidate": "key0"}, [0, 1]),
        ({"case": 1}, [1]),
        ({"case": 7}, []),
        ({"fields": "position"}, [0, 1]),
        ({"limit": 1}, [0]),
    ],
)
def test_scores_are_filtered(asker, run, query, positions):
    found = asker.get(f"/runs/{run.pk}/scores", **query).json()["data"]
    assert [row["position"] for row in found] == positions


def test_repeats_come_folded_where_that_is_asked_for(asker, run):
    candidate, case = run.candidates.get(), run.dataset.cases.get(position=0)
    for repeat, value in ((1, 0.0), (2, 1.0)):
        add_score(run, case, candidate, repeat + 1, repeat=repeat, value=value, passed=value == 1)
    first, second = asker.get(f"/runs/{run.pk}/scores", folded="true").json()["data"]
    assert (first["position"], first["case"], first["tries"], first["passes"]) == (0, 0, 3, 2)
    assert (first["value"], first["failed"], first["latency_ms"]) == (pytest.approx(2 / 3), 0, 100)
    assert (second["tries"], second["failed"], second["value"]) == (1, 1, None)
    [wrong] = asker.get(f"/runs/{run.pk}/scores", folded="true", status="wrong").json()["data"]
    assert (wrong["position"], wrong["matching"], wrong["tries"]) == (2, 1, 3)
    page = asker.get(f"/runs/{run.pk}/scores", folded="true", limit=1, fields="case,tries").json()
    assert page["data"] == [{"case": 0, "tries": 3}]
    rest = asker.get(f"/runs/{run.pk}/scores", folded="true", limit=1, cursor=page["next_cursor"])
    assert [row["case"] for row in rest.json()["data"]] == [1]
    assert len(asker.get(f"/runs/{run.pk}/scores").json()["data"]) == 4


def test_an_answer_that_was_cut_is_marked_and_found(asker, run):
    run.scores.filter(position=0).update(truncated=True)
    [cut] = asker.get(f"/runs/{run.pk}/scores", status="truncated").json()["data"]
    assert (cut["position"], cut["truncated"]) == (0, True)
    assert asker.get(f"/runs/{run.pk}/trials/0").json()["truncated"] is True


@pytest.mark.parametrize("flaw", ["truncated", "filtered", "no_text"])
def test_an_answer_that_is_not_whole_is_an_error_of_its_own(asker, run, flaw):
    run.scores.filter(position=1).update(
        error_class=flaw, answer="half", truncated=flaw == "truncated"
    )
    for query in ({"status": flaw}, {"error": flaw}):
        [found] = asker.get(f"/runs/{run.pk}/scores", **query).json()["data"]
        assert (found["value"], found["error"]["class"], found["answer"]) == (None, flaw, "half")
    address = f"/runs/{run.pk}/scores?status={flaw}"
    file = asker.ask("get", address, headers={"Accept": "text/csv"})
    lines = file.getvalue().decode().splitlines()
    assert len(lines) == 2
    assert f",{flaw}," in lines[1]


@pytest.mark.parametrize("query", [{"candidate": "nobody"}, {"error": "bad"}, {"status": "fine"}])
def test_a_filter_that_can_match_nothing_is_refused(asker, run, query):
    assert asker.get(f"/runs/{run.pk}/scores", **query).status_code == 422


def test_scores_come_page_by_page_while_more_arrive(asker, run, dataset):
    first = asker.get(f"/runs/{run.pk}/scores", limit=1).json()
    add_score(run, dataset.cases.get(position=2), run.candidates.get(), 2)
    rest = asker.get(f"/runs/{run.pk}/scores", limit=5, cursor=first["next_cursor"]).json()
    assert [row["position"] for row in rest["data"]] == [1, 2]
    assert rest["next_cursor"] is None


def test_since_gives_only_what_finished_later(asker, run, dataset):
    Score.objects.update(finished=now() - timedelta(minutes=5))
    as_of = asker.get(f"/runs/{run.pk}/scores").json()["as_of"]
    assert asker.get(f"/runs/{run.pk}/scores", since=as_of).json()["data"] == []
    add_score(run, dataset.cases.get(position=2), run.candidates.get(), 2)
    found = asker.get(f"/runs/{run.pk}/scores", since=as_of).json()["data"]
    assert [row["position"] for row in found] == [2]


def test_the_leaderboard_is_answered_best_first_and_page_by_page(asker, run):
    for number in range(3):
        add_candidate(run, prompt=f"p{number}")
    first = asker.get(f"/runs/{run.pk}/candidates", limit=3).json()
    rest = asker.get(f"/runs/{run.pk}/candidates", limit=3, cursor=first["next_cursor"]).json()
    rows = first["data"] + rest["data"]
    assert [row["place"] for row in rows] == [1, 2, 3, 4]
    assert [row["rank"] for row in rows] == [1, None, None, None]
    assert (rows[0]["candidate"], rows[0]["n"], rows[0]["failed"]) == ("key0", 1, 1)
    assert rest["next_cursor"] is None


def test_a_trial_is_shown_with_its_prompt_and_attempts(asker, run):
    found = asker.get(f"/runs/{run.pk}/trials/0").json()
    assert found["prompt"] == [{"role": "user", "content": "What is 0 + 1?"}]
    assert found["fields"] == {"question": "What is 0 + 1?", "expected": "1"}
    [attempt] = found["attempt_log"]
    assert attempt == {
        "what": "call",
        "outcome": "ok",
        "waited_ms": 1.0,
        "took_ms": 100.0,
        "message": "",
        "step": "",
    }
    assert found["calls"] == []
    said = {"name": "exact", "value": 1.0, "passed": True, "label": "", "reason": "is '4'"}
    assert found["judgements"] == [
        {**said, "error": "", "votes": []}
    ]  # stored before there were labels
    assert asker.get(f"/runs/{run.pk}/trials/2").status_code == 404


def test_the_chart_history_is_answered(asker, run):
    RunSample.objects.create(run=run, second=3, fresh=2, in_flight=5)
    found = asker.get(f"/runs/{run.pk}/samples").json()
    assert found["step_seconds"] == 1
    assert found["data"] == [
        {
            "second": 3,
            "fresh": 2.0,
            "cached": 0.0,
            "failed": 0.0,
            "in_flight": 5,
            "latency_p50": None,
            "latency_p95": None,
        }
    ]


def test_events_are_answered_oldest_first_and_from_where_one_stopped(asker, run):
    for number in range(3):
        note(run, f"event {number}")
    first = asker.get(f"/runs/{run.pk}/events", limit=2).json()
    assert [event["message"] for event in first["data"]] == ["event 0", "event 1"]
    rest = asker.get(f"/runs/{run.pk}/events", limit=2, cursor=first["next_cursor"]).json()
    assert [event["message"] for event in rest["data"]] == ["event 2"]
    assert asker.get(f"/runs/{run.pk}/events", level="error").json()["data"] == []


def test_runs_are_compared_over_the_same_cases(asker, stranger, alice, run, dataset):
    other = make_run(alice, dataset)
    for position, value in enumerate((0.0, 1.0)):
        case, passed = dataset.cases.get(position=position), bool(value)
        add_score(other, case, other.candidates.get(), position, value=value, passed=passed)
    answer = asker.get("/compare", base=run.pk, **{"with": f"{other.pk},{run.pk}"})
    changed, same = answer.json()["data"]
    assert (changed["pairs"], changed["regressions"], changed["comparable"]) == (1, 1, False)
    assert changed["overall"]["mean"] == -1.0
    assert changed["changed"][0]["change"] == -1.0
    assert (same["regressions"], same["changed_total"]) == (0, 0)
    assert stranger.get("/compare", base=run.pk, **{"with": other.pk}).status_code == 404


@pytest.mark.parametrize("query", [{}, {"base": 1}, {"base": 1, "with": "x"}, {"with": "1"}])
def test_a_comparison_needs_two_runs(asker, run, query):
    assert asker.get("/compare", **query).status_code == 422
