"""Waits for a stored run, tells how far it is, and asks what to do when somebody is in a hurry."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from django.conf import settings
from django.db import OperationalError

from evalsite.env import PROGRAM
from runs.management.refusals import bad_input
from runs.management.voices import Planned, Standing, Voice
from runs.models import Run, RunState
from runs.selectors.limits.limits import WAITING
from runs.selectors.runs.outcome import PAUSED_BY, has_stopped
from runs.selectors.runs.planned import most_word
from runs.selectors.runs.run_list import describe
from runs.selectors.worker_beats import count_workers
from runs.services.runs import cancel_run

LOOK_SECONDS = 0.25
WORKERS_SECONDS = 2.0  # how often it is asked whether anybody works
SITE_SECONDS = 10.0  # a slow Redis is a site, too; where nobody listens, that is known at once
LONGEST_OUTAGE_SECONDS = 60.0  # of the database, before waiting is given up
INTERRUPTED = 130  # 128 + SIGINT, as shells have it

NO_SITE = (
    "No site works on the data folder {data}: its Redis does not answer. Start the site "
    f"(`{PROGRAM} serve`) or add --here to run in this process. With REDIS_URL, check that Redis."
)
NO_REDIS = (
    f"Redis does not answer, so no worker hears of the run. Start the site (`{PROGRAM} serve`), or "
    "the Redis of REDIS_URL. Waiting."
)
NO_WORKER = (
    f"No worker is running. Start the site (`{PROGRAM} serve`), or one worker with `{PROGRAM} "
    "work` and the same EVALSITE_DATA, DATABASE_URL and REDIS_URL; or press Ctrl-C and add --here. "
    "Waiting."
)


class Left(Exception):
    """The person, or the signal, wants the command to end before the run does."""

    def __init__(self, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(exit_code)


class Watcher:
    """Looks at the row of a run until it has stopped."""

    def __init__(
        self, run: Run, voice: Voice, ask_workers_every_seconds: float = WORKERS_SECONDS
    ) -> None:
        self._run = run
        self._voice = voice
        self._every_seconds = ask_workers_every_seconds
        self._asked_at = time.monotonic()
        self._trouble = ""

    def wait(self) -> Run:
        while True:
            self._refresh()
            self._voice.progress(standing_of(self._run))
            if has_stopped(self._run):
                return self._run
            self._look_for_trouble()
            time.sleep(LOOK_SECONDS)

    def _refresh(self) -> None:
        end = time.monotonic() + LONGEST_OUTAGE_SECONDS
        while True:
            try:
                self._run.refresh_from_db()
                return
            except OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(LOOK_SECONDS)  # the run goes on without us

    def _look_for_trouble(self) -> None:
        now = time.monotonic()
        if now - self._asked_at < self._every_seconds:
            return
        self._asked_at = now
        trouble = trouble_of(self._run)
        if trouble and trouble != self._trouble:
            self._voice.tell("waiting", trouble)
        self._trouble = trouble


def trouble_of(run: Run) -> str:
    """Why nothing moves, and what to do about it."""
    if run.state in RunState.held():
        who = run.reason if run.reason.startswith(PAUSED_BY) else "Pausing"
        return f"{who.rstrip('.')}. It goes on when somebody resumes it."
    if run.reason.startswith(WAITING):
        return f"{run.reason}. It goes on when that is resumed."
    alive = count_workers()
    if alive is None:
        return NO_REDIS
    return "" if alive else NO_WORKER


def is_site_there() -> bool:
    return count_workers(SITE_SECONDS) is not None


def refuse_without_site() -> None:
    """Without Redis nobody can hear of a run: a job would wait until its own time is up."""
    if not is_site_there():
        raise bad_input(NO_SITE.format(data=settings.EVALSITE_DATA))


def standing_of(run: Run) -> Standing:
    [row] = describe([run])
    return Standing(
        state=run.state,
        planned=run.planned,
        done=run.done,
        failed=run.failed,
        cached=run.cached,
        cost=run.cost,
        unpriced=run.unpriced,
        score=row.score.value if row.score else None,
    )


def planned_of(run: Run) -> Planned:
    return Planned(run.planned, is_most=bool(most_word(run)))


@contextmanager
def ending_politely() -> Iterator[None]:
    """SIGTERM, as CI servers send it, is heard like Ctrl-C without a terminal."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise Left(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def wait_for(run: Run, voice: Voice, ask: Callable[[], bool] | None) -> Run:
    """The run when it has stopped. `ask` says whether to cancel it, after a Ctrl-C; without it the
    run is left to itself. Left is raised when the command should end first."""
    with ending_politely():
        try:
            return Watcher(run, voice).wait()
        except KeyboardInterrupt:
            voice.close()
            if ask is not None and ask():
                cancel_run(run)
                voice.tell("cancelled", f"Run {run.pk} is cancelled; what is scored stays.")
            else:
                leave(run, voice)
            raise Left(INTERRUPTED) from None
        except Left:
            voice.close()
            leave(run, voice)
            raise


def leave(run: Run, voice: Voice) -> None:
    how = f"{PROGRAM} watch {run.pk}"
    voice.tell("left", f"Run {run.pk} goes on without this command. Wait again: {how}", how=how)


def ask_whether_to_cancel() -> bool:
    """Asks once. Return, or Ctrl-C again, leaves it running."""
    try:
        sys.stderr.write("\nCancel the run, or leave it running? [c/L] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("c", "cancel")
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return False


def is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
