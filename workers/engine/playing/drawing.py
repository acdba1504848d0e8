"""Pictures of an episode. It is played once more, by its actions, in a world that draws itself: so
drawing can neither change what was played nor make an action late."""

import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from workers.engine.environments import DrawnWorld
from workers.engine.json_text import to_json
from workers.engine.lanes import child_program
from workers.engine.lanes.child_program import describe
from workers.engine.playing.places import ActionLate, Alarm
from workers.engine.playing.plans import DRAWING_SECONDS, Clocks, EpisodePlan, GamePlan
from workers.engine.playing.replay import LARGEST_REPLAY

MOST_PICTURES = 240  # of an episode: more than are looked at, and a second to draw
ENOUGH_SECONDS = 15.0  # then the pictures end; what does not look at this clock is interrupted
ANOTHER_WAY = "Played again with the same seed and actions, the environment gave other rewards."
TOO_SLOW = "Drawing took too long: later steps have no pictures."


class Film:
    """Pictures at equal distances, and of the last step. When there is no more room, every second
    one goes: an episode is shown from its beginning to its end, in larger steps."""

    def __init__(self, steps: int, room: int) -> None:
        self._room = room  # bytes
        self._last = steps
        self._every = max(1, -(-steps // MOST_PICTURES))
        self._kept: list[tuple[int, str]] = []
        self._size: tuple[int, int] = (0, 0)

    def wants(self, step: int) -> bool:
        return step % self._every == 0 or step == self._last

    def add(self, step: int, drawn: Any) -> None:
        from workers.engine.playing.png import png_of, small_picture  # numpy takes its time

        picture = small_picture(drawn)
        self._size = (picture.shape[1], picture.shape[0])
        self._kept.append((step, b64encode(png_of(picture)).decode()))
        while self._kept and sum(len(png) for _, png in self._kept) > self._room:
            self._every *= 2
            fewer = [one for one in self._kept if self.wants(one[0])]
            self._kept = fewer if len(fewer) < len(self._kept) else []

    def document(self, told: str) -> dict[str, Any]:
        return {
            "width": self._size[0],
            "height": self._size[1],
            "every": self._every,
            "steps": [step for step, _ in self._kept],
            "png": [png for _, png in self._kept],
            "told": told,
        }


def draw(
    plan: GamePlan,
    episode: EpisodePlan,
    actions: Sequence[Sequence[Any]],
    rewards: Sequence[Sequence[float]],
    kept: Sequence[Any],
) -> dict[str, Any] | None:
    """Of the steps that the replay has kept. None if the environment draws nothing. What goes wrong
    is told: the episode was played."""
    actions, rewards = actions[: len(kept)], rewards[: len(kept)]
    film, alarm = (
        Film(len(kept), LARGEST_REPLAY - len(to_json(kept))),
        Alarm(Clocks(DRAWING_SECONDS)),
    )
    worlds: list[DrawnWorld] = []
    try:
        if (opened := plan.environment.open_drawn(plan.variant, plan.agents)) is None:
            return None
        worlds.append(opened)
        told, _ = alarm.call(DRAWING_SECONDS, film_of, film, opened, episode, actions, rewards)
    except ActionLate:
        child_program.retire()  # what was interrupted may have left anything behind
        told = TOO_SLOW
    except Exception as error:  # noqa: BLE001 - an environment may raise anything
        told = describe(error)
    finally:
        alarm.close()
        for world in worlds:
            with suppress(Exception):  # all is known by then
                world.close()
    return Film(0, 0).document(told) if told == ANOTHER_WAY else film.document(told)


def film_of(
    film: Film,
    world: DrawnWorld,
    episode: EpisodePlan,
    actions: Sequence[Sequence[Any]],
    rewards: Sequence[Sequence[float]],
) -> str:
    """What is to be told about it; empty: nothing."""
    ends = time.perf_counter() + ENOUGH_SECONDS
    world.reset(episode.seed, episode.map_seed)
    film.add(0, world.picture())
    for step, (acted, earned) in enumerate(zip(actions, rewards, strict=True), start=1):
        if list(world.step(acted).rewards) != list(earned):
            return ANOTHER_WAY
        if film.wants(step):
            film.add(step, world.picture())
        if time.perf_counter() > ends:
            return TOO_SLOW
    return ""
