"""A run of one's own: a mistake and a way out of the page in between, and nothing typed is lost."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.run_page import RUN_PAGE, live_texts, wait_until_final
from tests.e2e.test_first_minute import assert_page_equals_database

pytestmark = pytest.mark.late

ROWS = 'question,expected\nWhat is 2 + 3?,5\n"What is 4, plus 4?",8\nWhat is 9 - 2?,7\n'
TYPED = {
    "Name": "Sums, by hand",
    "System prompt": "Answer with the number only.",
    "User prompt": "{{qestion}}",
    "Rows": ROWS,
    "Calls at once": "3",
    "Repeats": "2",
    "Seed": "41",
}
MENDED = {**TYPED, "User prompt": "{{question}}"}


def field(page, label):
    return page.locator("form[data-new-run]").get_by_label(label, exact=True).last


def fill_in(page, texts):
    page.get_by_text("Paste rows", exact=True).click()
    page.locator(".prompt").get_by_label("Name", exact=True).fill("terse")
    page.locator("#id_name").fill(texts["Name"])
    for label in ("System prompt", "User prompt", "Rows", "Calls at once", "Repeats", "Seed"):
        field(page, label).fill(texts[label])
    page.locator("#id_models").get_by_label("simulated/sim-small").check()
    page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
    page.get_by_role("checkbox", name=re.compile("^Numeric")).check()


def assert_filled_in(page, texts):
    expect(page.locator("#id_name")).to_have_value(texts["Name"])
    expect(page.locator(".prompt").get_by_label("Name", exact=True)).to_have_value("terse")
    for label in ("System prompt", "User prompt", "Calls at once", "Repeats", "Seed"):
        expect(field(page, label)).to_have_value(texts[label])
    expect(page.locator("#id_models").get_by_label("simulated/sim-small")).to_be_checked()
    expect(page.locator("#id_models").get_by_label("simulated/sim-large")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name=re.compile("^Exact"))).not_to_be_checked()
    expect(page.get_by_role("checkbox", name=re.compile("^Numeric"))).to_be_checked()
    expect(page.get_by_role("radio", name=re.compile("^Custom"))).to_be_checked()


READ_DRAFTS = """() => JSON.stringify(Object.entries(localStorage).filter(
    ([name]) => name.startsWith("evalsite.drafts.")))"""


def assert_draft_is_back(page):
    """With an estimate of what the form shows, not of the empty form that the server sent."""
    expect(page.locator("[data-draft]")).to_contain_text(re.compile(r"Draft of \d\d:\d\d restored"))
    assert_filled_in(page, TYPED)
    expect(page.locator("#source-paste")).to_be_checked()
    expect(field(page, "Rows")).to_have_value(ROWS)
    expect(page.locator("[data-estimate-panel]")).to_contain_text("{{qestion}}")


def leave_and_press_back(page):
    page.get_by_role("link", name="Datasets", exact=True).click()
    page.wait_for_url("**/datasets/")
    page.go_back()
    page.wait_for_url("**/runs/new/**")


def keep_and_throw_away(page):
    """From a form that was just filled in, to the same form."""
    page.get_by_role("button", name="Add a prompt").click()
    second = page.locator("[data-row=prompt]").nth(1)
    second.get_by_label("Name", exact=True).fill("second")
    second.get_by_role("button", name="Write as messages").click()
    second.get_by_role("button", name="Add a message").click()
    second.get_by_label("Text", exact=True).last.fill("And then?")
    leave_and_press_back(page)
    expect(second.get_by_label("Name", exact=True)).to_have_value("second")
    expect(second.get_by_label("Text", exact=True).last).to_have_value("And then?")
    expect(second.get_by_label("System prompt")).to_be_hidden()
    second.get_by_title("Remove this prompt").click()
    leave_and_press_back(page)
    assert_draft_is_back(page)
    page.reload()
    assert_draft_is_back(page)
    kept = page.evaluate(READ_DRAFTS)
    assert ROWS.splitlines()[1] in kept
    for secret in ("key", "csrfmiddlewaretoken"):
        assert page.locator(f"[data-new-run] [name={secret}]").input_value() not in kept
    page.get_by_role("button", name="Throw it away").click()
    expect(page.locator("#id_name")).to_have_value("")
    expect(page.locator("#source-stored")).to_be_checked()
    expect(page.locator("[data-estimate-panel]")).not_to_contain_text("{{qestion}}")
    assert "Sums" not in page.evaluate(READ_DRAFTS)
    page.get_by_role("button", name="Bring it back").click()
    assert_draft_is_back(page)
    page.goto("/runs/new/?kind=select")  # asked for, so the draft is only offered
    expect(page.locator("#kind-select")).to_be_checked()
    expect(page.locator("#id_name")).to_have_value("")
    page.get_by_role("button", name="Continue with it").click()
    assert_draft_is_back(page)


def test_a_run_of_pasted_rows_with_a_mistake_on_the_way(page, witness, site, demo):
    site.simulator.change(latency_ms=5)
    witness.expect_status(400, "/runs/new/?kind=select")
    page.goto("/runs/new/")
    fill_in(page, TYPED)
    expect(page.locator("[data-estimate-panel]")).to_contain_text("{{qestion}}")
    keep_and_throw_away(page)
    page.get_by_role("button", name="Launch").click()
    problems = page.locator("[data-errors]")
    expect(problems).to_be_focused()
    expect(problems).to_contain_text("Fix 1 problem to launch")
    expect(problems).to_contain_text("{{qestion}} is not a column of the dataset")
    assert_filled_in(page, TYPED)
    expect(page.locator("#source-paste")).to_be_checked()
    expect(field(page, "Rows")).to_have_value(ROWS)
    problems.get_by_role("link", name="Prompt 1, user").click()
    expect(field(page, "User prompt")).to_be_focused()
    expect(field(page, "User prompt")).to_have_attribute("aria-invalid", "true")
    leave_and_press_back(
        page
    )  # a refused launch keeps the draft, and Back asks for no sending again
    assert_draft_is_back(page)
    field(page, "User prompt").fill(MENDED["User prompt"])
    expect(page.locator("[data-estimate-panel]")).to_contain_text("= 6 trials")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.get_by_role("heading", level=1)).to_have_text(TYPED["Name"])
    wait_until_final(page)
    assert live_texts(page)["progress"] == "6 of 6 trials"
    assert_page_equals_database(page, site.database)
    assert page.evaluate(READ_DRAFTS) == "[]"  # it is a run now
    page.get_by_role("link", name="Duplicate").click()
    page.wait_for_url("**/runs/new/?run=*")
    assert_filled_in(page, MENDED)
    expect(page.locator("#source-stored")).to_be_checked()  # the rows were kept as a dataset
    expect(page.get_by_label("Dataset", exact=True)).to_have_value(re.compile("pasted rows"))
    expect(page.locator("[data-estimate-panel]")).to_contain_text("6 from the cache")
    expect(page.locator("[data-draft]")).to_be_hidden()


def test_inputs_of_the_dataset_are_put_into_the_prompt(page, witness, site, demo):
    page.goto("/runs/new/")
    page.locator("[name=dataset]").select_option("arithmetic")
    user = field(page, "User prompt")
    user.fill("Solve: ")
    page.locator("#id_prompts [data-input-columns]").get_by_role("button", name="question").click()
    expect(user).to_have_value("Solve: {{question}}")
    expect(page.locator("#id_expected")).to_have_attribute("placeholder", "expected")
    page.get_by_text("Paste rows", exact=True).click()
    expect(page.locator("#id_prompts [data-input-column]")).to_have_count(0)
