"""The leaderboard as its page shows it: the rows, the k of its repeats, and what stands below."""

from collections.abc import Mapping
from typing import NamedTuple

from runs.models import Run
from runs.selectors.runs.leaderboard import STUDENT, WILSON, LeaderboardRow, leaderboard
from runs.selectors.runs.snapshot import can_retry
from workers.engine.kinds import read_configuration

ALL_LINKED = 12  # repeats of which each has a link; of more, round numbers
ROUND = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)


class LeaderboardPage(NamedTuple):
    rows: list[LeaderboardRow]
    k: int | None  # of pass@k; None: nothing is repeated
    ks: list[int]  # those that have a link
    failing: list[LeaderboardRow]
    is_uneven: bool  # some candidates have reached more cases than others
    common: int  # cases that the ranks are about
    has_shares: bool  # whose intervals are Wilson's
    has_other_values: bool  # whose intervals are Student's
    can_retry: bool

    @property
    def has_differences(self) -> bool:
        return any(row.versus_best for row in self.rows)

    @property
    def close(self) -> list[LeaderboardRow]:
        """The first that may be as good as the best, though it is ranked behind."""
        behind = [row for row in self.rows if row.versus_best and row.comparable]
        return [row for row in behind if not row.separable][:1]

    @property
    def is_open(self) -> bool:
        """Whether failed trials, if they were answered, might put another one first."""
        if not self.rows or self.rows[0].value_failures_wrong is None:
            return False
        least = self.rows[0].value_failures_wrong
        return any(
            (row.value_failures_right or 0.0) > least for row in self.failing if row.rank != 1
        )

    @property
    def has_draws(self) -> bool:
        return any(row.bootstrap for row in self.rows)

    @property
    def intervals_text(self) -> str:
        """Whose they are, and what they are for."""
        wilson = "Wilson's for shares of right answers" if self.has_shares else ""
        student = "Student's t for other values" if self.has_other_values else ""
        names = ", ".join(filter(None, (wilson, student)))
        drawn = ", below it the bootstrap (cases drawn 2,000 times)" if self.has_draws else ""
        repeats = "; repeats of one case count together" if self.k else ""
        return f"Intervals of 95 %: {names}{drawn}{repeats}." if names else ""

    @property
    def has_ranks(self) -> bool:
        return any(row.rank for row in self.rows)

    @property
    def has_too_early(self) -> bool:
        return any(row.is_too_early for row in self.rows)


def leaderboard_page(run: Run, k: int | None) -> LeaderboardPage:
    repeats = read_configuration(run.document).repeats
    rows = leaderboard(run, k)
    first = rows[0] if rows else None
    return LeaderboardPage(
        rows=rows,
        k=(k or repeats) if repeats > 1 else None,
        ks=linked(repeats),
        failing=[row for row in rows if row.failed],
        is_uneven=bool(first and first.is_uneven),
        common=first.compared_cases if first else 0,
        has_shares=any(row.n and row.interval == WILSON for row in rows),
        has_other_values=any(row.n and row.interval == STUDENT for row in rows),
        can_retry=can_retry(run),
    )


def linked(repeats: int) -> list[int]:
    if repeats <= ALL_LINKED:
        return list(range(1, repeats + 1))
    return [*(k for k in ROUND if k < repeats), repeats]


def read_k(run: Run, given: Mapping[str, str]) -> int | None:
    """What the address asks for, if the run has so many repeats."""
    text = given.get("k", "")
    if not text.isdecimal() or len(text) > 4:
        return None
    repeats = read_configuration(run.document).repeats
    return int(text) if 1 <= int(text) <= repeats else None
