"""Adding an endpoint, whose key never comes out, and importing a dataset."""

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


CHOICES = '[{"question": "Which?", "choices": ["A", "B"]}]'
LARGE = "('x'.repeat(99) + '\\n').repeat(12000)"  # 1.1 MB
BROKEN = "question,expected\nWhat is 1 + 1?,2\nWhat is 2 + 2?\nWhat is 3 + 3?,6,extra\n"
GOOD = "question,expected\nWhat is 1 + 1?,2\nWhat is 2 + 2?,4\n"


def test_an_array_is_previewed_and_a_csv_imported_if_it_is_good(page, witness, site):
    page.goto("/datasets/import/")
    page.get_by_label("Name").fill("choices")
    box = page.get_by_label("Or paste the rows")
    box.fill(CHOICES)
    preview = page.locator("[data-preview]")
    expect(preview).to_contain_text("Lists and objects are kept as JSON text: choices.")
    # Hidden: laying out so much text would take most of the time.
    box.evaluate(
        f"box => {{ box.hidden = true; box.value = {LARGE}; "
        "box.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(preview).to_contain_text("The rows have 1.1 MB; at most 1 MB can be pasted.")
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    before = site.database.count("runs_dataset"), site.database.count("runs_case")
    witness.expect_status(400, "/datasets/import/")
    page.goto("/datasets/import/")
    page.get_by_label("Name").fill("sums")
    upload = {"name": "sums.csv", "mimeType": "text/csv", "buffer": BROKEN.encode()}
    page.get_by_label("File").set_input_files(upload)
    problems = page.locator("[data-preview] [data-errors]")
    expect(problems).to_contain_text("Nothing was saved: 2 problems")
    expect(problems.locator("li").nth(0)).to_contain_text("line 3")
    expect(problems.locator("li").nth(1)).to_contain_text("line 4")
    expect(page.get_by_role("button", name="Import")).to_be_disabled()
    assert (site.database.count("runs_dataset"), site.database.count("runs_case")) == before
    upload["buffer"] = GOOD.encode()
    page.get_by_label("File").set_input_files(upload)
    expect(page.get_by_role("table", name="Preview of the rows")).to_contain_text("What is 2 + 2?")
    found = page.locator("[data-preview]")
    expect(found).to_contain_text("Expected answer: column expected.")
    page.get_by_label("Expected answer").fill("gone")
    expect(found).to_contain_text("The columns are: question, expected.")
    expect(page.get_by_role("button", name="Import")).to_be_disabled()
    page.get_by_label("Expected answer").fill("question")
    expect(found).to_contain_text("Expected answer: column question.")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("sums v1")
    expect(page.get_by_label("question", exact=True)).to_have_value("expected")
    expect(page.get_by_role("table")).to_contain_text("What is 1 + 1?")
    after = site.database.count("runs_dataset"), site.database.count("runs_case")
    assert after == (before[0] + 1, before[1] + 2)
