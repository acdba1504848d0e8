"""What a mutation has come to, from its candidates and the texts beside its scores: no record is
read and nothing is trained for it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from workers.engine.kinds.mutate.segments import OperatorTold, RoleCalls, SegmentTold, read_told
from workers.engine.kinds.mutate.training import UCB, UNIFORM
from workers.engine.records import EVALUATE
from workers.engine.statistics.intervals import Estimate, estimate_mean
from workers.engine.statistics.paired import Difference, estimate_difference

NOTHING_MEASURED: Mapping[str, float] = {}
FIGURES = ("entropy", "kl", "policy_loss", "value_loss", "clipped", "gradient_norm")


class PolicyFacts(NamedTuple):
    """A candidate, as far as the report needs it."""

    key: str
    name: str
    role: str
    update: int
    weights: str
    learned: Mapping[str, Any] | None  # what the update before it came to
    num_steps: int

    @classmethod
    def read(cls, key: str, name: str, role: str, document: Mapping[str, Any]) -> "PolicyFacts":
        kept = {one: document[one] for one in ("update", "weights", "learned")}
        return cls(key, name, role, **kept, num_steps=document["rules"]["num_steps"])


class SegmentScore(NamedTuple):
    """A score of a segment. Without a value it failed."""

    candidate: str
    case: int
    value: float | None
    answer: str

    @property
    def told(self) -> SegmentTold | None:
        return None if self.value is None else read_told(self.answer)


class UpdateRow(NamedTuple):
    """An update of which a segment is done. What it learnt is None until it did."""

    update: int
    segments: int
    failed: int  # segments that lost every transition
    transitions: int
    excluded: int
    reward: float | None  # the mean over transitions; None: there is none
    low: float | None  # a tenth of the segments are below
    high: float | None
    success_rate: float | None
    operators: dict[str, float]  # the share of the steps in which each was chosen
    in_flight: float | None  # calls, on average; None: nobody measured how long it took
    entropy: float | None
    kl: float | None
    policy_loss: float | None
    value_loss: float | None
    clipped: float | None
    gradient_norm: float | None


class OperatorRow(NamedTuple):
    """What an operator came to in training."""

    operator: str
    used: int
    excluded: int
    reward: Estimate | None
    success_rate: float | None


class Rival(NamedTuple):
    """A policy on held-out queries, one episode each."""

    name: str
    reward: Estimate | None  # over queries
    success_rate: float | None
    failed: int


class MutationReport(NamedTuple):
    updates: list[UpdateRow]
    count_updates: int  # that there will be
    operators: list[OperatorRow]
    transitions: int
    excluded: int
    failures: dict[str, int]  # "role/class": excluded transitions
    calls: dict[str, RoleCalls]  # by role
    held_out: list[Rival]
    versus: dict[str, Difference | None]  # of what was trained, against each of the others
    weights: str  # SHA-256 of what was learnt so far

    @property
    def fallback_rate(self) -> float:
        """The share of transitions without a reward, as a call failed."""
        return self.excluded / self.transitions if self.transitions else 0.0


class Segment(NamedTuple):
    policy: PolicyFacts
    case: int
    told: SegmentTold | None  # None: it failed


def report_of(
    policies: Sequence[PolicyFacts],
    scores: Iterable[SegmentScore],
    count_updates: int,
    seconds: Mapping[str, float] = NOTHING_MEASURED,
) -> MutationReport:
    """`policies` in the order of their birth. `seconds`: what the segments of each took together,
    by its key."""
    known = {one.key: one for one in policies}
    segments = [Segment(known[one.candidate], one.case, one.told) for one in scores]
    trained = [one for one in segments if one.policy.role == EVALUATE]
    held_out = [one for one in segments if one.policy.role != EVALUATE]
    rivals = [one for one in policies if one.role != EVALUATE]
    return MutationReport(
        updates=list(update_rows(policies, trained, seconds)),
        count_updates=count_updates,
        operators=operator_rows(trained),
        transitions=sum(count_transitions(one) for one in segments),
        excluded=sum(count_excluded(one) for one in segments),
        failures=count_failures(segments),
        calls=add_calls(segments),
        held_out=[rival_of(one, held_out) for one in rivals],
        versus=compare(rivals, held_out),
        weights=policies[-1].weights if policies else "",
    )


def update_rows(
    policies: Sequence[PolicyFacts], segments: Sequence[Segment], seconds: Mapping[str, float]
) -> Iterable[UpdateRow]:
    learned = {one.update - 1: one.learned for one in policies if one.learned is not None}
    by_update: defaultdict[int, list[Segment]] = defaultdict(list)
    for one in segments:
        by_update[one.policy.update].append(one)
    for update, found in sorted(by_update.items()):
        took = seconds.get(found[0].policy.key)
        yield update_row(update, found, learned.get(update) or {}, took)


def update_row(
    update: int, found: Sequence[Segment], learned: Mapping[str, Any], seconds: float | None
) -> UpdateRow:
    told = [one.told for one in found if one.told is not None]
    good = sum(one.transitions - one.excluded for one in told)
    means = sorted(one.reward for one in told)
    used = Counter[str]()
    for one in told:
        used.update({name: row.used for name, row in one.operators.items()})
    steps = sum(used.values())
    called_ms = fsum(calls.called_ms for one in told for calls in one.calls.values())
    return UpdateRow(
        update=update,
        segments=len(found),
        failed=len(found) - len(told),
        transitions=sum(count_transitions(one) for one in found),
        excluded=sum(count_excluded(one) for one in found),
        reward=sum_rewards(told) / good if good else None,
        low=means[len(means) // 10] if means else None,
        high=means[-1 - len(means) // 10] if means else None,
        success_rate=sum(one.successes for one in told) / good if good else None,
        operators={name: count / steps for name, count in sorted(used.items())},
        in_flight=called_ms / 1000 / seconds if seconds else None,
        **{name: learned.get(name) for name in FIGURES},
    )


def sum_rewards(told: Iterable[SegmentTold]) -> float:
    return fsum(one.reward * (one.transitions - one.excluded) for one in told)


def count_transitions(one: Segment) -> int:
    return one.policy.num_steps if one.told is None else one.told.transitions


def count_excluded(one: Segment) -> int:
    """All of those of a segment that failed."""
    return one.policy.num_steps if one.told is None else one.told.excluded


def count_failures(segments: Iterable[Segment]) -> dict[str, int]:
    """Those of failed segments are counted with their trials."""
    found = Counter[str]()
    for one in segments:
        if one.told is not None:
            found.update(one.told.failures)
    return dict(sorted(found.items()))


def add_calls(segments: Iterable[Segment]) -> dict[str, RoleCalls]:
    sums: defaultdict[str, RoleCalls] = defaultdict(RoleCalls)
    for one in segments:
        for role, calls in one.told.calls.items() if one.told else ():
            sums[role] = sums[role].plus(calls)
    return dict(sorted(sums.items()))


def operator_rows(segments: Iterable[Segment]) -> list[OperatorRow]:
    sums: defaultdict[str, OperatorTold] = defaultdict(OperatorTold)
    for one in segments:
        for name, told in one.told.operators.items() if one.told else ():
            sums[name] = sums[name].plus(told)
    return [operator_row(name, told) for name, told in sorted(sums.items())]


def operator_row(name: str, told: OperatorTold) -> OperatorRow:
    good = told.used - told.excluded
    return OperatorRow(
        operator=name,
        used=told.used,
        excluded=told.excluded,
        reward=estimate_mean(good, told.reward, told.squares),
        success_rate=told.successes / good if good else None,
    )


def rival_of(policy: PolicyFacts, segments: Sequence[Segment]) -> Rival:
    own = [one for one in segments if one.policy.key == policy.key]
    told = [one.told for one in own if one.told is not None]
    rewards = [one.reward for one in told]
    good = sum(one.transitions - one.excluded for one in told)
    return Rival(
        name=policy.name,
        reward=estimate_mean(len(rewards), fsum(rewards), fsum(one * one for one in rewards)),
        success_rate=sum(one.successes for one in told) / good if good else None,
        failed=len(own) - len(told),
    )


def compare(
    rivals: Sequence[PolicyFacts], segments: Sequence[Segment]
) -> dict[str, Difference | None]:
    """Query by query, over those that both have played."""
    if not rivals:
        return {}
    means = {
        one.key: {s.case: s.told.reward for s in segments if s.policy.key == one.key and s.told}
        for one in rivals
    }
    first, *others = rivals
    own = means[first.key]
    return {
        one.name: estimate_difference(
            [own[case] - reward for case, reward in means[one.key].items() if case in own]
        )
        for one in others
    }


def as_record(report: MutationReport) -> dict[str, Any]:
    """The board for programs."""
    rewards = {one.name: one.reward.value if one.reward else None for one in report.held_out}
    names = dict.fromkeys(("ppo", UNIFORM, UCB))
    return {
        "updates": [row._asdict() for row in report.updates],
        "count_updates": report.count_updates,
        "fallback_rate": report.fallback_rate,
        "held_out": {**names, **rewards} if rewards else None,
        "held_out_facts": [rival_record(one) for one in report.held_out],
        "versus": {name: one and one._asdict() for name, one in report.versus.items()},
        "operators": [operator_record(row) for row in report.operators],
        "transitions": report.transitions,
        "excluded": report.excluded,
        "failures": report.failures,
        "calls": {role: calls._asdict() for role, calls in report.calls.items()},
        "weights": report.weights,
    }


def rival_record(one: Rival) -> dict[str, Any]:
    return {**one._asdict(), "reward": one.reward and one.reward._asdict()}


def operator_record(row: OperatorRow) -> dict[str, Any]:
    return {**row._asdict(), "reward": row.reward and row.reward._asdict()}
