"""What people do again and again: start a run, read its page, and find fault with any page."""

from __future__ import annotations

import re
from typing import Any, Literal

from django.conf import settings
from playwright.sync_api import Page, ViewportSize

from tests.conftest import ROOT
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import ServedSite

USERNAME = "ada"
PASSWORD = "nine quiet herons wading"
RUN_PAGE = re.compile(r"/runs/\d+/$")
READ_TEXTS = """() => Object.fromEntries([...document.querySelectorAll("[data-live]")].map(
    (place) => [place.dataset.live, place.textContent]))"""
LARGEST_SHIFT = 0.05  # of everything on the page together, from its load to the end of the run


def launch(page: Page, document: dict[str, Any]) -> None:
    """Over REST, in the session of the page: those who fill in the form say so."""
    cookies = {one["name"]: one["value"] for one in page.context.cookies()}
    headers = {"X-CSRFToken": cookies[settings.CSRF_COOKIE_NAME]}
    answer = page.request.post(
        "/api/v1/runs",
        data={"configuration": document},
        headers=headers,
        timeout=PATIENCE_SECONDS * 1000,
    )
    assert answer.ok, answer.text()
    page.goto(f"/runs/{answer.json()['id']}/")


def let_go(site: ServedSite) -> None:
    """What waits at the provider is answered now, and what comes at once."""
    site.simulator.change(hold_after=None, latency_ms=1)


def document(name: str, **changes: Any) -> dict[str, Any]:
    """The demo's questions for one prompt and one model, never from the cache."""
    return {
        "name": name,
        "kind": "evaluate",
        "dataset": "arithmetic",
        "prompts": [{"name": "terse", "system": "Answer with the number only."}],
        "models": ["simulated/sim-small"],
        "scorers": ["numeric"],
        "limits": {"max_concurrent": 4, "requests_per_minute": None},
        "cache": "off",
        **changes,
    }


def run_number(page: Page) -> int:
    found = re.search(r"/runs/(\d+)/", page.url)
    assert found, f"{page.url} is not the page of a run"
    return int(found.group(1))


def wait_until_final(page: Page) -> None:
    """Until the run has ended and the leaderboard, which is fetched on its own, has caught up."""
    page.wait_for_selector("[data-live-state=ended]", timeout=PATIENCE_SECONDS * 1000)
    page.wait_for_selector("[data-leaderboard-rows][data-final]", state="attached")


def live_texts(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(READ_TEXTS)
    return found


def diary(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("window.diary")
    return found


# Given to the page by the debugger: a script element would be refused by the site's own policy.
AXE = (ROOT / "node_modules/axe-core/axe.min.js").read_text()
RUN_AXE = """async (asked) => {
    // Nothing is asked of style sheets or media, so none are fetched once more.
    const options = { resultTypes: ["violations"], preload: false, ...asked };
    const { violations } = await axe.run(options);
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}"""
# The same markup once more says nothing new, and each element takes its time.
LEAVE_OUT_REPEATS = """() => {
    const repeats = ["tbody tr:nth-child(n+4)", "option:nth-child(n+4)",
        ".api-group:nth-of-type(n+4)", "details.route:nth-of-type(n+3)"];
    for (const one of document.querySelectorAll(repeats.join())) one.remove();
}"""
EVERYTHING: dict[str, Any] = {}
# What a small screen or other colours can change on a page whose markup is in order.
LOOKS = {"runOnly": ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]}
READ_FACTS = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();  // charts follow a new width one frame later
    await frame();
    const { scrollWidth, clientWidth } = document.documentElement;
    const headings = [...document.querySelectorAll("h1")].filter((one) => one.checkVisibility());
    const ground = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
    const overhang = scrollWidth - clientWidth;
    const cut = [...document.querySelectorAll(".tile, .tile > *")]
        .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
        .map((one) => one.textContent.trim());
    return { overhang, cut, headings: headings.length, ground };
}"""
Scheme = Literal["light", "dark"]
Look = tuple[ViewportSize, Scheme, dict[str, Any]]
MIDDLE_GREY = 128
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


def faults_of(page: Page, *, crosswise: bool = False) -> list[str]:
    """Of the page that is open: wide and light, then on a phone in the dark. Axe takes long: it
    checks the phone's markup, and the other two pairs of size and colours, only if `crosswise`."""
    on_phone = EVERYTHING if crosswise else LOOKS
    looks: list[Look] = [(WIDE, "light", EVERYTHING), (PHONE, "dark", on_phone)]
    faults = [fault for look in looks for fault in faults_of_layout(page, look)]
    if crosswise:
        looks += [(PHONE, "light", LOOKS), (WIDE, "dark", LOOKS)]
    page.evaluate(LEAVE_OUT_REPEATS)
    page.evaluate(AXE)
    for look in looks:
        show(page, look)
        faults += told_of(page, look, page.evaluate(RUN_AXE, look[2]))
    return faults


def show(page: Page, look: Look) -> None:
    # Without motion: a colour on its way from light to dark is neither.
    page.set_viewport_size(look[0])
    page.emulate_media(color_scheme=look[1], reduced_motion="reduce")


def faults_of_layout(page: Page, look: Look) -> list[str]:
    show(page, look)
    facts: dict[str, Any] = page.evaluate(READ_FACTS)
    is_dark = sum(facts["ground"][:3]) / 3 < MIDDLE_GREY
    checks = {
        f"can be scrolled sideways by {facts['overhang']} px": facts["overhang"] > 0,
        f"cuts what tiles say: {facts['cut']}": bool(facts["cut"]),
        f"has {facts['headings']} headings of the first level": facts["headings"] != 1,
        f"has the ground {facts['ground']}": is_dark != (look[1] == "dark"),
    }
    return told_of(page, look, [what for what, is_so in checks.items() if is_so])


def told_of(page: Page, look: Look, faults: list[str]) -> list[str]:
    return [f"{page.url}, {look[1]}, {look[0]['width']} px wide: {fault}" for fault in faults]
