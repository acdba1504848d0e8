"""Photographs every page, light and dark, wide and phone, into .cache/screenshots; what documents
show goes to docs/screenshots, too.

Starts the site on an empty data folder and free ports, makes the first account by its link, runs
the demo, and looks at the pages as a person would: `make screenshots`, or one page at a time with
`make screenshots ARGS="--only runs,run --theme dark --width 390"`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.camera import (  # noqa: E402 - the line above finds them
    FOLDER,
    RUN_SECONDS,
    SIZES,
    THEMES,
    Photographer,
    Wanted,
)
from scripts.install_chromium import find_chromium  # noqa: E402
from scripts.rollout_scenes import NAMES as ROLLOUTS  # noqa: E402
from scripts.rollout_scenes import photograph_a_rollout  # noqa: E402
from tests.harness.site import ServedSite  # noqa: E402

CHOICE_MODELS = [f"simulated/sim-{size}" for size in ("small", "medium", "large")]
CHOICE = {
    "name": "Which models?",
    "kind": "select",
    "seed": 3,
    "dataset": "arithmetic",
    "steps": [
        {"name": "planner", "user": "{{question}}", "models": CHOICE_MODELS},
        {
            "name": "solver",
            "system": "Think step by step.",
            "user": "{{question}}",
            "models": CHOICE_MODELS,
        },
    ],
    "scorers": ["numeric"],
    "limits": {"max_concurrent": 10, "requests_per_minute": None},
}
USUAL_MS, SLOW_MS = 300, 2500  # of the simulated provider
ROWS = "question,expected\nCapital of France?,Paris\nCapital of Japan?,Tokyo"
IS_WELL_UNDER_WAY = """() => {
    const bar = document.querySelector("[data-progress]");
    return Number(bar.ariaValueNow) >= 0.6 * Number(bar.ariaValueMax);
}"""
PAGES = {
    "runs": "/runs/",
    "runs-delete": "/runs/several/?do=delete&run=1",
    "run-about": "/runs/1/about/",
    "run-new": "/runs/new/?run=1",
    "run-new-blank": "/runs/new/",
    "trial": "/runs/1/trials/4/",
    "collect": "/runs/1/trials/collect/?status=wrong",
    "compare": "/compare/?base=1:0&with=1:1,1:2",
    "compare-pick": "/compare/?with=1",
    "configurations": "/configurations/",
    "prompts": "/prompts/",
    "prompt-new": "/prompts/new/",
    "datasets": "/datasets/",
    "dataset": "/datasets/1/",
    "dataset-report": "/datasets/1/report/",
    "dataset-changes": "/datasets/1/changes/",
    "dataset-import": "/datasets/import/",
    "promptfoo": "/datasets/promptfoo/",
    "dataset-erase": "/datasets/1/erase/",
    "endpoints": "/endpoints/",
    "endpoint": "/endpoints/1/",
    "endpoint-new": "/endpoints/new/",
    "cache": "/cache/",
    "help": "/help/",
    "guide": "/help/first-run/",
    "system": "/system/",
    "benchmarks": "/benchmarks/",
    "api": "/api/docs",
    "tokens": "/tokens/",
    "profile": "/profile/",
    "teams": "/teams/",
    "sharing": "/runs/1/share/",
    "alerts": "/alerts/",
    "password": "/password/",
    "people": "/people/",
    "audit": "/audit/",
    "quota": "/people/1/quota/",
    "not-found": "/nowhere/",
}


def photograph_first_minute(camera: Photographer) -> None:
    """Always: the other pictures show, or start from, the demo's run."""
    camera.take_all("runs-empty", "/runs/")
    path = camera.start_demo()
    camera.wait_until_finished()
    camera.take_all("run", path)
    camera.take_all("run-pictures", path, at="[data-heatmap] canvas:not([hidden])")


def photograph_repeats(camera: Photographer) -> None:
    path = camera.launch({"name": "Three tries each", "repeats": "3"})
    camera.wait_until_finished()
    camera.take_all("run-scores-folded", f"{path}scores/?sort=score")


