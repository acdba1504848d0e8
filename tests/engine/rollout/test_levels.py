"""What was played at once, from when episodes began and how long they took."""

import pytest

from workers.engine.kinds.rollout.answers import Told
from workers.engine.kinds.rollout.levels import Levels, covered, levels_of
from workers.engine.kinds.rollout.speed import PARTS, speed_of

NOTHING = Told(
    seed=0,
    steps=1,
    is_over=True,
    assignments=(0, 0),
    rewards=(0.0, 0.0),
    timeouts=(0, 0),
    out_at=(None, None),
    game_stats={},
    agent_stats=({}, {}),
    digest="",
    seconds=0.0,
    policy_seconds=0.0,
    world_seconds=0.0,
    exchange_seconds=0.0,
    together=1,
    at_once=1,
    lanes=(),
)


def told(start: float, seconds: float, together: int = 1, at_once: int = 1) -> Told:
    return NOTHING._replace(
        started=1000 + start, seconds=seconds, together=together, at_once=at_once
    )


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0),
        ([(0, 2), (1, 3)], 3),
        ([(5, 6), (0, 1)], 2),
        ([(0, 9), (2, 3), (8, 10)], 10),
    ],
)
def test_time_is_counted_once(spans: list[tuple[float, float]], seconds: float) -> None:
    assert covered(spans) == seconds


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        pytest.param(
            [("a", told(0, 4)), ("a", told(4, 4))], Levels(1, 1, 1, 1, 2, 1), id="one by one"
        ),
        pytest.param(
            [("a", told(0, 4)), ("b", told(0, 4))], Levels(2, 2, 1, 2, 2, 1), id="two missions"
        ),
        pytest.param(
            [("a", told(0, 4)), ("a", told(0, 2))], Levels(1, 1.5, 1, 1.5, 2, 1), id="a tail"
        ),
        pytest.param(
            [("a", told(0, 4, together=2)), ("a", told(0, 4, together=2))],
            Levels(1, 2, 1, 1, 2, 2),
            id="side by side in one slot",
        ),
        pytest.param(
            [("a", told(0, 4, at_once=2))], Levels(1, 1, 2, 2, 2, 1), id="agents in lent slots"
        ),
    ],
)
def test_levels(played: list[tuple[str, Told]], expected: Levels) -> None:
    assert levels_of(played) == pytest.approx(expected)


def test_episodes_of_earlier_versions_did_not_say_when() -> None:
    assert levels_of([("a", NOTHING._replace(seconds=3.0))]) is None


def test_steps_are_spread_over_the_time_of_their_episode() -> None:
    played = [told(0, 60)._replace(steps=600), told(30, 30)._replace(steps=600)]
    speed = speed_of(played)
    assert speed is not None
    assert speed.seconds == 60
    assert speed.rates[: PARTS // 2] == pytest.approx([10.0] * (PARTS // 2))
    assert speed.rates[PARTS // 2 :] == pytest.approx([30.0] * (PARTS // 2))


def test_many_short_episodes_lose_no_step() -> None:
    speed = speed_of([told(number * 0.37, 0.9)._replace(steps=7) for number in range(500)])
    assert speed is not None
    assert sum(speed.rates) * speed.seconds / PARTS == pytest.approx(500 * 7)


def test_episodes_without_a_time_have_no_speed() -> None:
    assert speed_of([]) is None
    assert speed_of([NOTHING._replace(seconds=1.0)]) is None
