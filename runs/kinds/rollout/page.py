"""The page of a rollout: missions with their returns, how it was played, and its episodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils import timezone

from runs.kinds.plots import Tick
from runs.kinds.rollout.charts import (
    BoxPicture,
    MeanPicture,
    SpeedChart,
    draw_box,
    draw_mean,
    draw_speed,
    number,
    ticks_of,
)
from runs.kinds.rollout.standing import rollout_of
from runs.kinds.scales import Scale, scale_of
from runs.models import Run
from workers.engine.kinds.rollout.report import (
    EpisodeRow,
    MissionReport,
    Pace,
    PolicyRow,
    RolloutReport,
)

MOST_EPISODES = 50  # of a mission that are listed; all are on the scores page
EXCHANGE_WARNS = 0.5  # of the time of policies: then processes take more than they give


class PolicyLine(NamedTuple):
    """A policy in a mission, with its pictures."""

    row: PolicyRow
    returns: BoxPicture | None
    lengths: BoxPicture | None
    mean: MeanPicture | None

    @property
    def told(self) -> str:
        return number(self.row.score.value) if self.row.score else "–"

    @property
    def interval(self) -> str:
        score = self.row.score
        if score is None or score.n < 2:
            return "–"
        return f"{number(score.low)} to {number(score.high)}"


class LevelRow(NamedTuple):
    """How much was played at once on a level, and what there was room for."""

    name: str
    at_once: float
    room: float

    @property
    def share(self) -> float:
        return min(1.0, self.at_once / self.room) if self.room else 0.0

    @property
    def percent(self) -> float:
        return round(100 * self.share, 2)


class MissionPage(NamedTuple):
    report: MissionReport
    return_ticks: list[Tick]
    length_ticks: list[Tick]
    rows: list[PolicyLine]
    episodes: list[EpisodeRow]
    hidden: int
    warnings: list[str]

    @property
    def percent(self) -> float:
        return round(100 * self.report.done / max(1, self.report.planned), 2)

    @property
    def percent_failed(self) -> float:
        return round(100 * self.report.failed / max(1, self.report.planned), 2)


@dataclass(frozen=True)
class RolloutPage:
    report: RolloutReport
    missions: list[MissionPage]
    shown: str  # the mission whose episodes are listed
    steps_per_second: float | None
    slots: int
    levels: list[LevelRow]
    policy_share: float | None
    world_share: float | None
    warnings: list[str]
    speed: SpeedChart | None

    @property
    def pace(self) -> Pace:
        return self.report.pace

    @property
    def done(self) -> int:
        return sum(mission.report.done for mission in self.missions)

    @property
    def planned(self) -> int:
        return sum(mission.report.planned for mission in self.missions)


def rollout_page(run: Run, given: Mapping[str, str], slots: int) -> RolloutPage:
    report = rollout_of(run)
    names = [mission.mission for mission in report.missions]
    shown = given.get("mission", "") if given.get("mission", "") in names else names[0]
    pace, seconds = report.pace, seconds_of(run)
    return RolloutPage(
        report,
        [
            page_of(mission, is_shown=mission.mission == shown, is_live=not run.is_finished)
            for mission in report.missions
        ],
        shown,
        pace.steps / seconds if seconds else None,
        slots,
        level_rows(report, slots),
        share(pace.policy_seconds, pace.seconds),
        share(pace.world_seconds, pace.seconds),
        warnings_of(pace),
        draw_speed(pace.speed) if pace.speed else None,
    )


def level_rows(report: RolloutReport, slots: int) -> list[LevelRow]:
    """A level that was switched off has as much as one at once, of what it might have."""
    found = report.pace.levels
    if found is None:
        return []
    return [
        LevelRow("Slots", found.slots, slots),
        LevelRow("Missions", found.missions, min(len(report.missions), slots)),
        LevelRow("Episodes", found.episodes, slots * found.together),
        LevelRow("Agents of an episode", found.agents, min(found.seats, slots)),
    ]


def seconds_of(run: Run) -> float:
    return run.running_seconds(run.ended or timezone.now()) if run.started else 0.0


def share(part: float, whole: float) -> float | None:
    return min(1.0, part / whole) if whole else None


def warnings_of(pace: Pace) -> list[str]:
    if not pace.policy_seconds or pace.exchange_seconds < EXCHANGE_WARNS * pace.policy_seconds:
        return []
    part = pace.exchange_seconds / pace.policy_seconds
    return [
        f"{part:.0%} of the time of policies goes into sending observations to other processes: "
        "the lane takes more than it gives. Try lane: batch, or leave agents out of levels."
    ]


def page_of(mission: MissionReport, *, is_shown: bool, is_live: bool) -> MissionPage:
    returns = scale_of(return_edges(mission.policies) or [0.0, 1.0])
    lengths = scale_of([0, *(row.lengths.highest for row in mission.policies if row.lengths)])
    order = mission.episodes[::-1] if is_live else mission.episodes  # live: the newest first
    listed = order[:MOST_EPISODES] if is_shown else []
    return MissionPage(
        mission,
        ticks_of(returns),
        ticks_of(lengths),
        [line_of(row, returns, lengths) for row in mission.policies],
        listed,
        len(mission.episodes) - len(listed),
        warned(mission.policies),
    )


def warned(rows: Sequence[PolicyRow]) -> list[str]:
    return [f"{row.policy}: {row.lane.warning}." for row in rows if row.lane and row.lane.warning]


def return_edges(rows: Sequence[PolicyRow]) -> list[float]:
    """What the pictures of a mission must hold."""
    boxes = [row.returns for row in rows if row.returns]
    scores = [row.score for row in rows if row.score]
    return [
        *(edge for box in boxes for edge in (box.lowest, box.highest)),
        *(edge for score in scores for edge in (score.low, score.high)),
    ]


def line_of(row: PolicyRow, returns: Scale, lengths: Scale) -> PolicyLine:
    return PolicyLine(
        row,
        draw_box(row.returns, returns, row.values) if row.returns else None,
        draw_box(row.lengths, lengths) if row.lengths else None,
        draw_mean(row.score, returns) if row.score else None,
    )