def photograph_a_run_under_way(camera: Photographer) -> None:
    """Each page gets its own socket and waits until it shows the larger part of the run."""
    path = camera.launch({"name": "Which prompt is best?", "cache": "refresh"})
    with camera.visitors(path) as pages:
        for page, theme, size in pages:
            page.wait_for_selector("[data-live-state=live]")
            page.wait_for_function(IS_WELL_UNDER_WAY, timeout=RUN_SECONDS * 1000)
            camera.take(page, "run-live", theme, size)
    camera.wait_until_finished()


def photograph_reconnecting(camera: Photographer) -> None:
    """What a page says when the site is gone: the socket is closed and stays away."""
    path = camera.launch({"name": "Slow", "cache": "refresh", "max_concurrent": "3"})
    for theme, size in camera.looks():
        with camera.visitor(theme, size) as page:
            page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close())
            page.route(re.compile("/live$"), lambda route: route.abort())
            page.goto(camera.site.url + path)
            page.wait_for_selector("[data-live-state=reconnecting]")
            camera.take(page, "run-reconnecting", theme, size)
    camera.page.click("[data-cancel] button")


def photograph_a_paused_run(camera: Photographer) -> None:
    path = camera.launch({"name": "Within a budget", "cache": "refresh", "budget_calls": "120"})
    camera.page.wait_for_selector("[data-raise-link]:not([hidden])", timeout=RUN_SECONDS * 1000)
    camera.take_all("run-paused", path)
    camera.page.click("[data-cancel] button")


def photograph_a_choice(camera: Photographer) -> None:
    """Nine combinations of models: while it narrows, and its winner."""
    path = camera.launch_document(CHOICE)
    with camera.visitors(path) as pages:
        camera.page.locator(".arm-gone").first.wait_for(timeout=RUN_SECONDS * 1000)
        for page, theme, size in pages:
            page.locator(".arm-gone").first.wait_for()
            page.locator("#combinations").scroll_into_view_if_needed()
            camera.take(page, "choice-live", theme, size)
    camera.wait_until_finished()
    camera.take_all("choice", path)
    camera.take_all("choice-new", f"/runs/new/?run={path.strip('/').rpartition('/')[2]}")


def photograph_an_evolution(camera: Photographer) -> None:
    """The second demo: while a generation fills up, its best prompt, and how it is saved."""
    camera.site.simulator.change(latency_ms=SLOW_MS)  # it shall not end before all are taken
    path = camera.start_demo("Evolve a prompt")
    with camera.visitors(path) as pages:
        for page, theme, size in pages:
            page.locator(".lineage").wait_for(timeout=RUN_SECONDS * 1000)
            page.locator("[data-under-way]").wait_for(timeout=RUN_SECONDS * 1000)
            page.locator("#evolution").scroll_into_view_if_needed()
            camera.take(page, "evolution-live", theme, size)
    camera.site.simulator.change(latency_ms=USUAL_MS)
    camera.wait_until_finished()
    camera.take_all("evolution", path)
    camera.take_all("evolution-new", f"/runs/new/?run={path.strip('/').rpartition('/')[2]}")
    camera.page.goto(camera.site.url + path)
    saving = camera.page.get_by_role("link", name="Save as a prompt").first.get_attribute("href")
    camera.take_all("evolution-save", saving or "")
    camera.page.goto(f"{camera.site.url}{saving}")
    camera.page.fill("[name='prompt-0-name']", "sums")
    camera.page.click("[name=save]")
    camera.page.wait_for_url(re.compile(r"/prompts/\d+/$"))
    camera.take_all("prompt", camera.page.url.removeprefix(camera.site.url))


