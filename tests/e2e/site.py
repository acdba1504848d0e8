"""The one site of all stories: served as a person does it, its simulator and its database."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from tests.e2e.database import Database
from tests.e2e.simulator import Simulator
from tests.harness.patience import wait_until
from tests.platform.processes import wait_until_gone
from tests.platform.serving import SETUP, SIMULATOR_SECRET, Serve

SIMULATOR = re.compile(r"Simulated provider listens on (http://127\.0\.0\.1:\d+)")

UNDER_WAY = "SELECT id FROM runs_run WHERE ended IS NULL AND state != 'paused'"
LEASE_SECONDS = "48"  # calls are counted: a worker that stands still for a while keeps its work


class Site(Serve):
    """Starts at once; `url`, `setup_link`, `simulator` and `database` are there when it returns."""

    def __init__(self, data: Path) -> None:
        super().__init__(data, EVALSITE_LEASE_SECONDS=LEASE_SECONDS)
        self.data = data
        try:
            self.url = self.wait_until_ready()
            self.setup_link = self.wait_for(SETUP)
            self.simulator = Simulator(self.wait_for(SIMULATOR), SIMULATOR_SECRET)
            self.database = Database(data / "evalsite.sqlite3")
        except BaseException:
            self.kill()
            raise

    def hold_supervisor(self) -> None:
        """Nothing is started again until it may go on."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def let_supervisor_go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def come_to_rest(self) -> None:
        """What one story leaves going must not end, with an alert, on the page of the next."""
        self.simulator.follow([])
        self.simulator.let_go()
        wait_until(lambda: not self.database.rows(UNDER_WAY))

    def close(self) -> None:
        """Stop it; fails if a process is left."""
        self.let_supervisor_go_on()  # a test that failed may have left it held
        pids = self.children()
        try:
            code = self.stop()
        finally:
            self.kill()
        wait_until_gone(*pids)
        assert code == 0, f"serve ended with {code}:\n{self.text}"
