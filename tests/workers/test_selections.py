"""Selections as they are stored: each strategy decides as it does in memory, whoever goes on with
it, and decides again, as if nothing had failed, when what failed is retried."""

import zlib
from dataclasses import replace

import pytest
from django.urls import reverse

from runs.kinds.select.standing import selection_of
from runs.models import RunState
from runs.reports.leaderboard_table import lines_below
from runs.reports.markdown import write_markdown
from runs.run_reports import report_of_run
from runs.selectors.runs.confirmation import held_out_of
from runs.selectors.runs.leaderboard import leaderboard
from runs.selectors.runs.snapshot import can_retry
from runs.selectors.runs.stored_history import stored_history
from runs.services.chunks import leases
from runs.services.chunks.planning import advance_run, take_warm
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of
from tests.harness.table import table
from tests.workers.by_hand import plain, work_one_chunk, work_through
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import CONFIRM, EVALUATE, Score
from workers.engine.session import Session
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.confirmed import confirmation_key, split_cases

pytestmark = pytest.mark.django_db(transaction=True)

CASES = 10
MORE_THAN_ANY_ROUND = 1000


@pytest.fixture
def short(selection):
    return {**selection, "dataset": {"name": "sums", "first": CASES}}


def answered(trial):
    """Right as often as the candidate's key says, on the same cases each time."""
    skill = zlib.crc32(trial.candidate.encode()) % 90
    hardness = zlib.crc32(f"{trial.candidate} {trial.case}".encode()) % 100
    return Score(trial, value=float(hardness < skill), passed=True, latency_ms=5.0)


def partly_failed(trial):
    if (trial.case + len(trial.candidate)) % 4 == 0 or trial.candidate < "8":
        return Score(trial, error="timeout", message="No full answer within 5 s.")
    return answered(trial)


def in_memory(document, outcome):
    session = Session(read_configuration(document).begin(CASES))
    found = []
    while trials := session.plan(MORE_THAN_ANY_ROUND):
        found += [outcome(trial) for trial in trials]
        session.absorb(found[-len(trials) :])
    return plain(found)


def counts_of(run):
    counts = ("done", "failed", "scored", "value_sum", "latency_bins")
    return [*run.candidates.values_list(*counts), tuple(getattr(run, name) for name in counts)]


@table(*SELECTIONS)
def test_after_a_retry_the_run_is_as_if_nothing_had_failed(alice, short, set_constant, name):
    short["strategy"] = {"name": name}
    expected = work_through(create_run(alice, short), answered, in_turns=True)
    assert plain(stored_history(expected)) == in_memory(short, answered)
    set_constant(leases, "MOST_SHARED", 1)  # as of many: each chunk reads its own candidates
    run = work_through(create_run(alice, short), partly_failed)
    assert run.failed
    assert can_retry(run)
    assert retry_failed(run, alice) == run.failed
    work_through(run, answered)
    assert run.state == RunState.COMPLETED
    assert plain(stored_history(run)) == plain(stored_history(expected))
    assert run.planned == run.asked == run.done
    assert selection_of(run).rows == selection_of(expected).rows
    assert counts_of(run) == counts_of(expected)


def test_each_ends_though_a_model_and_a_case_always_fail(alice, short):
    short["steps"][1]["models"] = ["simulated/sim-small:400", "simulated/sim-large"]
    made = read_configuration(short).make_candidates()
    broken = {one.key for one in made if one.name.endswith(":400")}
    assert len(broken) == 2

    def outcome(trial):
        error = "refused" if trial.candidate in broken else "scorer_error"
        if trial.candidate in broken or trial.case == 3:
            return Score(trial, error=error, message="For good.")
        return answered(trial)

    chosen = {}
    for name in SELECTIONS:
        run = create_run(alice, {**short, "strategy": {"name": name}})
        work_through(run, outcome)
        assert run.state == RunState.COMPLETED_WITH_ERRORS, name
        rows = selection_of(run).rows
        if name == "paired_elimination":
            assert all(row.why for row in rows if row.key in broken)
        told = [row for row in rows if row.is_best]
        keys = list(run.candidates.order_by("position").values_list("key", flat=True))
        assert [row.key for row in told] == ([] if run.chosen is None else [keys[run.chosen]])
        for row in told:
            chosen[name] = row.key
    assert len(chosen) >= len(SELECTIONS) - 1  # a random search may see only what fails
    assert {name: key for name, key in chosen.items() if key in broken} == {}


def test_what_fails_again_changes_nothing_and_no_retry_comes_early(alice, selection, short):
    run = work_through(create_run(alice, selection), partly_failed)
    before = plain(stored_history(run))
    retry_failed(run, alice)
    assert selection_of(run).rows  # the page, while scores in the middle are missing
    work_through(run, partly_failed)
    assert plain(stored_history(run)) == before
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    retry_failed(run, alice)
    work_through(run, answered)
    assert run.events.filter(message__contains="decides differently from trial").exists()
    with pytest.raises(ConfigurationError, match="duplicate the run"):
        rerun_trial(run, alice, 0)
    run = create_run(alice, short)
    advance_run(run.pk)
    work_one_chunk(run, partly_failed)
    assert run.failed
    assert not can_retry(run)
    with pytest.raises(ConfigurationError, match="Let it end, or pause it"):
        retry_failed(run, alice)


