"""One step of an episode as the page shows it: a picture where there is one, and a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from runs.kinds.rollout.films import Film, film_at
from runs.kinds.rollout.sights import sight, told, window_of
from runs.models import Run, Score
from runs.selectors.scores.score_records import read_record

CELL = 10  # units of the picture for a place of the map
MOST_AGENTS = 64  # rows of the table
MOST_TEXT = 200  # characters of an action


class Shape(NamedTuple):
    """A place in the picture."""

    x: int
    y: int
    label: str = ""
    look: str = ""

    @property
    def middle_x(self) -> int:
        return self.x + CELL // 2

    @property
    def middle_y(self) -> int:
        return self.y + CELL // 2

    @property
    def text_y(self) -> int:
        return self.y + CELL - 3


class Picture(NamedTuple):
    side: int
    walls: list[Shape]
    food: list[Shape]
    agents: list[Shape]


class AgentRow(NamedTuple):
    agent: int
    policy: str
    seen: str
    action: str
    reward: float | None
    total: float


@dataclass(frozen=True)
class ReplayPage:
    """`step` is how many were played; after the last one nobody acts any more."""

    position: int
    title: str
    step: int
    last: int  # steps that were kept
    steps: int  # of the episode
    rows: list[AgentRow]
    hidden: int
    is_blind: bool  # what agents see was not kept
    has_windows: bool  # agents see the places around them
    picture: Picture | None
    film: Film | None  # of an environment that draws itself; None: the picture is enough

    @property
    def before(self) -> int:
        return max(0, self.step - 1)

    @property
    def after(self) -> int:
        return min(self.last, self.step + 1)

    @property
    def is_cut(self) -> bool:
        return self.last < self.steps


def replay_page(run: Run, given: Mapping[str, str]) -> ReplayPage | None:
    """Of the episode that the address names. None: it names none, or one without a replay."""
    position = whole(given.get("episode"))
    if position is None:
        return None
    packed = read_record(run, position)
    score = run.scores.filter(position=position).select_related("candidate", "case").first()
    if packed is None or score is None:
        return None
    return page_of(score, orjson.loads(packed), whole(given.get("step")) or 0)


def page_of(score: Score, record: Mapping[str, Any], wanted: int) -> ReplayPage:
    play, step = record["play"], min(wanted, len(record["play"]))
    labels = [one["label"] for one in score.candidate.document["policies"]]
    policies = [labels[seat] for seat in record["assignments"]]
    fields, sketch = score.case.fields, record["sketch"]
    picture = picture_at(sketch, play[:step], record["assignments"])
    return ReplayPage(
        position=score.position,
        title=f"{fields['mission']}, episode {int(fields['episode']) + 1}, {score.candidate.name}",
        step=step,
        last=len(play),
        steps=record["steps"],
        rows=rows_at(play, step, policies, sketch)[:MOST_AGENTS],
        hidden=max(0, len(policies) - MOST_AGENTS),
        is_blind=bool(play) and all(seen is None for seen in play[0][0]),
        has_windows=bool(play) and is_grid(sketch) and any(map(window_of, play[0][0])),
        picture=picture,
        film=None if picture else film_at(record, step),
    )


def names_in(sketch: Any) -> Sequence[str]:
    """Of actions, where the world has some."""
    return sketch.get("actions", ()) if sketch else ()


def is_grid(sketch: Any) -> bool:
    return bool(sketch) and sketch.get("form") == "grid"


def rows_at(play: Sequence[Any], step: int, policies: Sequence[str], sketch: Any) -> list[AgentRow]:
    """What agents see now, what they do next, and what they have so far."""
    names, on_grid = names_in(sketch), is_grid(sketch)
    seen, actions, rewards, _ = play[step] if step < len(play) else ([], [], [], None)
    totals = [sum(each[2][agent] for each in play[:step]) for agent in range(len(policies))]
    return [
        AgentRow(
            agent,
            policy,
            sight(seen[agent], on_grid=on_grid) if seen else "",
            named(actions[agent], names) if actions else "",
            rewards[agent] if rewards else None,
            totals[agent],
        )
        for agent, policy in enumerate(policies)
    ]


def named(action: Any, names: Sequence[str]) -> str:
    is_known = isinstance(action, int) and 0 <= action < len(names)
    return names[action] if is_known else short(action)


def short(action: Any) -> str:
    return told(action)[:MOST_TEXT]


def picture_at(sketch: Any, played: Sequence[Any], seats: Sequence[int]) -> Picture | None:
    """The grid world after these steps."""
    if not is_grid(sketch):
        return None
    food = {tuple(place) for place in sketch["food"]}
    at = sketch["agents"]
    for _, _, _, (now_at, grown, *taken) in played:
        at = now_at
        food -= {tuple(place) for gone in (at, *taken) for place in gone}
        food |= {tuple(place) for place in grown}
    return Picture(
        CELL * sketch["size"],
        [shape(place) for place in sketch["walls"]],
        [shape(place) for place in sorted(food)],
        [
            shape(place, str(agent), f"replay-agent replay-policy-{seats[agent] % 4}")
            for agent, place in enumerate(at)
        ],
    )


def shape(place: Sequence[int], label: str = "", look: str = "") -> Shape:
    return Shape(place[0] * CELL, place[1] * CELL, label, look)


def whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 8 else None
