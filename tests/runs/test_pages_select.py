"""The page of a choice among combinations: who leads, who was given up and why, what was saved."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from runs.models import Case, Run, RunState
from runs.models import Score as ScoreRow
from runs.selectors.selection import selection_of
from runs.selectors.stored_history import stored_history
from runs.services.runs import create_run
from tests.runs.page_parts import client_of, make_dataset, make_endpoint, make_person
from workers.engine.kinds import open_session
from workers.engine.records import Trial
from workers.engine.spec import read_configuration

pytestmark = pytest.mark.django_db

CASES = 30


@pytest.fixture
def ada() -> User:
    return make_person("ada")


@pytest.fixture
def choice(ada: User) -> Run:
    """Played to its end: the large solver is always right, the small one never."""
    make_endpoint()
    dataset = make_dataset(ada, rows=CASES)
    models = ["simulated/sim-small", "simulated/sim-large"]
    run = create_run(
        ada,
        {
            "name": "pick",
            "kind": "select",
            "dataset": dataset.name,
            "steps": [{"name": "solver", "user": "{{question}}", "models": models}],
            "scorers": ["exact"],
            "strategy": {"name": "paired_elimination"},
        },
    )
    play(run)
    return run


def play(run: Run) -> None:
    """Stores what workers would have stored."""
    session = open_session(read_configuration(run.document), CASES)
    candidates = {row.key: row for row in run.candidates.all()}
    cases = {case.position: case for case in Case.objects.filter(dataset=run.dataset)}
    asked = 0
    while trials := session.plan(100):
        asked += len(trials)
        rows = [score_of(run, trial, candidates, cases) for trial in trials]
        ScoreRow.objects.bulk_create(rows)
        session.absorb(stored_history(run, session.told))
    Run.objects.filter(pk=run.pk).update(
        asked=asked, done=asked, planned=asked, state=RunState.COMPLETED, started=now(), ended=now()
    )
    run.refresh_from_db()


def score_of(
    run: Run, trial: Trial, candidates: dict[str, Any], cases: dict[int, Case]
) -> ScoreRow:
    candidate = candidates[trial.candidate]
    is_right = "sim-large" in candidate.name
    return ScoreRow(
        run=run,
        position=trial.position,
        candidate=candidate,
        case=cases[trial.case],
        value=float(is_right),
        passed=is_right,
        latency_ms=120.0,
        cost=0.002,
        full_cost=0.002,
        finished=now(),
    )


def test_the_report_tells_who_won_and_what_was_saved(choice: Run) -> None:
    report = selection_of(choice)
    best, other = report.rows
    assert (best.name, best.is_best, best.accuracy) == ("solver=simulated/sim-large", True, 1.0)
    assert best.low is not None
    assert best.low < 1.0
    assert best.latency_ms == 120.0
    assert best.dollars_per_sample == pytest.approx(0.002)
    assert other.eliminated_in == len(report.rounds)
    assert "1.000 worse than solver=simulated/sim-large" in other.why
    assert report.evaluations == choice.done < report.brute_force == 2 * CASES
    assert report.saved_share == 1 - choice.done / (2 * CASES)
    assert report.rounds[0].split == (50, 1)


def test_the_page_shows_the_combinations_and_their_fate(choice: Run, ada: User) -> None:
    page = client_of(ada).get(f"/runs/{choice.pk}/").content.decode()
    assert "Combinations</h2>" in page
    assert "Paired elimination: round" in page
    assert "Chosen" in page
    assert "Given up in round" in page
    assert 'class="given-up"' in page


def test_the_rows_are_fetched_alone_while_it_goes_on(choice: Run, ada: User) -> None:
    Run.objects.filter(pk=choice.pk).update(state=RunState.RUNNING, ended=None)
    rows = client_of(ada).get(f"/runs/{choice.pk}/leaderboard/").content.decode()
    assert "Leads" in rows
    assert "<html" not in rows


@pytest.mark.parametrize("tab", ["scores", "errors", "events", "configuration"])
def test_the_other_tabs_and_a_trial_work_as_for_every_kind(
    choice: Run, ada: User, tab: str
) -> None:
    client = client_of(ada)
    assert client.get(f"/runs/{choice.pk}/{tab}/").status_code == 200
    assert client.get(f"/runs/{choice.pk}/trials/0/").status_code == 200
    assert client.get("/runs/?kind=select").status_code == 200
    assert client.get(f"/runs/new/?from={choice.pk}").status_code == 200
