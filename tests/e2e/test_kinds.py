"""The other kinds of runs, each from its form to what is taken home."""

import csv
import re

import pytest
import yaml
from playwright.sync_api import expect

from tests.e2e.run_page import RUN_PAGE, document, faults_of, launch, let_go, wait_until_final
from tests.harness.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.late

MODELS = ["simulated/sim-small", "simulated/sim-large"]
ROWS = "question,expected\n" + "".join(f"What is {n} + {n}?,{2 * n}\n" for n in range(2, 22))
FIRST_PROMPTS = {
    "hurried": "Answer quickly with your first guess.",
    "plain": "Answer the question.",
}
STEPS = 24
READ_AGENTS = """picture => [...picture.querySelectorAll("[data-replay-agents] circle")].map(
    (one) => [one.getAttribute("cx"), one.getAttribute("cy")])"""
PAUSE_AT_STEP_3 = """told => {
    const button = document.querySelector("[data-replay-play]");
    const watching = new MutationObserver(() => {
        if (!told.textContent.startsWith("Step 3 of")) return;
        watching.disconnect();
        told.dataset.seenWith = button.textContent.trim();
        button.click();
    });
    watching.observe(told, { childList: true, characterData: true, subtree: true });
}"""
READ_CELLS = "rows => [...rows.querySelectorAll('td')].map((cell) => cell.textContent.trim())"


def fill_in_choice(page):
    page.get_by_text("Choose models for steps", exact=True).click()
    page.locator("#id_name").fill("Which models?")
    page.get_by_role("button", name="Add a step").click()
    first, second = page.locator(".step").all()
    for step, name, prompt in (
        (first, "planner", "{{question}}"),
        (second, "solver", "What is {{planner}} + 0?"),
    ):
        step.get_by_label("Name of the step").fill(name)
        step.get_by_label("System prompt of the step").fill("Answer with the number only.")
        step.get_by_label("Prompt of the step", exact=True).fill(prompt)
        for model in MODELS:
            step.get_by_label(model).check()
    page.get_by_text("Paste rows", exact=True).click()
    page.get_by_label("Rows", exact=True).fill(ROWS)


def test_a_choice_is_filled_in_and_watched_to_its_winner(page, witness, site, demo):
    site.simulator.change(latency_ms=40)
    page.goto("/runs/new/")
    fill_in_choice(page)
    expect(page.locator("[data-estimate-panel]")).to_contain_text("80 trials")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.locator(".arm-best .arm-fate")).to_have_text(re.compile("leads|chosen"))
    page.locator("#rounds > summary").press("Enter")  # rows may change during a click
    wait_until_final(page)
    expect(page.locator(".arm-best .arm-fate")).to_have_text("chosen")
    expect(page.locator("#rounds")).to_have_attribute("open", "")  # as it was left
    expect(page.locator("ol.arms .arm")).to_have_count(4)
    expect(page.locator("[data-verdict]")).to_contain_text("Chosen: planner=")
    assert faults_of(page) == []
    with page.expect_download() as coming:
        page.get_by_role("link", name="CSV").click()
    assert len(list(csv.DictReader(coming.value.path().open()))) == 4
    with page.expect_download() as coming:
        page.get_by_role("link", name="LiteLLM").click()
    models = yaml.safe_load(coming.value.path().read_text())["model_list"]
    assert [model["model_name"] for model in models] == ["planner", "solver"]
    page.get_by_role("link", name="Duplicate").click()
    expect(page.locator("#kind-select")).to_be_checked()
    expect(page.locator(".step")).to_have_count(2)


