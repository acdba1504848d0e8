"""Adding an endpoint: its key goes in and never comes out, and its connection can be tested."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.late

KEY = "sk-canary-7391-do-not-show-wxyz"


def test_an_endpoint_is_added_and_tested_and_its_key_is_never_shown(page, witness, site):
    page.goto("/endpoints/")
    page.get_by_role("link", name="Add an endpoint").first.click()
    page.get_by_label("Name").fill("second")
    page.get_by_label("Kind").select_option("simulated")
    page.get_by_label("Base URL").fill(f"{site.simulator.url}/v1")
    page.get_by_label("Models").fill("sim-small\nsim-large")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Add endpoint").click()
    page.wait_for_url(re.compile(r"/endpoints/\d+/"))

    shown = [page.content()]
    expect(page.get_by_label("Replace key")).to_have_value("")
    expect(page.get_by_text("…wxyz")).to_be_visible()
    page.get_by_role("button", name="Test connection").click()
    report = page.locator("[data-report]")
    expect(report).to_contain_text("It works")
    expect(report).to_contain_text("sim-small")
    shown.append(page.content())

    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("…wxyz")).to_be_visible()
    shown.append(page.content())
    page.set_viewport_size({"width": 1024, "height": 768})
    rail = page.locator(".rail").bounding_box()
    for icon in page.locator(".rail-user .button").all():
        place = icon.bounding_box()
        assert rail["x"] <= place["x"]
        assert place["x"] + place["width"] <= rail["x"] + rail["width"]
    page.goto("/endpoints/")
    expect(page.get_by_role("link", name="second", exact=True)).to_be_visible()
    shown.append(page.content())
    assert not [text for text in shown if KEY in text or KEY[:20] in text]
    stored = site.database.rows("SELECT * FROM runs_endpoint WHERE name = 'second'")
    assert len(stored) == 1
    assert KEY not in repr(stored)
