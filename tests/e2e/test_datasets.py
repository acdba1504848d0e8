"""Importing a dataset: what is wrong is named by line and nothing is saved; then it works."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.late

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