# --- Held-out cases: the best is scored on them before it is called the best

HELD_OUT = 5  # of 20 cases


@pytest.fixture(params=["evaluate", "select"])
def guarded(request, document, selection):
    """The same of both kinds that rank candidates by cases."""
    two = {**document, "prompts": document["prompts"][:2]}
    kinds = {"evaluate": two, "select": selection}
    return {**kinds[request.param], "held_out": HELD_OUT}


class Lucky:
    """One candidate is right everywhere but on held-out cases, where it is right on two."""

    def __init__(self, document, place=1):
        configuration = read_configuration(document)
        self.best = configuration.make_candidates()[place].key
        self.held_out = split_cases(20, HELD_OUT, configuration.seed).held_out

    def __call__(self, trial):
        if trial.candidate == confirmation_key(self.best):
            is_right = trial.case in self.held_out[:2]
        else:
            is_right = trial.candidate == self.best or trial.case % 4 == 0
        return Score(trial, value=float(is_right), passed=is_right, latency_ms=5.0)


def test_the_best_is_scored_on_cases_that_it_was_not_chosen_by(alice, guarded):
    lucky = Lucky(guarded)
    run = work_through(create_run(alice, guarded), lucky)
    assert run.state == RunState.COMPLETED
    assert run.candidates.get(role=CONFIRM).done == run.by_role[CONFIRM]["done"] == HELD_OUT
    assert run.chosen is not None
    assert run.candidates.get(position=run.chosen).key == lucky.best
    told = held_out_of(run)
    assert told is not None
    found = told.confirmation
    assert found is not None
    assert found.key == lucky.best
    assert found.chosen_by is not None
    assert found.held_out is not None
    assert (found.chosen_by.value, found.held_out.value) == (1.0, 0.4)
    assert "1.000 where it was chosen, 0.400 on 5 cases that it had not seen" in found.text
    assert leaderboard(run)[0].key == lucky.best
    assert {row.planned for row in leaderboard(run)} == {15}
    check_everywhere(run, alice, found.text)
    if run.kind == "select":  # which is told without its confirmation
        report = selection_of(run)
        assert report.evaluations == run.done
        assert len(report.rows) == run.candidates.filter(role=EVALUATE).count()
        assert report.brute_force == 15 * len(report.rows)


def check_everywhere(run, alice, text):
    """Page, API, commands and reports show both values."""
    for name in ("run", "run_leaderboard", "run_scores"):
        page = client_of(alice).get(reverse(name, args=[run.pk])).text
        assert (text in page) == (name != "run_scores")
    asker = Asker(alice)
    told = asker.get(f"/runs/{run.pk}").json()["confirmation"]
    assert (told["chosen_by"]["value"], told["held_out"]["value"]) == (1.0, 0.4)
    assert (told["held_out_cases"], told["is_done"]) == (HELD_OUT, True)
    (row,) = asker.get(f"/runs/{run.pk}/candidates", role=CONFIRM).json()["data"]
    assert (row["value"], row["rank"], row["n"]) == (0.4, None, HELD_OUT)
    report = report_of_run(run)
    assert text in write_markdown(report)
    assert any(text in line for line in lines_below(report))
    assert report.as_record()["confirmation"] == told
    trial = run.scores.filter(candidate__role=CONFIRM)[0]
    page = client_of(alice).get(trial.get_absolute_url()).text
    assert "Expected" in page


def test_nobody_is_called_the_best_before_that(alice, both):
    guarded = {**both, "held_out": HELD_OUT}
    lucky, run = Lucky(guarded), create_run(alice, guarded)
    page = reverse("run_leaderboard", args=[run.pk])
    assert "5 cases held out" in client_of(alice).get(page).text
    advance_run(run.pk)
    while run.by_role.get(CONFIRM, {"done": 0})["done"] == 0 and not run.is_finished:
        assert not any(row.leads for row in leaderboard(run))
        work_one_chunk(run, lucky)
        take_warm(run.pk)  # as if another worker went on
    run = work_through(run, lucky)
    assert leaderboard(run)[0].leads


def test_a_retry_that_makes_another_one_best_confirms_that_one(alice, guarded):
    first, second = Lucky(guarded, 1), Lucky(guarded, 2)

    def unlucky(trial):
        """What would be the best fails, everywhere but on a case in five."""
        if trial.candidate == second.best and trial.case % 5:
            return Score(trial, error="timeout", message="No answer.")
        score = first(trial)
        return replace(score, value=0.9) if trial.candidate == first.best else score

    run = work_through(create_run(alice, guarded), unlucky)
    assert confirmed(run) == confirmation_key(first.best)
    with pytest.raises(ConfigurationError):
        rerun_trial(run, alice, 0)
    assert retry_failed(run, alice)

    def retried(trial):
        known = {second.best, confirmation_key(second.best)}
        return Score(trial, value=1.0, passed=True) if trial.candidate in known else first(trial)

    work_through(run, retried)
    assert run.state == RunState.COMPLETED
    assert confirmed(run) == confirmation_key(second.best)
    assert (run.by_role[CONFIRM]["done"], run.planned) == (HELD_OUT, run.done)


def confirmed(run):
    return str(run.candidates.get(role=CONFIRM).key)
