"""What other pages, the API and comparisons make of a selection."""

import pytest

from runs.models import Run, RunState
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.runs.best_candidates import find_leaders
from runs.selectors.runs.run_list import describe
from runs.selectors.runs.run_summary import summarise
from tests.harness.factories import client_of, make_dataset, make_run
from tests.runs.selection_parts import make_selection

pytestmark = pytest.mark.django_db

CASES = 30


@pytest.fixture
def selection(alice, endpoint):
    """The small model was given up early, with nothing right."""
    return make_selection(alice, make_dataset(alice, rows=CASES))


def test_the_score_of_a_selection_is_that_of_its_winner(selection, alice):
    other = make_run(alice, selection.dataset)
    rows = {row.run.pk: row for row in describe([selection, other])}
    found = rows[selection.pk].score
    assert found is not None
    assert found.value == 1.0  # half of what was tried was wrong
    assert rows[other.pk].score is None
    assert client_of(alice).get("/runs/").status_code == 200
    for runs in ([selection], [selection, other]):
        told = summarise(runs)[0]  # as the API tells it
        assert told.best is not None
        assert told.best.name == "solver=simulated/sim-large"
        assert told.score.value == told.best.value == 1.0
        assert told.score.n == told.best.n


def test_what_was_chosen_leads_though_another_is_more_accurate(selection, alice):
    """As it may be where price and latency count; alone and among others."""
    small = selection.candidates.get(name__endswith="sim-small")
    selection.candidates.filter(pk=small.pk).update(scored=1)
    Run.objects.filter(pk=selection.pk).update(chosen=small.position)
    selection.refresh_from_db()
    for others in ([], [make_selection(alice, selection.dataset)]):
        assert find_leaders([selection, *others])[selection.pk] == small


def test_without_a_choice_who_saw_most_leads_once_it_is_decided(selection):
    """As selections of an earlier version have none."""
    Run.objects.filter(pk=selection.pk).update(chosen=None)
    selection.refresh_from_db()
    assert find_leaders([selection])[selection.pk].name == "solver=simulated/sim-large"

    selection.state = RunState.RUNNING
    assert find_leaders([selection]) == {}
    assert describe([selection])[0].score is None


def test_selections_are_compared_by_what_they_chose(selection, alice):
    large = "simulated/sim-large"
    hot = {"endpoint": "simulated", "model": "sim-large", "parameters": {"temperature": 1.0}}
    step = {"name": "solver", "user": "{{question}}", "models": [hot]}
    later = make_selection(alice, selection.dataset, steps=[step], strategy="brute_force")
    found = compare_runs(selection, later)
    [change] = found.candidates
    assert change.before == f"solver={large}"
    assert change.after.startswith(f"solver={large} {{")
    assert found.only_before == found.only_after == []
    assert found.overall is not None
    assert found.overall.mean == 0.0