def test_many_combinations_fit_the_page_and_one_is_found(page, witness, site, demo):
    site.simulator.change(hold_after=10)
    many = [
        {"endpoint": "simulated", "model": "sim-large", "parameters": {"max_tokens": 20 + number}}
        for number in range(7)
    ]
    steps = [{"name": name, "user": "{{question}}", "models": many} for name in ("one", "two")]
    choice = document("Many", kind="select", steps=steps)
    launch(page, {key: choice[key] for key in choice if key not in ("prompts", "models")})
    expect(page.locator("ol.arms .arm")).to_have_count(25)
    assert faults_of(page) == []
    page.get_by_label("Find combinations by name").fill('one=sim-large {"max_tokens":23}')
    page.get_by_role("button", name="Find").click()
    expect(page.locator("ol.arms .arm")).to_have_count(7)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-run-state]")).to_have_text("Cancelled")
    let_go(site)


def fill_in_evolution(page):
    page.get_by_text("Breed better prompts", exact=True).click()
    page.locator("#id_name").fill("A better prompt")
    page.get_by_role("button", name="Add a first prompt").click()
    for row, (name, words) in zip(
        page.locator(".first-prompt").all(), FIRST_PROMPTS.items(), strict=True
    ):
        row.get_by_label("Name of the prompt").fill(name)
        row.get_by_label("System message, which evolves").fill(words)
    page.locator("#id_evolve_models").get_by_label("simulated/sim-small").check()
    page.get_by_label("Model that writes").fill("simulated/sim-large")
    page.get_by_label("Dataset", exact=True).select_option("arithmetic")
    page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
    page.get_by_role("checkbox", name=re.compile("^Numeric")).check()
    page.locator("#id_evolution-genetic-max_generations").fill("3")


def test_a_prompt_is_bred_and_saved(page, witness, site, demo):
    page.goto("/runs/new/?kind=evolve")
    fill_in_evolution(page)
    size = page.locator("#id_evolution-genetic-population_size")
    expect(size).to_have_attribute("placeholder", "2")  # of the preset reflective
    page.get_by_label("Preset", exact=True).select_option("quick_test")
    expect(size).to_have_attribute("placeholder", "10")
    page.get_by_label("Preset", exact=True).select_option("reflective")
    expect(page.locator("[data-estimate-panel]")).to_contain_text("ask a model for new prompts")
    site.simulator.change(hold_after=40)  # the first generation is 2 times 30
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.locator("[data-under-way]")).to_contain_text(re.compile(r"of \d+ genomes? done"))
    site.simulator.change(hold_after=30)
    expect(page.locator(".lineage")).to_be_visible()
    page.locator("#generations > summary").press("Enter")  # rows may change during a click
    let_go(site)
    wait_until_final(page)
    expect(page.locator("#generations")).to_have_attribute("open", "")  # as it was left
    expect(page.locator("[data-under-way]")).to_have_count(0)
    assert faults_of(page) == []
    best = page.get_by_label("The best prompt", exact=True).inner_text()
    run = page.url.removeprefix(site.url)
    page.get_by_role("link", name="Save as a prompt").first.click()
    expect(page.get_by_label("System prompt")).to_have_value(best)
    page.get_by_label("Name", exact=True).fill("sums")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("sums v1")
    assert faults_of(page) == []
    page.get_by_role("link", name=re.compile("A better prompt")).click()
    page.wait_for_url(f"**{run}")


def fill_in_rollout(page):
    page.get_by_text("Play missions", exact=True).click()
    page.locator("#id_name").fill("Foragers and a pole")
    page.get_by_label("Missions", exact=True).fill("grid/maze\ngymnasium/CartPole-v1")
    page.get_by_label("Steps at most").fill(str(STEPS))
    page.get_by_label("Episodes", exact=True).fill("2")
    page.get_by_label("Policies", exact=True).fill("random\nstill")


