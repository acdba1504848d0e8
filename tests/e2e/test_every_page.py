"""Every page, light and dark, wide and on a phone: fits, is clean, and can be used by everyone."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Witness, open_context
from tests.e2e.run_page import (
    LARGEST_SHIFT,
    PHONE,
    diary,
    document,
    faults_of,
    launch,
    let_go,
    live_texts,
    run_number,
    wait_until_final,
)

pytestmark = pytest.mark.late

REFUSAL = "The model sim-small does not take this kind of question about apples."
PAGES = {
    "runs": """
        /runs/ /runs/new/ /runs/new/?kind=select /runs/new/?kind=evolve /runs/new/?kind=rollout
        /runs/new/?kind=mutate /runs/several/?do=delete&run={run}
    """,
    "a run": """
        /runs/{run}/ /runs/{run}/about/ /runs/{run}/scores/ /runs/{run}/errors/ /runs/{run}/events/
        /runs/{run}/configuration/
    """,
    "trials": """
        /runs/{run}/trials/{scored}/ /runs/{run}/trials/{failed}/
        /runs/{run}/trials/collect/?status=failed /compare/ /compare/?base={run}:0&with={run}:1
        /compare/trials/?of={run}-{scored}&of={run}-{failed}
    """,
    "configurations and prompts": """
        /configurations/ /configurations/{configuration}/ /configurations/{configuration}/remove/
        /prompts/ /prompts/new/ /prompts/new/?run={run}&candidate={candidate}
    """,
    "datasets": """
        /datasets/ /datasets/import/ /datasets/promptfoo/ /datasets/1/ /datasets/1/report/
        /datasets/1/changes/ /datasets/1/remove/ /datasets/1/erase/
    """,
    "endpoints": "/endpoints/ /endpoints/new/ /endpoints/1/ /cache/ /benchmarks/",
    "documents": "/help/ /help/first-run/ /api/docs /docs/configuration/",
    "people": """
        /tokens/ /alerts/ /password/ /profile/ /teams/ /people/ /people/1/quota/ /audit/ /system/
    """,
}
CROSSWISE = {"/runs/", "/runs/{run}/", "/runs/{run}/scores/", "/compare/?base={run}:0&with={run}:1"}
POSITION = "SELECT min(position) FROM runs_score WHERE run_id = :run AND (error_class = '') = :ok"


@pytest.fixture(scope="module")
def numbers(context, site, demo):
    """Of a run that has everything: right, wrong and failed trials."""
    page = context.new_page()
    refuse = {"do": "status", "status": 400, "message": REFUSAL, "times": None}
    site.simulator.play({"match": {"contains": "apples"}, **refuse})
    site.simulator.change(latency_ms=5)
    launch(
        page, document("Some of everything", models=["simulated/sim-small", "simulated/sim-large"])
    )
    wait_until_final(page)
    site.simulator.play()
    run = run_number(page)
    configuration = save_configuration(page, run)
    page.close()
    rows = {
        name: site.database.rows(POSITION, run=run, ok=ok)
        for name, ok in (("scored", 1), ("failed", 0))
    }
    [key, *_] = site.database.rows("SELECT key FROM runs_candidate WHERE run_id = :run", run=run)
    known = {"run": run, "candidate": key[0], "configuration": configuration}
    return {**known, **{name: one[0][0] for name, one in rows.items()}}


def save_configuration(page, run):
    """What the form of the run says, under a name."""
    page.goto(f"/runs/new/?run={run}")
    page.get_by_text("Save as a configuration").click()
    page.get_by_label("Name of the configuration").fill("Some of everything")
    page.get_by_role("button", name="Save without launching").click()
    page.wait_for_url(re.compile(r"/configurations/\d+/$"))
    return int(page.url.rstrip("/").rpartition("/")[2])


@pytest.mark.parametrize("about", PAGES)
def test_pages_are_in_order(page, witness, numbers, about):
    faults = []
    for path in PAGES[about].split():
        page.goto(path.format(**numbers))
        faults += faults_of(page, crosswise=path in CROSSWISE)
    assert faults == []


def test_the_page_that_does_not_exist_is_in_order(page, witness):
    witness.expect_status(404, "/runs/999999/")
    page.goto("/runs/999999/")
    assert faults_of(page) == []
    expect(page.get_by_role("heading", level=1)).to_have_text("This page does not exist")


def test_the_sign_in_page_is_in_order(browser, site):
    context = open_context(browser, site)
    page = context.new_page()
    witness = Witness(page, site.url)
    page.goto("/sign-in/")
    assert faults_of(page) == []
    context.close()
    assert witness.complaints == []


def test_nothing_shifts_on_a_phone_while_a_run_fills_the_page(page, witness, site, demo):
    page.set_viewport_size(PHONE)
    site.simulator.change(hold_after=0)
    launch(
        page, document("Watched on a phone", models=["simulated/sim-small", "simulated/sim-large"])
    )
    for _ in range(5):
        before = live_texts(page)["progress"]
        site.simulator.change(hold_after=20)
        expect(page.locator("[data-live=progress]")).not_to_have_text(before)
    let_go(site)
    wait_until_final(page)
    seen = diary(page)
    assert seen["shift"] <= LARGEST_SHIFT, seen["shifts"]
