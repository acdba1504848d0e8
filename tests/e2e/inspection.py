"""What must hold for any page as it stands: nothing hangs over, one heading, axe is content."""

from __future__ import annotations

from typing import Any, Literal

from playwright.sync_api import Page, ViewportSize

from tests.conftest import ROOT

# Given to the page by the debugger: a script element would be refused by the site's own policy.
AXE = (ROOT / "node_modules/axe-core/axe.min.js").read_text()
RUN_AXE = """async (asked) => {
    const options = { resultTypes: ["violations"], ...asked };
    const rows = { exclude: [["tbody tr:nth-child(n+6)"]] };  // the same markup once more
    const { violations } = await axe.run(rows, options);
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}"""
EVERYTHING: dict[str, Any] = {}
ONLY_CONTRAST = {"runOnly": ["color-contrast"]}
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
    return { overhang, cut, headings: headings.length, ground, width: clientWidth };
}"""
Scheme = Literal["light", "dark"]
Look = tuple[ViewportSize, Scheme, dict[str, Any]]
MIDDLE_GREY = 128
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


def faults_of(page: Page, *, crosswise: bool = False) -> list[str]:
    """Of the page that is open: wide and light, then on a phone in the dark. Crosswise, too, only
    where everything is that a wide window or a phone has for itself: contrast takes long."""
    page.evaluate(AXE)
    looks: list[Look] = [(WIDE, "light", EVERYTHING), (PHONE, "dark", EVERYTHING)]
    if crosswise:
        looks += [(PHONE, "light", ONLY_CONTRAST), (WIDE, "dark", ONLY_CONTRAST)]
    faults: list[str] = []
    for size, scheme, asked in looks:
        page.set_viewport_size(size)
        faults += faults_in(page, scheme, asked)
    return faults


def faults_in(page: Page, scheme: Scheme, asked: dict[str, Any]) -> list[str]:
    # Without motion: a colour on its way from light to dark is neither.
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    facts: dict[str, Any] = page.evaluate(READ_FACTS)
    is_dark = sum(facts["ground"][:3]) / 3 < MIDDLE_GREY
    checks = {
        f"can be scrolled sideways by {facts['overhang']} px": facts["overhang"] > 0,
        f"cuts what tiles say: {facts['cut']}": bool(facts["cut"]),
        f"has {facts['headings']} headings of the first level": facts["headings"] != 1,
        f"has the ground {facts['ground']}": is_dark != (scheme == "dark"),
    }
    faults = [what for what, is_so in checks.items() if is_so] + page.evaluate(RUN_AXE, asked)
    width = facts["width"]
    return [f"{page.url}, {scheme}, {width} px wide: {fault}" for fault in faults]
