"""Measures what rollouts gain and cost, as ratios within one run, each with its bar.

`python scripts/measure_rollouts.py [overhead computing lanes auto vectors site]`, by default all of
it, which takes some five minutes where nothing else is done. What is compared
is measured in turn, and the best of each counts. The machine's load stands beside; the time of the
processor, over all processes, tells the same where the clock is disturbed.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in the processes that play

from scripts import rollout_players
from scripts.rollout_figures import Bar, Runs, Took, best_of, longest_process, tell
from workers.engine.environments import ENVIRONMENTS
from workers.engine.environments.grid import Grid
from workers.engine.kinds.rollout.choosing import choose
from workers.engine.playing.game import play
from workers.engine.playing.measuring import Measured, measure
from workers.engine.playing.plans import (
    BATCH,
    INLINE,
    THREAD,
    Clocks,
    EpisodePlan,
    GamePlan,
    Player,
)
from workers.engine.plugins import PLUGINS
from workers.engine.policies import POLICIES, Policy, Seat

MODULE = "scripts.rollout_players"
CARTPOLE = "gymnasium/CartPole-v1"
ALONE = {"environment": "grid/crowd", "agents": 1}
CROWD = {"environment": "grid/crowd", "agents": 16}


def rollout(policy: str, mission: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    document = {"kind": "rollout", "missions": [mission], "policies": [policy]}
    return {**document, "action_timeout_ms": None, "replays": False, **changes}


def measure_overhead() -> None:
    """Beside a loop of the same world and policy that does nothing else. Replays are kept."""
    for name, mission in (("balance", CARTPOLE), ("random", "grid/harvest")):
        works: dict[str, Callable[[], Any]] = {
            f"{mission}, bare loop": partial(bare, name, mission),
            f"{mission}, episodes": partial(play, game_of(name, mission)),
        }
        loop, ours = best_of(works, 8).values()
        steps = bare(name, mission)
        for by, less, more in zip(("clock", "CPU"), loop, ours, strict=True):
            bar = Bar(100, is_most=True, unit="µs a step")
            tell(f"overhead of a step, {mission}", (more - less) / steps * 1e6, bar, by=by)


def game_of(name: str, mission: str, episodes: int = 30) -> GamePlan:
    family, _, variant = mission.partition("/")
    players = (Player(POLICIES[name](), INLINE),)
    plans = tuple(EpisodePlan(seed, seed) for seed in range(episodes))
    return GamePlan(ENVIRONMENTS[family](), variant, None, 500, players, Clocks(2.0), plans)


def bare(name: str, mission: str, episodes: int = 30) -> int:
    """How many steps it played."""
    plan, policy, steps = game_of(name, mission, episodes), POLICIES[name](), 0
    for episode in plan.episodes:
        world = plan.environment.open(plan.variant, None)
        seen, is_over, step = world.reset(episode.seed, episode.map_seed), False, 0
        seats = enumerate(world.spaces)
        states = [policy.reset(Seat(n, space, f"{episode.seed}/{n}")) for n, space in seats]
        while not is_over and step < plan.max_steps:
            actions = [policy.step(one, state) for one, state in zip(seen, states, strict=True)]
            seen, _, is_over = world.step(actions)
            step += 1
        steps += step
        world.close()
    return steps


def measure_computing() -> None:
    name, mission = f"{MODULE}.Computes", {**ALONE, "max_steps": 500}
    four = [{**ALONE, "max_steps": 250, "name": f"mission {n}"} for n in range(4)]
    for title, changes in (
        ("8 episodes", {"episodes": 8}),
        ("4 missions x 4 episodes", {"episodes": 4, "missions": four}),
    ):
        runs = Runs({f"jobs {n}": rollout(name, mission, jobs=n, **changes) for n in (1, 2)})
        one, two = best_of(runs.works()).values()
        figure = f"computes 2 ms, {title}, jobs 2 against 1"
        tell(figure, ratio(one, two), Bar(1.8))
        alone, both = (longest_process(work) for work in runs.works().values())
        tell(f"{figure}, the longest process", alone / both, Bar(1.8), by="CPU")


def ratio(slow: Took, fast: Took) -> float:
    return slow.seconds / fast.seconds


def measure_lanes() -> None:
    """In one process, that no start of another one is measured; `auto` with its measuring."""
    for title, policy, steps, episodes, lane, bar in (
        ("matrix product, 16 agents x 8 episodes", rollout_players.Multiplies(), 40, 8, BATCH, 3),
        ("waits 20 ms, 16 agents", rollout_players.Waits(), 30, 1, THREAD, 12),
    ):
        works: dict[str, Callable[[], Any]] = {
            one: partial(play, crowd_of(policy, one, steps, episodes)) for one in (INLINE, lane)
        }
        works["auto"] = partial(play_auto, policy, steps, episodes)
        alone, best, chosen = best_of(works).values()
        tell(f"{title}, {lane} against one by one", ratio(alone, best), Bar(bar))
        tell(f"{title}, auto against one by one", ratio(alone, chosen), Bar(bar))
        if lane == BATCH:
            used = alone.cpu_seconds / best.cpu_seconds
            tell(f"{title}, {lane} against one by one", used, Bar(bar), by="CPU")


def crowd_of(policy: Policy, lane: str, steps: int, episodes: int) -> GamePlan:
    plans = tuple(EpisodePlan(seed, seed) for seed in range(episodes))
    players = (Player(policy, lane),)
    return GamePlan(Grid(), "crowd", 16, steps, players, Clocks(), plans, 16, keeps_replay=False)


def play_auto(policy: Policy, steps: int, episodes: int) -> None:
    found = measure(crowd_of(policy, INLINE, steps, episodes))
    assert isinstance(found, Measured), found
    choice = choose("auto", found.players[0], spare=1, by_agents=True)
    play(crowd_of(policy, choice.inside, steps, episodes))


def measure_auto() -> None:
    """Whole runs, with all lanes that can be named, and the start of their processes."""
    for title, name, mission, changes in (
        ("computes 2 ms, 8 episodes", "Computes", {**ALONE, "max_steps": 200}, {"jobs": 2}),
        ("matrix product, 16 agents x 8 episodes", "Multiplies", {**CROWD, "max_steps": 100}, {}),
        ("waits 20 ms, 16 agents", "Waits", {**CROWD, "max_steps": 60}, {"episodes": 1}),
    ):
        document = rollout(f"{MODULE}.{name}", mission, **{"jobs": 16, "episodes": 8, **changes})
        lanes = ["auto", "process", "thread", "batch"]
        if name == "Waits":  # without step_batch, batch is one by one: 16 times as long
            lanes.remove("batch")
        runs = Runs({lane: {**document, "lane": lane} for lane in lanes})
        found = best_of(runs.works())
        chosen = found.pop("auto")
        for by, number in (("clock", 0), ("CPU", 1)):
            best = min(took[number] for took in found.values())
            bar = Bar(1.1, is_most=True)
            if by == "clock" or name != "Waits":  # whoever waits uses no processor
                tell(f"{title}, auto: time of the best lane", chosen[number] / best, bar, by=by)


def measure_vectors() -> None:
    """Beside Gymnasium's own, with the same policy, seeds and episodes of 500 steps."""
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

    for milliseconds, episodes, fewer in ((0.0, 400, 20), (2.0, 8, 8)):
        policy = rollout_players.Balances(milliseconds=milliseconds)
        choice = {"name": f"{MODULE}.Balances", "options": {"milliseconds": milliseconds}}
        mission = {"environment": CARTPOLE, "max_steps": 500}
        document = rollout("", mission, policies=[choice], episodes=episodes, jobs=2, seed=0)
        works: dict[str, Callable[[], Any]] = {
            **Runs({"rollout, jobs 2": document}).works(),
            "rollout, in one process": partial(play, vector_game(policy, episodes)),
            "SyncVectorEnv": partial(play_vector, SyncVectorEnv, policy, episodes),
            "AsyncVectorEnv": partial(play_vector, AsyncVectorEnv, policy, fewer),
        }
        ours, alone, sync, parallel = best_of(works, 2).values()
        title = f"CartPole, policy of {milliseconds:g} ms, rollout: steps/s of"
        tell(f"{title} SyncVectorEnv", ratio(sync, ours), Bar(1.0))
        tell(f"{title} AsyncVectorEnv", ratio(parallel, ours) * episodes / fewer, Bar(1.0))
        tell(f"{title} SyncVectorEnv, in one process", ratio(sync, alone), Bar(1.0))
        used = sync.cpu_seconds / alone.cpu_seconds
        tell(f"{title} SyncVectorEnv, in one process", used, Bar(1.0), by="CPU")


