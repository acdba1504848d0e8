"""Photographs every page, light and dark, wide and phone, into .cache/screenshots; what documents
show goes to docs/screenshots, too.

Starts the site on an empty data folder and free ports, makes the first account by its link, runs
the demo, and looks at the pages as a person would: `make screenshots`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.install_chromium import find_chromium  # noqa: E402 - the line above finds them
from workers.simulator.testing import SimulatorClient  # noqa: E402

FOLDER = ROOT / ".cache" / "screenshots"
SHOWN = ROOT / "docs" / "screenshots"  # by documents; others would only make clones large
SIZES = {"1440x900": (1440, 900), "390x844": (390, 844)}
THEMES = ("light", "dark")
START_SECONDS = 60
RUN_SECONDS = 90
PASSWORD = "for the pictures only"
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
ROWS = "question,expected\nCapital of France?,Paris\nCapital of Japan?,Tokyo"


class Site(NamedTuple):
    """A running site: its address, the link that makes the first account, its process."""

    url: str
    setup_url: str
    process: subprocess.Popen[str]
    simulator: SimulatorClient


@contextmanager
def running_site(data: Path) -> Iterator[Site]:
    """`manage.py serve` on free ports, with an empty data folder, until the block ends."""
    simulator_port = find_free_port()
    command = [sys.executable, "manage.py", "serve", "--data", str(data)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--simulator-port", str(simulator_port)],
        cwd=ROOT,
        env={**os.environ, "EVALSITE_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield read_start(process, SimulatorClient(f"http://127.0.0.1:{simulator_port}"))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=START_SECONDS)


def find_free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def read_start(process: subprocess.Popen[str], simulator: SimulatorClient) -> Site:
    """Wait for the two lines that say where the site is."""
    assert process.stdout is not None
    url = ""
    for line in process.stdout:
        if found := re.search(r"ready: (http://\S+?)/?$", line.strip()):
            url = found[1]
        if found := re.search(r"(http://\S+/setup/\S+)", line):
            return Site(url, found[1], process, simulator)
    raise SystemExit("The site did not start. Try `make run` to see why.")


class Photographer:
    """One signed-in person, looking at pages in every theme and size."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self.browser = browser
        self.site = site
        self.page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()

    def take_all(self, name: str, path: str, *, signed_in: bool = True) -> None:
        for theme in THEMES:
            for size in SIZES:
                with self.visitor(theme, size, signed_in=signed_in) as page:
                    page.goto(self.site.url + path)
                    self.take(page, name, theme, size)

    @contextmanager
    def visitors(self, path: str) -> Iterator[list[tuple[Page, str, str]]]:
        """The page in every theme and size at once, each with its own socket."""
        with ExitStack() as open_pages:
            pages = [
                (open_pages.enter_context(self.visitor(theme, size)), theme, size)
                for theme in THEMES
                for size in SIZES
            ]
            for page, _, _ in pages:
                page.goto(self.site.url + path)
            yield pages

    @contextmanager
    def visitor(self, theme: str, size: str, *, signed_in: bool = True) -> Iterator[Page]:
        width, height = SIZES[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            storage_state=self.page.context.storage_state() if signed_in else None,
            color_scheme="dark" if theme == "dark" else "light",
        )
        context.add_cookies([{"name": "theme", "value": theme, "url": self.site.url}])
        try:
            yield context.new_page()
        finally:
            context.close()

    def take(self, page: Page, name: str, theme: str, size: str) -> None:
        page.wait_for_load_state("networkidle")
        path = FOLDER / f"{name}-{theme}-{size}.png"
        page.screenshot(path=path, animations="disabled")
        if (SHOWN / path.name).exists():
            shutil.copy(path, SHOWN)
        print(path.relative_to(ROOT), flush=True)

    def set_up(self) -> None:
        self.page.goto(self.site.setup_url)
        self.page.fill("[name=username]", "ada")
        self.page.fill("[name=password]", PASSWORD)
        self.page.fill("[name=password_again]", PASSWORD)
        self.page.click("button:has-text('Create the account')")
        self.page.wait_for_url("**/runs/")

    def start_demo(self) -> str:
        """The path of a demo run that is under way."""
        self.page.goto(f"{self.site.url}/runs/")
        self.page.click("button:has-text('Run the demo')")
        self.page.wait_for_url(re.compile(r"/runs/\d+/$"))
        return self.page.url.removeprefix(self.site.url)

    def launch(self, changes: dict[str, str]) -> str:
        """The path of a run like the first one, with some fields changed."""
        self.page.goto(f"{self.site.url}/runs/new/?run=1")
        self.page.click("#id_models summary:has-text('Name other models')")
        for name, value in changes.items():
            field = self.page.locator(f"[name='{name}']")
            is_list = field.evaluate("field => field.tagName") == "SELECT"
            field.select_option(value) if is_list else field.fill(value)
        self.page.click("[data-launch]")
        self.page.wait_for_url(re.compile(r"/runs/\d+/$"))
        return self.page.url.removeprefix(self.site.url)

    def launch_document(self, document: dict[str, Any]) -> str:
        """The path of a run of this document; JSON is YAML."""
        self.page.goto(f"{self.site.url}/runs/new/")
        self.page.click("label:has(#mode-yaml)")
        self.page.fill("[name=yaml]", json.dumps(document))
        self.page.click("[data-launch]")
        self.page.wait_for_url(re.compile(r"/runs/\d+/$"))
        return self.page.url.removeprefix(self.site.url)

    def wait_until_finished(self) -> None:
        self.page.wait_for_selector("[data-live-state=ended]", timeout=RUN_SECONDS * 1000)


