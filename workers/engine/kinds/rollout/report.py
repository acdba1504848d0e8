"""What a rollout has come to, from the scores of its episodes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workers.engine.json_text import digest
from workers.engine.kinds.rollout.answers import LaneTold, Told, read_told
from workers.engine.kinds.rollout.levels import Levels, levels_of
from workers.engine.kinds.rollout.speed import Speed, speed_of
from workers.engine.kinds.rollout.summary import Played, summarise
from workers.engine.records import EVALUATE, Candidate
from workers.engine.statistics.boxes import Box, box_of
from workers.engine.statistics.distributions import t_quantile
from workers.engine.statistics.intervals import Estimate


class Finished(NamedTuple):
    """One trial that has ended."""

    position: int
    candidate: str  # the key
    case: int
    value: float | None
    error: str
    answer: str


class EpisodeRow(NamedTuple):
    position: int
    policy: str  # the candidate's name
    mission: str
    episode: int
    value: float | None
    error: str
    told: Told | None  # None: it failed

    @property
    def took_ms(self) -> float | None:
        return None if self.told is None else 1000 * self.told.seconds


class PolicyRow(NamedTuple):
    policy: str
    episodes: int
    failed: int
    score: Estimate | None
    values: tuple[float, ...]  # of the episodes, in their order
    lane: LaneTold | None
    returns: Box | None  # how the values are spread
    lengths: Box | None  # the steps of its episodes


class MissionReport(NamedTuple):
    mission: str
    planned: int
    done: int
    failed: int
    policies: list[PolicyRow]
    summary: dict[str, Any]
    episodes: list[EpisodeRow]


class Pace(NamedTuple):
    """How the time of all episodes was spent, in seconds of one core."""

    episodes: int
    steps: int
    seconds: float
    policy_seconds: float
    world_seconds: float
    exchange_seconds: float
    at_once: float  # agents that acted at once, on average
    together: float  # episodes that were played side by side, on average
    levels: Levels | None = None  # what was played at once
    speed: Speed | None = None  # steps a second over time


class RolloutReport(NamedTuple):
    missions: list[MissionReport]
    digest: str
    pace: Pace


class Plan(NamedTuple):
    """What was to be played."""

    candidates: Sequence[Candidate]
    cases: Mapping[int, Mapping[str, str]]  # the fields, by position

    @property
    def policies(self) -> list[str]:
        """The labels of all, in the order of the configuration."""
        found = [one["label"] for each in self.evaluated for one in each.document["policies"]]
        return list(dict.fromkeys(found))

    @property
    def evaluated(self) -> list[Candidate]:
        return [one for one in self.candidates if one.role == EVALUATE]


def report_of(plan: Plan, scores: Iterable[Finished]) -> RolloutReport:
    """The same for the same scores, in whatever order they ended."""
    return report_rows(plan, rows_of(plan, scores))


def rows_of(plan: Plan, scores: Iterable[Finished]) -> list[EpisodeRow]:
    known = {candidate.key: candidate for candidate in plan.evaluated}
    return [
        row_of(score, known[score.candidate], plan.cases[score.case])
        for score in scores
        if score.candidate in known
    ]


def report_rows(plan: Plan, found: Iterable[EpisodeRow]) -> RolloutReport:
    known = {candidate.key: candidate for candidate in plan.evaluated}
    rows = sorted(found, key=lambda row: row.position)
    planned = Counter(fields["mission"] for fields in plan.cases.values())
    missions = [
        report_mission(plan, known, mission, count * len(known), rows)
        for mission, count in planned.items()
    ]
    return RolloutReport(missions, digest_of(rows), pace_of(rows))


def row_of(score: Finished, candidate: Candidate, fields: Mapping[str, str]) -> EpisodeRow:
    told = read_told(score.answer) if not score.error else None
    return EpisodeRow(
        score.position,
        candidate.name,
        fields["mission"],
        int(fields["episode"]),
        score.value,
        score.error,
        told,
    )


def digest_of(rows: Sequence[EpisodeRow]) -> str:
    """Of what must be equal for the same seed, however it was executed: not of times and lanes,
    and by episodes also where missions were played one after the other."""
    return digest(
        [
            [row.mission, row.policy, row.episode, row.told.lasting if row.told else row.error]
            for row in sorted(rows, key=lambda row: row.episode)
        ]
    )


def report_mission(
    plan: Plan,
    known: Mapping[str, Candidate],
    mission: str,
    planned: int,
    rows: Sequence[EpisodeRow],
) -> MissionReport:
    mine = [row for row in rows if row.mission == mission]
    labels = plan.policies
    seats = {
        candidate.name: [labels.index(one["label"]) for one in candidate.document["policies"]]
        for candidate in known.values()
    }
    by_episode: dict[int, list[Played]] = {}
    for row in mine:
        if row.told is not None:
            game = played_of(row.told, seats[row.policy])
            by_episode.setdefault(row.episode, []).append(game)
    ordered = [by_episode[episode] for episode in sorted(by_episode)]
    summary = summarise(ordered, len(labels))
    return MissionReport(
        mission,
        planned,
        len(mine),
        sum(row.told is None for row in mine),
        [report_policy(label, number, mine, seats) for number, label in enumerate(labels)],
        summary,
        mine,
    )


def played_of(told: Told, seats: Sequence[int]) -> Played:
    """With the numbers that policies have among all of the run."""
    return Played(
        [seats[seat] for seat in told.assignments],
        told.rewards,
        told.timeouts,
        told.game_stats,
        told.agent_stats,
    )


def report_policy(
    label: str, number: int, rows: Sequence[EpisodeRow], seats: Mapping[str, Sequence[int]]
) -> PolicyRow:
    mine = [row for row in rows if number in seats[row.policy]]
    values: list[float] = []
    lengths: list[int] = []
    lane = None
    for row in mine:
        if row.told is None:
            continue
        place = seats[row.policy].index(number)
        own = [
            reward
            for seat, reward in zip(row.told.assignments, row.told.rewards, strict=True)
            if seat == place
        ]
        if own:
            values.append(sum(own) / len(own))
            lengths.append(row.told.steps)
        lane = row.told.lanes[place]
    failed = sum(row.told is None for row in mine)
    return PolicyRow(
        label,
        len(values),
        failed,
        estimate(values),
        tuple(values),
        lane,
        box_of(values),
        box_of(lengths),
    )


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean with its 95 % interval by Student's t. One value alone says nothing about how far
    others would be from it, nor do equal ones: their interval has no width, and n stands beside."""
    n = len(values)
    if n == 0:
        return None
    mean = sum(values) / n
    if n == 1:
        return Estimate(mean, mean, mean, n)
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    half = t_quantile(n - 1) * (variance / n) ** 0.5
    return Estimate(mean, mean - half, mean + half, n)