def photograph_a_mutation(camera: Photographer) -> None:
    """Its demo: while an update is played, what was learnt, and the form that made it."""
    path = camera.start_demo("Find rewrites that break a model")
    learnt = camera.page.locator("[data-phase]", has_text=re.compile(r"Update ([4-9]|10)\b"))
    learnt.wait_for(timeout=RUN_SECONDS * 1000)
    camera.site.simulator.change(latency_ms=SLOW_MS)  # it shall not end before all are taken
    with camera.visitors(path) as pages:
        for page, theme, size in pages:
            page.locator("[data-plot=reward]").wait_for(timeout=RUN_SECONDS * 1000)
            page.locator("#mutation").scroll_into_view_if_needed()
            camera.take(page, "mutation-live", theme, size)
    camera.site.simulator.change(latency_ms=USUAL_MS)
    camera.wait_until_finished()
    camera.take_all("mutation", path, at="#mutation-title")
    camera.take_all("mutation-rewrites", path, at="#transitions-title")
    camera.take_all("mutation-new", f"/runs/new/?run={path.strip('/').rpartition('/')[2]}")


def photograph_the_jump_box(camera: Photographer) -> None:
    for theme in camera.wanted.themes:
        with camera.visitor(theme, "1440x900") as page:
            page.goto(f"{camera.site.url}/runs/")
            page.keyboard.press("Control+k")
            page.keyboard.type("prompt")
            camera.take(page, "jump", theme, "1440x900")


def photograph_a_dry_run(camera: Photographer) -> None:
    """The answers of the first trials, the fold above the launch, and the menu of demos."""
    for theme, size in camera.looks():
        with camera.visitor(theme, size) as page:
            page.goto(f"{camera.site.url}/runs/new/?run=1")
            page.select_option("#id_cache", "refresh")
            page.click("[data-dry-run]")
            page.locator("[data-dry-bill]").wait_for(timeout=RUN_SECONDS * 1000)
            page.locator("#dry-run").evaluate("part => part.scrollIntoView()")
            camera.take(page, "run-new-dry", theme, size)
            page.click(".advanced > summary")
            page.locator(".advanced").evaluate("part => part.scrollIntoView()")
            camera.take(page, "run-new-advanced", theme, size)
            page.goto(f"{camera.site.url}/runs/")
            page.get_by_text("Try a demo", exact=True).click()
            camera.take(page, "runs-demos", theme, size)


def photograph_errors(camera: Photographer) -> None:
    """A few answers of the simulated provider are refusals, a few are no JSON."""
    refusals = {"do": "status", "status": 400, "times": 9}
    camera.site.simulator.play(refusals, {"do": "malformed", "times": 3})
    path = camera.launch({"name": "With errors", "cache": "refresh", "attempts": "1"})
    camera.wait_until_finished()
    camera.take_all("run-with-errors", path)
    camera.take_all("run-errors", f"{path}errors/")
    camera.take_all("run-scores", f"{path}scores/")
    camera.take_all("run-events", f"{path}events/")
    camera.take_all("run-configuration", f"{path}configuration/")
    camera.take_all("trial-failed", f"{path}trials/2/?status=failed")


def photograph_a_configuration(camera: Photographer) -> None:
    """Saved from the form, launched four times in two versions, with a baseline and a schedule."""
    page = camera.page
    for repeats in ("1", "2"):
        page.goto(f"{camera.site.url}/runs/new/?run=1")
        page.fill("[name=repeats]", repeats)
        page.click(".save-configuration summary")
        page.fill("[name=save_name]", "Nightly sums")
        page.click("[data-save]")
        page.wait_for_url(re.compile(r"/configurations/\d+/$"))
        path = page.url.removeprefix(camera.site.url)
        for _ in range(2):
            page.goto(camera.site.url + path)
            page.click("button:has-text('Launch')")
            page.wait_for_url(re.compile(r"/runs/\d+/$"))
            camera.wait_until_finished()
            page.goto(camera.site.url + path)
            if page.locator("button:has-text('Use as baseline')").count() == 1:
                page.click("button:has-text('Use as baseline')")
    page.click("summary:has-text('Launch it by itself')")
    page.fill("[name=cron]", "30 6 * * 1-5")
    page.select_option("[name=time_zone]", "Europe/Paris")
    page.click("[action$='/schedule/'] button")
    camera.take_all("configuration", path)
    camera.take_all("configuration-changes", f"{path}?version=2&against=1", at="#document-title")
    camera.take_all("configuration-remove", f"{path}remove/")


