"""Held-out cases in a run of the command's own process: told as of a stored run."""

from runs.management import here_results
from runs.management.here_runs import HereRun
from workers.engine.kinds import read_configuration
from workers.engine.records import CONFIRM, Case, Score
from workers.engine.session import Session
from workers.engine.strategies.confirmed import confirmation_key

CASES = [Case(place, {"question": "?", "expected": "1"}) for place in range(12)]


def played(**changes: object) -> HereRun:
    """The second prompt is right everywhere but on the last three trials, which confirm it."""
    document = {
        "kind": "evaluate",
        "dataset": "sums",
        "prompts": [{"name": name, "user": "{{question}}", "system": name} for name in "abc"],
        "models": ["one/m"],
        "scorers": ["exact"],
        **changes,
    }
    configuration = read_configuration(document)
    session = Session(configuration.begin(len(CASES)))
    run = HereRun(configuration, CASES, "sums@1", "", {})
    while not session.is_finished:
        trials = session.plan(10)
        second = session.candidates[1].key
        known = {second: 1.0, confirmation_key(second): 0.0}
        fresh = [Score(t, value=known.get(t.candidate, float(t.case % 2))) for t in trials]
        session.absorb(fresh)
        run.scores += fresh
    run.candidates = list(session.candidates)
    return run


def test_both_values_of_the_best_are_told() -> None:
    run = played(held_out=3)
    found = here_results.confirmation_of(run)
    assert found is not None
    assert found.name == "b · one/m"
    assert found.text.startswith("1.000 where it was chosen, 0.000 on 3 cases that it had not seen")
    assert here_results.candidate_lines(run)[0].name == "b · one/m"
    assert len(here_results.candidate_lines(run)) == 3
    assert here_results.role_lines(run)[CONFIRM].done == 3
    assert run.planned == 27


def test_nothing_held_out_is_nothing_to_tell() -> None:
    run = played()
    assert here_results.confirmation_of(run) is None
    assert run.planned == 36
