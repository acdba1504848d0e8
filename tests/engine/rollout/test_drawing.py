"""Pictures of episodes: small, and without an effect on what was played."""

import struct
import zlib
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from tests.engine.rollout import odd_players as odd
from tests.engine.rollout.playing import install, plan_of, play, played, record_of, rollout
from tests.engine.running import known
from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.answers import Told
from workers.engine.kinds.rollout.levels import Levels, covered, levels_of
from workers.engine.kinds.rollout.speed import PARTS, speed_of
from workers.engine.playing.drawing import ANOTHER_WAY, Film
from workers.engine.playing.plans import Episode
from workers.engine.playing.png import HIGHEST, WIDEST, png_of, small_picture
from workers.engine.playing.replay import LARGEST_REPLAY

PONG = "pettingzoo/butterfly/cooperative_pong_v6"


def drawn(plan):
    return plan._replace(episodes=tuple(one._replace(draws=True) for one in plan.episodes))


def read_png(png):
    """As a browser does it: rows, columns and three colours. Checks every part's sum."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    parts, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack_from("!I", png, place)
        name, content = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        assert zlib.crc32(name + content) == struct.unpack_from("!I", png, place + 8 + length)[0]
        parts[name] = content
        place += 12 + length
    columns, rows, depth, colour = struct.unpack_from("!IIBB", parts[b"IHDR"])
    assert (depth, colour) == (8, 3)
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(rows, columns + 1)
    assert not lines[:, 0].any()
    return np.frombuffer(parts[b"PLTE"], np.uint8).reshape(-1, 3)[lines[:, 1:]]


@table("gymnasium/CartPole-v1", PONG)
def test_drawing_changes_nothing_that_was_played(mission):
    plan = plan_of("random", mission=mission, steps=12, episodes=1)
    (plain,) = play(plan)
    (found,) = play(drawn(plan))
    assert found.digest == plain.digest
    record = record_of(found)
    pictures = record.pop("pictures")
    assert record == record_of(plain)
    assert (pictures["told"], pictures["steps"]) == ("", list(range(found.steps + 1)))
    shape = (pictures["height"], pictures["width"], 3)
    seen = [read_png(b64decode(png)) for png in pictures["png"]]
    assert {one.shape for one in seen} == {shape}
    assert shape[0] <= HIGHEST
    assert shape[1] <= WIDEST
    assert len({one.tobytes() for one in seen}) > 5  # something moves


def test_what_has_scenes_has_no_pictures_and_pictures_need_replays():
    (found,) = play(drawn(plan_of("random", episodes=1)))
    assert isinstance(found, Episode)
    assert record_of(found)["pictures"] is None
    with pytest.raises(ConfigurationError, match="replays: true"):
        read_configuration(rollout(pictures="all", replays=False))


@table(("raises", "OSError: no paint"), ("other", ANOTHER_WAY), ("text", "It drew something else"))
def test_what_cannot_be_drawn_says_why_and_was_played(how, told):
    plan = plan_of("random", steps=5, episodes=1)
    (found,) = play(drawn(plan._replace(environment=odd.Painted(how=how))))
    assert isinstance(found, Episode)
    assert record_of(found)["pictures"]["png"] == []
    assert told in record_of(found)["pictures"]["told"]


def test_a_film_has_room_for_the_whole_episode_in_larger_steps():
    random = np.random.default_rng(0)
    film = Film(100, 60_000)
    for step in range(101):
        if film.wants(step):
            film.add(step, random.integers(0, 255, (40, 40, 3), dtype=np.uint8))
    kept = film.document("")
    assert kept["every"] in (2, 4, 8)
    assert kept["steps"] == sorted({*range(0, 101, kept["every"]), 100})
    assert 20_000 < sum(map(len, kept["png"])) <= 60_000


def test_pictures_and_steps_share_the_room_of_a_replay(monkeypatch):
    install(monkeypatch, odd.Painted)
    plan = plan_of("random", mission="grid/crowd", steps=1500, episodes=1)
    plan = plan._replace(environment=odd.Painted(how="noise"), agents=16)
    (found,) = play(drawn(plan))
    record = record_of(found)
    pictures = record["pictures"]
    assert 0 < record["kept"] < found.steps == 1500
    assert pictures["steps"][-1] == record["kept"]
    assert len(found.record or b"") < LARGEST_REPLAY + 50_000  # its map and its statistics


@table(
    (np.zeros((400, 600, 3), np.uint8), 0),
    (np.full((9, 7, 4), 255, np.uint8), 0),
    (np.arange(30 * 30 * 3, dtype=np.uint16).reshape(30, 30, 3).astype(np.uint8), 64),
)
def test_a_picture_keeps_its_colours(picture, off):
    small = small_picture(picture)
    found = read_png(png_of(small))
    assert found.shape == small.shape
    assert int(np.abs(found.astype(int) - small).max()) <= off
    for no_picture in (None, "<svg>", np.zeros((4, 4)), np.zeros((0, 4, 3), "u1")):
        with pytest.raises(ValueError, match="It drew"):
            small_picture(no_picture)


@table(("none", [False, False]), ("first", [True, False]), ("all", [True, True]))
async def test_only_episodes_that_were_asked_for_are_drawn(pictures, expected):
    document = rollout(missions=[{"environment": "gymnasium/CartPole-v1", "max_steps": 5}])
    document |= {"policies": ["random"], "episodes": 2, "pictures": pictures}
    scores = await played(document)
    assert [b'"png":["' in (score.record or b"") for score in scores] == expected


OF_TWO: dict[str, Any] = {"assignments": (0, 0), "rewards": (0.0, 0.0), "timeouts": (0, 0)}
OF_TWO |= {"out_at": (None, None), "agent_stats": ({}, {}), "game_stats": {}, "lanes": ()}
OF_TWO |= dict.fromkeys(("seconds", "policy_seconds", "world_seconds", "exchange_seconds"), 0.0)
NOTHING = Told(seed=0, steps=1, is_over=True, digest="", together=1, at_once=1, **OF_TWO)


def told(start, seconds, together=1, at_once=1):
    played = NOTHING._replace(started=1000 + start, seconds=seconds)
    return played._replace(together=together, at_once=at_once)


@table(([], 0), ([(0, 2), (1, 3)], 3), ([(5, 6), (0, 1)], 2), ([(0, 9), (2, 3), (8, 10)], 10))
def test_time_is_counted_once(spans, seconds):
    assert covered(spans) == seconds


@table(
    row([("a", told(0, 4)), ("a", told(4, 4))], Levels(1, 1, 1, 1, 2, 1), id="one by one"),
    row([("a", told(0, 4)), ("b", told(0, 4))], Levels(2, 2, 1, 2, 2, 1), id="two missions"),
    row([("a", told(0, 4)), ("a", told(0, 2))], Levels(1, 1.5, 1, 1.5, 2, 1), id="a tail"),
    row([("a", told(0, 4, together=2))] * 2, Levels(1, 2, 1, 1, 2, 2), id="side by side in a slot"),
    row([("a", told(0, 4, at_once=2))], Levels(1, 1, 2, 2, 2, 1), id="agents in lent slots"),
)
def test_levels(played, expected):
    assert levels_of(played) == pytest.approx(expected)


def test_steps_are_spread_over_the_time_of_their_episode_and_none_is_lost():
    played = [told(0, 60)._replace(steps=600), told(30, 30)._replace(steps=600)]
    speed = known(speed_of(played))
    assert speed.seconds == 60
    assert speed.rates[: PARTS // 2] == pytest.approx([10.0] * (PARTS // 2))
    assert speed.rates[PARTS // 2 :] == pytest.approx([30.0] * (PARTS // 2))
    # Many short episodes lose no step.
    speed = known(speed_of([told(number * 0.37, 0.9)._replace(steps=7) for number in range(500)]))
    assert sum(speed.rates) * speed.seconds / PARTS == pytest.approx(500 * 7)
    # Episodes without a time have no speed.
    assert speed_of([]) is None
    assert speed_of([NOTHING._replace(seconds=1.0)]) is None
    # Episodes of earlier versions did not say when.
    assert levels_of([("a", NOTHING._replace(seconds=3.0))]) is None
