"""How many episodes travel together, and the device of those that are played in batches."""

import pytest

from tests.engine.rollout import odd_players as odd
from tests.engine.rollout.playing import install, played, report_for, rollout, steps_of
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.choosing import Choice
from workers.engine.kinds.rollout.groups import MOST_BYTES, size_of
from workers.engine.kinds.rollout.rules import GameRules, rules_of
from workers.engine.kinds.rollout.target import Known
from workers.engine.playing.game import play
from workers.engine.playing.plans import BATCH, INLINE, PROCESS, Episode
from workers.engine.records import Case

from tests.engine.rollout.playing import plan_of, player  # isort: skip


def rules(**changes: object) -> GameRules:
    configuration = read_configuration(rollout(**changes))
    (case, *_) = configuration.make_cases() or []
    return rules_of(configuration.make_candidates()[0], Case(0, case))


@pytest.mark.parametrize(
    ("inside", "seconds", "record_bytes", "waiting", "size"),
    [
        pytest.param(INLINE, None, 0, 100, 1, id="nothing known"),
        pytest.param(INLINE, 0.01, 0, 100, 25, id="short ones"),
        pytest.param(INLINE, 0.01, 0, 6, 3, id="half, of two jobs"),
        pytest.param(INLINE, 5.0, 0, 100, 1, id="long ones"),
        pytest.param(PROCESS, 0.01, 0, 100, 1, id="agents have the slots"),
        pytest.param(BATCH, None, 0, 100, 32, id="128 observations of 4 agents"),
        pytest.param(BATCH, None, MOST_BYTES // 3, 100, 3, id="as many replays as can be sent"),
        pytest.param(BATCH, None, 0, 1, 1, id="the last"),
        pytest.param(BATCH, None, 0, 0, 0, id="another one took it"),
    ],
)
def test_how_many_episodes_are_played_together(
    inside: str, seconds: float | None, record_bytes: int, waiting: int, size: int
) -> None:
    known = Known((Choice(inside, inside, ""),), 4, record_bytes)
    known.seconds = seconds
    assert size_of(rules(), known, waiting, at_once=2) == size


async def test_long_replays_of_a_batch_are_sent_in_parts() -> None:
    """A result may have 4 MB: eight of these replays have more."""
    mission = {"environment": "grid/crowd", "max_steps": 1000}
    changes = {"missions": [mission], "policies": ["linear"], "lane": "batch", "jobs": 1}
    scores = await played(rollout(**changes, episodes=8))
    assert {score.error for score in scores} == {""}
    assert sum(len(score.record or b"") for score in scores) > 4_200_000


@pytest.mark.parametrize(
    ("lane", "device", "action"),
    [("batch", "cpu", 1), ("batch", "cuda:0", 2), ("inline", "cuda:0", 1)],
)
def test_the_lane_batch_hands_its_device_to_policies_that_take_one(
    lane: str, device: str, action: int
) -> None:
    plan = plan_of(player(odd.Placed(), lane), steps=2, episodes=1)._replace(device=device)
    (found,) = play(plan)
    assert isinstance(found, Episode)
    assert steps_of(found)[0][1] == [action] * 4


async def test_a_device_that_is_not_there_fails_and_one_that_nobody_takes_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (name,) = install(monkeypatch, odd.Placed)
    changes = {"policies": [name, "linear"], "lane": "batch", "batching": {"device": "cpu:9"}}
    document = rollout(**changes, episodes=1)
    scores = await played(document)
    placed, linear = report_for(document, scores).missions[0].policies
    assert [score.error for score in scores] == ["bad_mission", ""]
    assert "there is no cpu:9" in scores[0].message
    assert placed.score is None
    assert linear.lane is not None
    assert linear.lane.warning.endswith("are not computed on cpu:9")


def test_a_device_is_a_name_with_a_number() -> None:
    with pytest.raises(ConfigurationError):
        read_configuration(rollout(batching={"device": "../cuda"}))