def photograph_the_rest(camera: Photographer) -> None:
    camera.page.goto(f"{camera.site.url}/datasets/import/")
    camera.page.fill("[name=name]", "capitals")
    camera.page.fill("[name=text]", ROWS)
    camera.page.click("[data-import-button]:not([disabled])")
    camera.page.wait_for_url(re.compile(r"/datasets/\d+/$"))
    for name, path in PAGES.items():
        camera.take_all(name, path)
    camera.take_all("sign-in", "/sign-in/", signed_in=False)


SCENES: dict[Callable[[Photographer], None], frozenset[str]] = {
    photograph_a_run_under_way: frozenset({"run-live"}),
    photograph_repeats: frozenset({"run-scores-folded"}),
    photograph_reconnecting: frozenset({"run-reconnecting"}),
    photograph_a_paused_run: frozenset({"run-paused"}),
    photograph_a_choice: frozenset({"choice-live", "choice", "choice-new"}),
    photograph_an_evolution: frozenset(
        {"evolution-live", "evolution", "evolution-new", "evolution-save", "prompt"}
    ),
    photograph_a_rollout: ROLLOUTS,
    photograph_a_mutation: frozenset(
        {"mutation-live", "mutation", "mutation-rewrites", "mutation-new"}
    ),
    photograph_a_configuration: frozenset(
        {"configuration", "configuration-changes", "configuration-remove"}
    ),
    photograph_the_jump_box: frozenset({"jump"}),
    photograph_a_dry_run: frozenset({"run-new-dry", "run-new-advanced", "runs-demos"}),
    photograph_errors: frozenset(
        {
            "run-with-errors",
            "run-errors",
            "run-scores",
            "run-events",
            "run-configuration",
            "trial-failed",
        }
    ),
    photograph_the_rest: frozenset({*PAGES, "sign-in"}),
}
NAMES = frozenset({"set-up", "runs-empty", "run", "run-pictures"}).union(*SCENES.values())


def read_arguments() -> Wanted:
    parser = argparse.ArgumentParser(description="Photographs pages into .cache/screenshots.")
    parser.add_argument("--only", default="", help="pages by name, separated by commas")
    parser.add_argument("--theme", choices=THEMES, help="both without it")
    widths = {str(width): size for size, (width, _) in SIZES.items()}
    parser.add_argument("--width", choices=list(widths), help="both without it")
    given = parser.parse_args()
    names = frozenset(name.strip() for name in given.only.split(",") if name.strip())
    if unknown := sorted(names - NAMES):
        parser.error(f"unknown: {', '.join(unknown)}. Pages are: {', '.join(sorted(NAMES))}")
    return Wanted(
        names,
        themes=(given.theme,) if given.theme else THEMES,
        sizes=(widths[given.width],) if given.width else tuple(SIZES),
    )


def main() -> None:
    wanted = read_arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("There is no Chromium. `make test` installs one, or says how.")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with ExitStack() as running:
        folder = running.enter_context(tempfile.TemporaryDirectory(prefix="evalsite-pictures-"))
        site = running.enter_context(ServedSite(Path(folder)))
        playwright = running.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        running.callback(browser.close)
        camera = Photographer(browser, site, wanted)
        camera.page.on("dialog", lambda dialog: dialog.accept())
        camera.take_all("set-up", site.setup_link.removeprefix(site.url), signed_in=False)
        camera.set_up()
        photograph_first_minute(camera)
        for photograph, names in SCENES.items():
            if wanted.has(names):
                photograph(camera)


if __name__ == "__main__":
    main()
