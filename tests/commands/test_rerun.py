"""`manage.py rerun`: which trials, as a new run or in place."""

import pytest

from runs.models import Chunk, ChunkState, Run
from runs.selectors.case_sources import positions_of
from tests.commands.conftest import command
from tests.harness.factories import add_score, make_dataset, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(ada, endpoint):
    """Three trials; the second was wrong, the third failed."""
    run = make_run(ada, make_dataset(ada), done=3, scored=2, failed=1)
    trials = [[place, 0, place, 0] for place in range(3)]
    Chunk.objects.create(run=run, start=0, trials=trials, state=ChunkState.DONE)
    run.candidates.update(done=3, scored=2, failed=1)
    for place, case in enumerate(run.dataset.cases.order_by("position")):
        wrong = {"value": 0.0, "passed": False} if place == 1 else {}
        failed = {"error_class": "timeout", "error_message": "late"} if place == 2 else {}
        add_score(run, case, run.candidates.get(), place, **wrong, **failed)
    return run


def test_a_new_run_on_the_chosen_cases(run):
    for options, rows in [
        (["--wrong"], [1]),
        (["--failed"], [2]),
        (["--trials", "0, 2"], [0, 2]),
        (["--status", "ok"], [0, 1]),
        (["--case", "1"], [1]),
        (["--candidate", "key0", "--wrong"], [1]),
    ]:
        ran = command("rerun", run.pk, *options, "--detach")
        assert ran.exit_code == 0, (options, ran.err)
        new = Run.objects.latest("pk")
        assert (list(positions_of(new)), new.rerun_of) == (rows, run), options
        assert [line["event"] for line in ran.lines] == ["rerun", "launch"]


def test_in_place_the_old_result_goes(run):
    assert command("rerun", run.pk, "--wrong", "--in-place", "--detach").exit_code == 0
    assert list(run.scores.values_list("position", flat=True)) == [0, 2]
    assert Run.objects.count() == 1


def test_what_makes_no_sense_is_refused(run):
    for options, told in [
        ([], "Say which trials"),
        (["--candidate", "nobody"], "has the key"),
        (["--trials", "3;4"], "as in 3,5,8"),
        (["--wrong", "--min-score", "0.5"], "--detach does not wait"),
    ]:
        ran = command("rerun", run.pk, *options, "--detach")
        assert ran.exit_code != 0, options
        assert told in ran.err
    assert Run.objects.count() == 1
