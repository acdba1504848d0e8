"""A selection that was played to its end, stored as workers would have."""

from django.utils.timezone import now

from runs.models import Case, Run, RunState, Score
from runs.selectors.runs.stored_history import stored_history
from runs.services.chunks.totals import tally_by_candidate
from runs.services.runs import create_run
from workers.engine.kinds import read_configuration
from workers.engine.records import EVALUATE
from workers.engine.session import Session


def make_selection(owner, dataset, **changes):
    """The large solver is always right, the small one never."""
    models = ["simulated/sim-small", "simulated/sim-large"]
    document = {
        "name": "pick",
        "kind": "select",
        "dataset": dataset.name,
        "steps": [{"name": "solver", "user": "{{question}}", "models": models}],
        "scorers": ["exact"],
        "strategy": {"name": "paired_elimination"},
    }
    run = create_run(owner, {**document, **changes})
    play(run)
    return run


def play(run):
    """Stores what workers would have stored."""
    session = Session(read_configuration(run.document).open_strategy(run.dataset.rows))
    candidates = {row.key: row for row in run.candidates.all()}
    cases = {case.position: case for case in Case.objects.filter(dataset=run.dataset)}
    asked = 0
    while trials := session.plan(100):
        asked += len(trials)
        Score.objects.bulk_create([score_of(run, trial, candidates, cases) for trial in trials])
        session.absorb(stored_history(run, session.told))
    count(run)
    ended = {"state": RunState.COMPLETED, "started": now(), "ended": now(), "chosen": session.best}
    Run.objects.filter(pk=run.pk).update(asked=asked, done=asked, planned=asked, **ended)
    run.refresh_from_db()


def score_of(run, trial, candidates, cases):
    candidate = candidates[trial.candidate]
    is_right = "sim-large" in candidate.name
    became = {"value": float(is_right), "passed": is_right, "latency_ms": 120.0, "finished": now()}
    place = {"position": trial.position, "candidate": candidate, "case": cases[trial.case]}
    return Score(run=run, cost=0.002, full_cost=0.002, **place, **became)


def count(run):
    scored = ((score.candidate_id, EVALUATE, score) for score in run.scores.all())
    tallies = tally_by_candidate(scored)
    for candidate in run.candidates.filter(pk__in=list(tallies)):
        tallies[candidate.pk].add_to(candidate)
        candidate.save()
        tallies[candidate.pk].add_to(run)
    run.save()