def photograph_first_minute(camera: Photographer) -> None:
    camera.take_all("runs-empty", "/runs/")
    path = camera.start_demo()
    camera.wait_until_finished()
    camera.take_all("run", path)


def photograph_a_run_under_way(camera: Photographer) -> None:
    """All four pictures of the same moment: each page gets its own socket and waits for 60 %."""
    path = camera.launch({"name": "Which prompt is best?", "cache": "refresh"})
    with camera.visitors(path) as pages:
        camera.page.wait_for_selector("[data-live-state=live]")
        camera.page.get_by_text(re.compile(r"^(21\d|2[2-9]\d) of 360 trials$")).wait_for()
        for page, theme, size in pages:
            camera.take(page, "run-live", theme, size)
    camera.wait_until_finished()


def photograph_reconnecting(camera: Photographer) -> None:
    """What a page says when the site is gone: the socket is closed and stays away."""
    path = camera.launch({"name": "Slow", "cache": "refresh", "max_concurrent": "3"})
    for theme in THEMES:
        for size in SIZES:
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


def photograph_the_jump_box(camera: Photographer) -> None:
    for theme in THEMES:
        with camera.visitor(theme, "1440x900") as page:
            page.goto(f"{camera.site.url}/runs/")
            page.keyboard.press("Control+k")
            page.keyboard.type("prompt")
            camera.take(page, "jump", theme, "1440x900")


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


def photograph_the_rest(camera: Photographer) -> None:
    camera.page.goto(f"{camera.site.url}/datasets/import/")
    camera.page.fill("[name=name]", "capitals")
    camera.page.fill("[name=text]", ROWS)
    camera.page.click("[data-import-button]:not([disabled])")
    camera.page.wait_for_url(re.compile(r"/datasets/\d+/$"))
    pages = {
        "runs": "/runs/",
        "run-new": "/runs/new/?run=1",
        "run-new-blank": "/runs/new/",
        "trial": "/runs/1/trials/4/",
        "datasets": "/datasets/",
        "dataset": "/datasets/1/",
        "dataset-import": "/datasets/import/",
        "endpoints": "/endpoints/",
        "endpoint": "/endpoints/1/",
        "endpoint-new": "/endpoints/new/",
        "cache": "/cache/",
        "benchmarks": "/benchmarks/",
        "api": "/api/docs",
        "tokens": "/tokens/",
        "people": "/people/",
        "not-found": "/nowhere/",
    }
    for name, path in pages.items():
        camera.take_all(name, path)
    camera.take_all("sign-in", "/sign-in/", signed_in=False)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("There is no Chromium. `make test` installs one, or says how.")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with ExitStack() as running:
        folder = running.enter_context(tempfile.TemporaryDirectory(prefix="evalsite-pictures-"))
        site = running.enter_context(running_site(Path(folder)))
        playwright = running.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        running.callback(browser.close)
        camera = Photographer(browser, site)
        camera.page.on("dialog", lambda dialog: dialog.accept())
        camera.take_all("set-up", site.setup_url.removeprefix(site.url), signed_in=False)
        camera.set_up()
        photograph_first_minute(camera)
        photograph_a_run_under_way(camera)
        photograph_reconnecting(camera)
        photograph_a_paused_run(camera)
        photograph_a_choice(camera)
        photograph_the_jump_box(camera)
        photograph_errors(camera)
        photograph_the_rest(camera)


if __name__ == "__main__":
    main()