def pace_of(rows: Sequence[EpisodeRow]) -> Pace:
    told = [row.told for row in rows if row.told is not None]
    n = len(told) or 1
    return Pace(
        len(told),
        sum(one.steps for one in told),
        sum(one.seconds / one.together for one in told),
        sum(one.policy_seconds for one in told),
        sum(one.world_seconds for one in told),
        sum(one.exchange_seconds for one in told),
        sum(one.at_once for one in told) / n,
        sum(one.together for one in told) / n,
        levels_of([(row.mission, row.told) for row in rows if row.told is not None]),
        speed_of(told),
    )


def as_record(report: RolloutReport) -> dict[str, Any]:
    """By the names of the contract."""
    return {
        "missions": [
            {
                "mission": mission.mission,
                "planned": mission.planned,
                "done": mission.done,
                "failed": mission.failed,
                "policies": [policy_record(row) for row in mission.policies],
                "summary": mission.summary,
            }
            for mission in report.missions
        ],
        "digest": report.digest,
    }


def policy_record(row: PolicyRow) -> dict[str, Any]:
    score = row.score
    return {
        "policy": row.policy,
        "episodes": row.episodes,
        "failed": row.failed,
        "mean_return": score.value if score else None,
        "low": score.low if score else None,
        "high": score.high if score else None,
        "lane": row.lane._asdict() if row.lane else None,
    }


def as_summary(report: RolloutReport) -> dict[str, Any]:
    """As cogames writes it."""
    return {
        "missions": [
            {"mission_name": mission.mission, "mission_summary": mission.summary}
            for mission in report.missions
        ]
    }
