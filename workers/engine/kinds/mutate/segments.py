"""What a segment leaves behind: a record of its transitions, which the strategy learns from, and a
short text beside the score, which is all that the board reads."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from workers.engine.json_text import to_json
from workers.engine.kinds.mutate.environment import Transition
from workers.engine.kinds.mutate.observing import Observation, read, write

LONGEST_ANSWER = 1_000  # characters of an answer that a record keeps


class Place(NamedTuple):
    """Which segment it is."""

    update: int
    environment: int


class RoleCalls(NamedTuple):
    """The calls of one role in a segment. Local embeddings are none."""

    asked: int = 0
    cached: int = 0
    failed: int = 0
    latency_ms: float = 0.0  # of all that were answered, as of their original calls
    called_ms: float = 0.0  # of those that were made and answered here

    def plus(self, more: "RoleCalls") -> "RoleCalls":
        return RoleCalls(
            self.asked + more.asked,
            self.cached + more.cached,
            self.failed + more.failed,
            round(self.latency_ms + more.latency_ms, 3),
            round(self.called_ms + more.called_ms, 3),
        )


class OperatorTold(NamedTuple):
    """What an operator came to in a segment."""

    used: int = 0
    excluded: int = 0
    reward: float = 0.0  # the sum
    squares: float = 0.0  # of the rewards
    successes: int = 0

    def plus(self, more: "OperatorTold") -> "OperatorTold":
        return OperatorTold(
            self.used + more.used,
            self.excluded + more.excluded,
            self.reward + more.reward,
            self.squares + more.squares,
            self.successes + more.successes,
        )


class SegmentTold(NamedTuple):
    """What is known of a segment without its record."""

    update: int
    environment: int
    transitions: int
    excluded: int
    reward: float  # the mean over those that are not excluded
    successes: int
    operators: dict[str, OperatorTold]
    failures: dict[str, int]  # "role/class": excluded transitions
    calls: dict[str, RoleCalls]


def tell_segment(
    place: Place,
    names: Sequence[str],
    transitions: Sequence[Transition],
    calls: Mapping[str, RoleCalls],
) -> SegmentTold:
    good = [one for one in transitions if one.reward is not None]
    failures = Counter(
        f"{one.excluded.role}/{one.excluded.error}" for one in transitions if one.excluded
    )
    return SegmentTold(
        update=place.update,
        environment=place.environment,
        transitions=len(transitions),
        excluded=len(transitions) - len(good),
        reward=sum(one.reward or 0.0 for one in good) / len(good) if good else 0.0,
        successes=sum(one.success for one in good),
        operators=dict(by_operator(names, transitions)),
        failures=dict(sorted(failures.items())),
        calls=dict(calls),
    )


def by_operator(
    names: Sequence[str], transitions: Sequence[Transition]
) -> Iterable[tuple[str, OperatorTold]]:
    for action, name in enumerate(names):
        used = [one for one in transitions if one.action == action]
        rewards = [one.reward for one in used if one.reward is not None]
        if used:
            yield (
                name,
                OperatorTold(
                    used=len(used),
                    excluded=len(used) - len(rewards),
                    reward=sum(rewards),
                    squares=sum(reward * reward for reward in rewards),
                    successes=sum(one.success for one in used),
                ),
            )


def write_told(told: SegmentTold) -> str:
    operators = {name: list(one) for name, one in told.operators.items()}
    calls = {role: list(one) for role, one in told.calls.items()}
    return to_json({**told._asdict(), "operators": operators, "calls": calls}).decode()


def read_told(answer: str) -> SegmentTold:
    found = orjson.loads(answer)
    found["operators"] = {name: OperatorTold(*one) for name, one in found["operators"].items()}
    found["calls"] = {role: RoleCalls(*one) for role, one in found["calls"].items()}
    return SegmentTold(**found)


def write_record(
    place: Place,
    names: Sequence[str],
    probabilities: Sequence[float | None],
    transitions: Sequence[Transition],
    known: Mapping[str, Observation],
) -> dict[str, Any]:
    """Each text and each vector once: a segment comes back to the same queries."""
    texts = list(
        dict.fromkeys(
            text for one in transitions for text in (one.query, one.rewritten, one.after) if text
        )
    )
    places = {text: number for number, text in enumerate(texts)}
    rows = [
        {
            "step": one.step,
            "query": places[one.query],
            "action": one.action,
            "operator": None if one.action is None else names[one.action],
            "probability": probability,
            "rewritten": places[one.rewritten] if one.rewritten else None,
            "answer": one.answer[:LONGEST_ANSWER],
            "value": one.value,
            "reward": one.reward,
            "success": one.success,
            "after": places[one.after],
            "ends": one.ends,
            "excluded": list(one.excluded) if one.excluded else None,
        }
        for one, probability in zip(transitions, probabilities, strict=True)
    ]
    vectors = {str(places[text]): write(one) for text, one in known.items() if text in places}
    return {**place._asdict(), "texts": texts, "vectors": vectors, "transitions": rows}


class Sample(NamedTuple):
    """A transition as a learner takes it. Excluded ones are left out: they changed nothing, so that
    the others follow each other as they are."""

    observation: Observation
    action: int
    reward: float
    after: Observation
    ends: bool  # nothing follows it: the episode reached its end, or the segment did


def samples_in(record: bytes) -> list[Sample]:
    document = orjson.loads(record)
    vectors = {int(place): read(text) for place, text in document["vectors"].items()}
    samples: list[Sample] = []
    for row in document["transitions"]:
        if row["reward"] is not None:
            samples.append(
                Sample(
                    vectors[row["query"]],
                    row["action"],
                    row["reward"],
                    vectors[row["after"]],
                    row["ends"],
                )
            )
        elif row["ends"] and samples:  # the episode ended in a step that is left out
            samples[-1] = samples[-1]._replace(ends=True)
    if samples:
        samples[-1] = samples[-1]._replace(ends=True)
    return samples
