"""Old runs go with all that is theirs; live ones and answers that others may use stay."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from runs.models import CachedReply, Chunk, Run, RunEvent, RunSample, RunState, Score, ScoreRecord
from runs.services.removing import retention
from tests.harness.factories import (
    add_cached_reply,
    add_record,
    add_score,
    make_dataset,
    make_run,
)

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def dataset(alice):
    return make_dataset(alice)


def full_run(owner, dataset, key, **fields):
    run = make_run(owner, dataset, **fields)
    for case in dataset.cases.all():
        add_record(add_score(run, case, run.candidates.get(), case.position), {"steps": [1]})
    Chunk.objects.create(run=run, start=0, trials=[])
    RunSample.objects.create(run=run, second=1)
    RunEvent.objects.create(run=run, message="Started.")
    add_cached_reply(run, key * 64)
    return run


def rows() -> dict[str, int]:
    models = (Run, Score, ScoreRecord, Chunk, RunSample, RunEvent, CachedReply)
    return {model.__name__: model.objects.count() for model in models}


def say(**options) -> str:
    out = StringIO()
    call_command("prune_runs", stdout=out, **options)
    return out.getvalue()


def test_a_run_that_ended_long_ago_goes_whole_and_its_answers_stay(alice, dataset, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)  # three scores: more than one part
    old = full_run(alice, dataset, "a", ended=now() - 100 * DAY)
    kept = full_run(alice, dataset, "b", ended=now() - 10 * DAY)
    assert say(older_than_days=90) == "1 run with 3 scores. Add --yes to remove it.\n"
    assert rows()["Run"] == 2
    assert say(older_than_days=90, yes=True) == "Removed 1 run.\n"
    assert rows() == {
        "Run": 1,
        "Score": 3,
        "ScoreRecord": 3,
        "Chunk": 1,
        "RunSample": 1,
        "RunEvent": 1,
        "CachedReply": 2,
    }
    assert not Run.objects.filter(pk=old.pk).exists()
    assert CachedReply.objects.get(key="a" * 64).run is None
    assert CachedReply.objects.get(key="b" * 64).run == kept


@pytest.mark.parametrize("state", RunState.live())
def test_a_run_that_has_not_ended_is_never_removed(alice, dataset, state):
    full_run(alice, dataset, "a", state=state, ended=None, started=now() - 400 * DAY)
    before = rows()
    assert say(older_than_days=0, yes=True) == "Removed 0 runs.\n"
    assert rows() == before


@pytest.mark.parametrize("days", [-1, 40_000])
def test_an_age_out_of_bounds_is_refused(days):
    with pytest.raises(CommandError, match="Give 0 to 36500"):
        say(older_than_days=days, yes=True)
