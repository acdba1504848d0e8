"""The timekeeper of a worker process: launches what is due and judges what has ended."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from runs.models import DueTime, RunGate
from runs.services.configurations import save_configuration
from runs.services.gating import set_gate
from runs.services.runs import cancel_run
from runs.services.schedules import save_schedule
from workers.database_thread import in_database
from workers.timekeeper import Timekeeper

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_tick_launches_what_is_due_and_judges_what_has_ended(ada, document):
    def prepare():
        stored = save_configuration(ada, "nightly", document)
        set_gate(stored, ada, None, {"min_score": 0.5})
        return save_schedule(stored, ada, "30 6 * * *", "UTC", now())

    schedule = await in_database(prepare)
    await Timekeeper().tick(schedule.next_due - timedelta(seconds=1))
    assert await in_database(DueTime.objects.count) == 0
    await Timekeeper().tick(schedule.next_due)
    time = await in_database(lambda: DueTime.objects.select_related("run").get())
    await in_database(cancel_run, time.run, ada)
    await Timekeeper().tick(schedule.next_due)
    gate = await in_database(RunGate.objects.get)
    assert (gate.run_id, gate.state) == (time.run_id, "failed")
