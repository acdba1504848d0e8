"""The record of an episode: what is kept of observations, and where it ends."""

from typing import Any

import numpy as np
import orjson
import pytest

from tests.engine.rollout.playing import plan_of, player, steps_of
from workers.engine.playing.game import play
from workers.engine.playing.plans import Episode
from workers.engine.playing.replay import LARGEST_REPLAY, Replay
from workers.engine.policies import POLICIES

FLOATS = np.array([0.123456, 2.0], dtype=np.float32)


def kept(*steps: list[Any]) -> list[Any]:
    replay = Replay()
    for seen in steps:
        replay.see(seen)
        replay.note(None)
    agents = len(steps[0])
    nothing = [[0] * agents for _ in steps]
    found = orjson.loads(replay.text(nothing, nothing, {"assignments": nothing[0]}))
    assert found["kept"] == len(found["play"])
    return [step[0] for step in found["play"]]


@pytest.mark.parametrize(
    ("seen", "shown"),
    [
        pytest.param(FLOATS, [0.12346, 2.0], id="rounded"),
        pytest.param(np.array([[0.0, 1.0], [1.0, 0.0]]), "0110", id="0 and 1 as a text"),
        pytest.param(np.array([3, 4], dtype=np.int64), [3.0, 4.0], id="whole numbers"),
        pytest.param(np.int64(7), [7.0], id="numpy's own number"),
        pytest.param(7, 7, id="a number"),
        pytest.param(None, None, id="out"),
        pytest.param({"a": 1}, None, id="no numbers"),
        pytest.param(np.zeros(129), None, id="too large"),
        pytest.param(np.array([object()]), None, id="an array of objects"),
    ],
)
def test_what_is_kept_of_an_observation(seen: Any, shown: Any) -> None:
    assert kept([seen, seen], [seen, seen]) == [[shown, shown]] * 2


def test_observations_that_change_their_form_or_are_none() -> None:
    other = np.array([0.5, 0.25, 0.125])
    found = kept([FLOATS, FLOATS], [FLOATS.astype(np.float64), None], [other, FLOATS])
    assert found == [
        [[0.12346, 2.0]] * 2,
        [[0.12346, 2.0], None],
        [[0.5, 0.25, 0.125], [0.12346, 2.0]],
    ]


def test_an_array_that_is_used_again_is_kept_as_it_was() -> None:
    same, replay = np.array([1.5]), Replay()
    for value in (1.5, 2.5):
        same[:] = value
        replay.see([same])
        replay.note(None)
    found = orjson.loads(replay.text([[0], [0]], [[0], [0]], {"assignments": [0]}))
    assert [step[0] for step in found["play"]] == [[[1.5]], [[2.5]]]


def test_a_long_episode_is_cut_and_its_result_counts_all_steps() -> None:
    plan = plan_of(player(POLICIES["still"]()), mission="grid/crowd", steps=1500, episodes=1)
    (found,) = play(plan)
    assert isinstance(found, Episode)
    assert found.steps == 1500
    assert 500 < len(steps_of(found)) < 1500
    assert LARGEST_REPLAY / 2 < len(found.record or b"") <= LARGEST_REPLAY + 20_000
