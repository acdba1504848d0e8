"""Every page, light and dark, wide and on a phone: fits, is clean, and can be used by everyone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.conftest import open_context
from tests.e2e.doors import document, launch
from tests.e2e.inspection import PHONE, faults_of
from tests.e2e.run_page import LARGEST_SHIFT, diary, live_texts, run_number, wait_until_final
from tests.e2e.site import Site
from tests.e2e.witness import Witness

pytestmark = pytest.mark.late

REFUSAL = "The model sim-small does not take this kind of question about apples."
PAGES = [
    pytest.param("/runs/", id="runs"),
    pytest.param("/runs/new/", id="new run"),
    pytest.param("/runs/new/?kind=select", id="new choice"),
    pytest.param("/runs/new/?kind=evolve", id="new evolution"),
    pytest.param("/runs/new/?kind=rollout", id="new rollout"),
    pytest.param("/runs/new/?kind=mutate", id="new mutation"),
    pytest.param("/runs/{run}/", id="run"),
    pytest.param("/runs/several/?do=delete&run={run}", id="delete runs"),
    pytest.param("/runs/{run}/about/", id="tags and note"),
    pytest.param("/runs/{run}/scores/", id="scores"),
    pytest.param("/runs/{run}/errors/", id="errors"),
    pytest.param("/runs/{run}/events/", id="events"),
    pytest.param("/runs/{run}/configuration/", id="configuration"),
    pytest.param("/runs/{run}/trials/{scored}/", id="trial"),
    pytest.param("/runs/{run}/trials/{failed}/", id="trial, failed"),
    pytest.param("/runs/{run}/trials/collect/?status=failed", id="cases of trials to a dataset"),
    pytest.param("/compare/", id="compare, which"),
    pytest.param("/compare/?base={run}:0&with={run}:1", id="compare"),
    pytest.param("/compare/trials/?of={run}-{scored}&of={run}-{failed}", id="answers compared"),
    pytest.param("/configurations/", id="configurations"),
    pytest.param("/configurations/{configuration}/", id="stored configuration"),
    pytest.param("/configurations/{configuration}/remove/", id="delete a configuration"),
    pytest.param("/prompts/", id="prompts"),
    pytest.param("/prompts/new/", id="write a prompt"),
    pytest.param("/prompts/new/?run={run}&candidate={candidate}", id="save a prompt of a run"),
    pytest.param("/datasets/", id="datasets"),
    pytest.param("/datasets/import/", id="import"),
    pytest.param("/datasets/promptfoo/", id="import from promptfoo"),
    pytest.param("/datasets/1/", id="dataset"),
    pytest.param("/datasets/1/report/", id="duplicates and lengths"),
    pytest.param("/datasets/1/changes/", id="changes of a dataset"),
    pytest.param("/datasets/1/remove/", id="remove a dataset"),
    pytest.param("/datasets/1/erase/", id="erase a dataset"),
    pytest.param("/help/", id="help"),
    pytest.param("/help/first-run/", id="guide"),
    pytest.param("/endpoints/", id="endpoints"),
    pytest.param("/endpoints/new/", id="new endpoint"),
    pytest.param("/endpoints/1/", id="endpoint"),
    pytest.param("/cache/", id="cache"),
    pytest.param("/benchmarks/", id="benchmarks"),
    pytest.param("/tokens/", id="tokens"),
    pytest.param("/alerts/", id="alerts"),
    pytest.param("/password/", id="password"),
    pytest.param("/profile/", id="profile"),
    pytest.param("/teams/", id="teams"),
    pytest.param("/people/", id="people"),
    pytest.param("/audit/", id="audit log"),
    pytest.param("/system/", id="system"),
    pytest.param("/people/1/quota/", id="quota"),
    pytest.param("/api/docs", id="API"),
    pytest.param("/docs/configuration/", id="configuration reference"),
]
POSITION = "SELECT min(position) FROM runs_score WHERE run_id = :run AND (error_class = '') = :ok"


@pytest.fixture(scope="module")
def numbers(context: BrowserContext, site: Site, demo: int) -> dict[str, int | str]:
    """Of a run that has everything: right, wrong and failed trials."""
    page = context.new_page()
    refuse = {"do": "status", "status": 400, "message": REFUSAL, "times": None}
    site.simulator.follow([{"match": {"contains": "apples"}, **refuse}])
    site.simulator.answer_in(milliseconds=5)
    launch(
        page, document("Some of everything", models=["simulated/sim-small", "simulated/sim-large"])
    )
    wait_until_final(page)
    site.simulator.follow([])
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


def save_configuration(page: Page, run: int) -> int:
    """What the form of the run says, under a name."""
    page.goto(f"/runs/new/?run={run}")
    page.get_by_text("Save as a configuration").click()
    page.get_by_label("Name of the configuration").fill("Some of everything")
    page.get_by_role("button", name="Save without launching").click()
    page.wait_for_url(re.compile(r"/configurations/\d+/$"))
    return int(page.url.rstrip("/").rpartition("/")[2])


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_in_order(page, witness, numbers, path):
    look_at(page, path.format(**numbers))


def test_the_page_that_does_not_exist_is_in_order(page, witness):
    witness.expect_status(404, "/runs/999999/")
    look_at(page, "/runs/999999/")
    expect(page.get_by_role("heading", level=1)).to_have_text("This page does not exist")


def test_the_sign_in_page_is_in_order(browser, site):
    context = open_context(browser, site)
    page = context.new_page()
    witness = Witness(page, site.url)
    look_at(page, "/sign-in/")
    context.close()
    assert witness.complaints == []


def test_a_running_run_is_in_order_and_can_be_cancelled(page, witness, site, demo):
    site.simulator.hold(after=20)
    launch(page, document("Stopped on the way", repeats=5))
    assert faults_of(page) == []
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-run-state]")).to_have_text("Cancelled")
    site.simulator.let_go()
    assert len(witness.dialogs) == 1, "it was not asked whether this is meant"
    assert site.database.rows(
        "SELECT state FROM runs_run WHERE id = :run", run=run_number(page)
    ) == [("cancelled",)]


def test_nothing_shifts_on_a_phone_while_a_run_fills_the_page(page, witness, site, demo):
    page.set_viewport_size(PHONE)
    site.simulator.hold(after=0)
    launch(
        page, document("Watched on a phone", models=["simulated/sim-small", "simulated/sim-large"])
    )
    for _ in range(5):
        before = live_texts(page)["progress"]
        site.simulator.hold(after=20)
        expect(page.locator("[data-live=progress]")).not_to_have_text(before)
    site.simulator.let_go()
    wait_until_final(page)
    seen = diary(page)
    assert seen["shift"] <= LARGEST_SHIFT, seen["shifts"]


def look_at(page: Page, path: str) -> None:
    page.goto(path)
    assert faults_of(page) == []
