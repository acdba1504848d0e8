"""Rollouts as they are photographed: under way, finished, with failed episodes, and as replays."""

from __future__ import annotations

from scripts.camera import RUN_SECONDS, Photographer

KNIGHTS = "pettingzoo/butterfly/knights_archers_zombies_v11"
LONG = {
    "name": "Foragers, for long",
    "kind": "rollout",
    "missions": [{"environment": "grid/*", "max_steps": 400}],
    "policies": ["random", "seeker", "network"],
    "episodes": 400,
    "jobs": 2,
}
POLE = {
    "name": "Poles and knights",
    "kind": "rollout",
    "missions": [
        {"environment": "gymnasium/CartPole-v1", "max_steps": 200},
        {"environment": KNIGHTS, "max_steps": 100},
    ],
    # Random has no batches, which is warned of; balance knows CartPole only: others fail.
    "policies": [{"name": "random", "lane": "batch"}, "balance"],
    "episodes": 4,
    "pictures": "first",
}
POLE_REPLAY = "gymnasium/CartPole-v1&episode=1&step=40"
KNIGHTS_REPLAY = f"{KNIGHTS}&episode=2&step=30"
NAMES = frozenset(
    {
        "rollout-new",
        "rollout-live",
        "rollout",
        "rollout-replay",
        "rollout-failed",
        "rollout-film",
        "rollout-knights",
    }
)


def photograph_a_rollout(camera: Photographer) -> None:
    path = camera.start_demo("Play a mission")
    camera.wait_until_finished()
    camera.take_all("rollout-new", "/runs/new/?kind=rollout")
    camera.take_all("rollout", path)
    camera.take_all(
        "rollout-replay", f"{path}?mission=grid/harvest&episode=0&step=40", at="#replay"
    )
    path = camera.launch_document(POLE)
    camera.wait_until_finished()
    camera.take_all("rollout-failed", f"{path}?mission={KNIGHTS}", at=".rollout-mission >> nth=1")
    camera.take_all("rollout-film", f"{path}?mission={POLE_REPLAY}", at="#replay")
    camera.take_all("rollout-knights", f"{path}?mission={KNIGHTS_REPLAY}", at="#replay")
    path = camera.launch_document(LONG)
    with camera.visitors(path) as pages:
        for page, theme, size in pages:
            page.locator(".rollout-mean").first.wait_for(timeout=RUN_SECONDS * 1000)
            camera.take(page, "rollout-live", theme, size)
    camera.page.click("[data-cancel] button")