def test_missions_are_played_and_episodes_watched(page, witness, demo):
    page.goto("/runs/new/")
    fill_in_rollout(page)
    expect(page.locator("[data-estimate-panel]")).to_contain_text("2 policies × 4 episodes")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    page.evaluate("window.isTheSame = true")
    missions = page.locator(".rollout-mission")
    for number in range(2):  # without a reload
        expect(missions.nth(number)).to_contain_text(
            "4 of 4 episodes", timeout=PATIENCE_SECONDS * 1000
        )
    wait_until_final(page)  # until then the newest episodes come first
    assert page.evaluate("window.isTheSame")
    missions.first.get_by_role("link", name="Watch").first.click()
    play_back(page, page.locator("[data-replay-picture]"), READ_AGENTS)
    page.get_by_role("link", name="Show its episodes").click()
    missions.nth(1).get_by_role("link", name="Watch with pictures").first.click()
    play_back(page, page.locator("[data-replay-film]"), "film => film.src")


def play_back(page, picture, read):
    """Played, paused, and moved by hand: the script shows what the server would. The missions are
    on the same page, so that its faults are theirs, too."""
    told, button = page.locator("[data-replay-told]"), page.locator("[data-replay-play]")
    expect(told).to_have_text(re.compile(r"^Step 0 of \d+"))
    first = picture.evaluate(read)
    told.evaluate(PAUSE_AT_STEP_3)  # within the page: it would be over before a slow test looks
    button.click()
    expect(told).to_have_text(re.compile(r"^Step 3 of"))
    expect(button).to_have_text("Play")
    expect(told).to_have_attribute("data-seen-with", "Pause")
    page.locator("[data-replay-scrub] input").fill("5")
    page.locator("[data-replay-scrub] input").press("ArrowLeft")
    expect(told).to_have_text(re.compile(r"^Step 4 of"))
    table = page.locator("[data-replay-rows]")
    shown = (picture.evaluate(read), table.evaluate(READ_CELLS))
    assert shown[0] != first
    assert faults_of(page) == []
    page.goto(f"{page.url.partition('#')[0]}&step=4#replay")
    assert (picture.evaluate(read), table.evaluate(READ_CELLS)) == shown


def fill_in_mutation(page):
    page.locator("#id_name").fill("What breaks it?")
    page.get_by_label("Target", exact=True).fill("simulated/sim-large")
    page.get_by_label("Mutator", exact=True).fill("simulated/sim-large")
    page.get_by_label("Dataset", exact=True).select_option("arithmetic")
    page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
    page.get_by_role("checkbox", name=re.compile("^Numeric")).check()
    page.locator("#id_learner-ppo-num_steps").fill("3")
    page.locator("#id_learner-ppo-updates").fill("3")
    page.get_by_text("Episodes, and what the target is told").click()
    page.get_by_label("Steps of an episode", exact=True).fill("1")
    page.get_by_label("Held-out cases", exact=True).fill("6")


def test_a_policy_is_trained_and_its_rewrites_are_read(page, witness, site, demo):
    page.goto("/runs/new/?kind=mutate")
    fill_in_mutation(page)
    environments = page.locator("#id_learner-ppo-num_processes")
    expect(environments).to_have_attribute("placeholder", "16")
    page.get_by_label("How long", exact=True).select_option("quick_look")
    expect(environments).to_have_attribute("placeholder", "8")
    expect(page.locator("[data-estimate-panel]")).to_contain_text("24 trials of 3 steps each")
    site.simulator.change(hold_after=60)  # an update is about 40 calls
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.locator("[data-phase]")).to_contain_text(re.compile(r"Update \d: \d of 8 segments"))
    expect(page.locator("[data-plot=reward]")).to_be_visible()
    page.locator("#updates > summary").press("Enter")  # rows may change during a click
    let_go(site)
    wait_until_final(page)
    expect(page.locator("#updates")).to_have_attribute("open", "")  # as it was left
    expect(page.locator("[data-phase]")).to_have_count(0)
    expect(page.get_by_role("heading", name="On held-out queries")).to_be_visible()
    assert faults_of(page) == []
    page.get_by_role("link", name="On held-out queries").click()
    expect(page.locator("#transitions")).to_contain_text("Rewrites on held-out queries")
    expect(page.locator(".mutation-steps > li").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Weights as JSON").click()
    assert download.value.suggested_filename.endswith("weights.json")
