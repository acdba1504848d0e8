"""How a command that waits for a run speaks: a progress bar for people, JSON lines for programs."""

import json
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from runs import formatting
from runs.reports.leaderboard_table import leaderboard_table, lines_below
from runs.reports.plain import one_line
from runs.reports.report import Report
from workers.engine.statistics.gates import Exit

PROGRESS_SECONDS = 1.0  # between two JSON lines about it
LOG_SECONDS = 5.0  # between two lines for people
RATE_SECONDS = 5.0  # "now" in the rate is the mean over this long


@dataclass(frozen=True)
class Standing:
    """How far a run is."""

    state: str
    planned: int
    done: int
    failed: int
    cached: int
    cost: float
    unpriced: int
    score: float | None


class Planned(NamedTuple):
    trials: int
    is_most: bool  # it may end with fewer

    @property
    def text(self) -> str:
        word = "at most " if self.is_most else ""
        return f"{word}{formatting.counted(self.trials, 'trial')}"


class Voice(Protocol):
    def launched(self, run_id: int | None, name: str, planned: Planned, address: str) -> None: ...

    def progress(self, standing: Standing) -> None: ...

    def tell(self, event: str, text: str, **facts: Any) -> None:
        """Something a person should know while it goes on."""
        ...

    def done(self, report: Report, results: str = "") -> None:
        """`results`: where they are, a file or an address."""
        ...

    def close(self) -> None: ...


class Rate:
    """Trials a second over the last few seconds, by the clock of who looks."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, done: int) -> float | None:
        now = time.monotonic()
        self._seen.append((now, done))
        while self._seen[0][0] < now - RATE_SECONDS and len(self._seen) > 2:
            self._seen.popleft()
        since, first = self._seen[0]
        return (done - first) / (now - since) if now - since >= 0.2 else None


def seconds_left(standing: Standing, rate: float | None) -> float | None:
    return (standing.planned - standing.done) / rate if rate else None


class JsonLines:
    """One object a line on standard output, each written out at once."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rate = Rate()
        self._told_at = -PROGRESS_SECONDS
        self._told: Standing | None = None
        self._run_id: int | None = None

    def launched(self, run_id: int | None, name: str, planned: Planned, address: str) -> None:
        self._run_id = run_id
        self._write("launch", name=name, planned=planned.trials, address=address)

    def progress(self, standing: Standing) -> None:
        rate = self._rate.note(standing.done)
        now = time.monotonic()
        if standing == self._told or now - self._told_at < PROGRESS_SECONDS:
            return
        self._told, self._told_at = standing, now
        eta_seconds = seconds_left(standing, rate)
        self._write("progress", **asdict(standing), rate=rate, eta_seconds=eta_seconds)

    def tell(self, event: str, text: str, **facts: Any) -> None:
        self._write(event, text=text, **facts)

    def done(self, report: Report, results: str = "") -> None:
        self._write("done", **report.as_record(), results=results)

    def close(self) -> None:
        self._out.flush()

    def _write(self, event: str, **facts: Any) -> None:
        line = json.dumps({"event": event, "run_id": self._run_id, **facts}, allow_nan=False)
        self._out.write(line + "\n")
        self._out.flush()


class Sentences:
    """For people who read what it says, on standard error."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rate = Rate()

    def launched(self, run_id: int | None, name: str, planned: Planned, address: str) -> None:
        number = f"Run {run_id}" if run_id else "In this process"
        place = f"  {address}" if address else ""
        self._say(f"{number}: {one_line(name)}, {planned.text}.{place}")

    def tell(self, event: str, text: str, **facts: Any) -> None:
        self._say(one_line(text, 400))

    def done(self, report: Report, results: str = "") -> None:
        self.close()
        style = "green" if report.exit is Exit.PASSED else "red"
        self._say(f"{report.verdict}: {report.title}", style=f"bold {style}")
        for check in report.checks:
            mark, style = ("ok  ", "green") if check.passed else ("FAIL", "red")
            self._say(f"  {mark} {check.name}: {one_line(check.told, 400)}", style=style)
            for line in [] if check.passed else report.details_of(check):
                self._say(f"       {line}")
        found = report.findings
        self._say("")
        self._console.print(found.table() if found else leaderboard_table(report.candidates))
        for line in [*(found.lines_below() if found else ()), *lines_below(report)]:
            self._say(line)
        if results:
            self._say(f"Results: {results}")

    def close(self) -> None:
        """Nothing is left to be said."""

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


class Log(Sentences):
    """How far it is, a line now and then: where lines stay, as in the log of a CI server."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._told_at = -LOG_SECONDS
        self._told: Standing | None = None

    def progress(self, standing: Standing) -> None:
        rate, now = self._rate.note(standing.done), time.monotonic()
        if standing != self._told and now - self._told_at >= LOG_SECONDS:
            self._told, self._told_at = standing, now
            self._say(standing_text(standing, rate))


class Terminal(Sentences):
    """A bar that moves, and sentences above it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bar = Progress(
            BarColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None

    def launched(self, run_id: int | None, name: str, planned: Planned, address: str) -> None:
        super().launched(run_id, name, planned, address)
        self._task = self._bar.add_task("", total=planned.trials, words="starting")
        self._bar.start()

    def progress(self, standing: Standing) -> None:
        rate = self._rate.note(standing.done)
        if self._task is not None:
            words = standing_text(standing, rate)
            self._bar.update(
                self._task, completed=standing.done, total=standing.planned, words=words
            )

    def close(self) -> None:
        self._bar.stop()


def standing_text(standing: Standing, rate: float | None) -> str:
    parts = [
        f"{standing.done:,}/{standing.planned:,}",
        f"{standing.failed:,} failed",
        f"{standing.cached:,} cached",
        formatting.rate(rate),
    ]
    if standing.done < standing.planned and (left := seconds_left(standing, rate)) is not None:
        parts.append(f"{formatting.duration(left)} left")
    known = formatting.dollars(standing.cost)
    parts.append(f"{known} + unknown" if standing.unpriced else known)
    if standing.score is not None:
        parts.append(f"score {formatting.score(standing.score)}")
    return " · ".join([*parts, standing.state])


def choose_voice(out: TextIO, err: TextIO, *, as_json: bool) -> Voice:
    if as_json:
        return JsonLines(out)
    console = Console(stderr=True, highlight=False)  # Django's own would paint it all red
    return Terminal(console) if out.isatty() and err.isatty() else Log(console)