def vector_game(policy: Policy, episodes: int) -> GamePlan:
    players = (Player(policy, INLINE),)
    plan = game_of("balance", CARTPOLE, episodes)
    return plan._replace(players=players, clocks=Clocks(), keeps_replay=False)


def play_vector(make: Callable[..., Any], policy: Policy, episodes: int) -> None:
    """Two environments, and a policy that is asked for each of them. Every episode has 500 steps,
    and one more, in which the vector resets it."""
    import gymnasium

    made = make([lambda: gymnasium.make("CartPole-v1")] * 2)
    observations, _ = made.reset(seed=0)
    for _ in range(episodes // 2 * 501 - 1):
        actions = [policy.step(one, None) for one in observations]
        observations, *_ = made.step(actions)
    made.close()


def measure_site() -> None:
    from scripts.rollout_site import measure_through_the_site

    measure_through_the_site()


PARTS: dict[str, Callable[[], None]] = {
    "overhead": measure_overhead,
    "computing": measure_computing,
    "lanes": measure_lanes,
    "auto": measure_auto,
    "vectors": measure_vectors,
    "site": measure_site,
}


def main() -> None:
    for name in ("Balances", "Computes", "Waits", "Multiplies"):
        PLUGINS[f"{MODULE}.{name}"] = getattr(rollout_players, name)
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
