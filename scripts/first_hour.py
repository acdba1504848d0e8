"""Walks somebody's first hour with a model server of their own, by clicking and typing, timed.

    python scripts/first_hour.py FILE --server http://127.0.0.1:8080/v1 --model NAME
    python scripts/first_hour.py --first-run --server http://127.0.0.1:8080/v1 --model NAME

With --first-run it stops at the first run of one's own: a few pasted rows, a dry run, a launch. All
of that happens in the browser, the tick for a private address included.

The file is a dataset as its authors publish it, as GSM8K's test.jsonl is. Starts a site of its own,
adds the server, imports the file, compares three prompts on the first rows, reads an answer, takes
the scores out, and runs the same from a YAML file, which must send nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.install_chromium import find_chromium  # noqa: E402 - the line above finds them
from tests.harness.site import ServedSite  # noqa: E402

PASSWORD = "for the first hour only"
RUN_PAGE = re.compile(r"/runs/\d+/$")
DRY_SECONDS = 60
RUN_SECONDS = 1800  # a small model on one core answers once in a few seconds
PROMPTS = {
    "plain": ("", "{{question}}"),
    "steps": ("Think step by step.\nEnd with: Answer: the number", "{{question}}"),
    "terse": ("Answer with the number only.", "{{question}}\nThe number is"),
}
DATASET = "gsm8k-test"
PASTED = """question,expected
What is 2 + 3?,5
What is 7 - 4?,3
What is 3 * 4?,12
What is 9 - 1?,8
What is 6 + 6?,12
"""
RUN_NAME = "Three prompts"


class Tried(NamedTuple):
    """What a person brings along."""

    dataset: Path | None  # None: a few rows are pasted, and that is all
    server: str
    model: str
    rows: int
    max_tokens: int
    kind: str = "openai"  # the protocol that the server speaks


@contextmanager
def step(name: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{time.monotonic() - started:7.1f} s  {name}", flush=True)


class Walk:
    """One person with one browser."""

    def __init__(self, page: Page, tried: Tried) -> None:
        self.page = page
        self.tried = tried
        self.trials = len(PROMPTS) * tried.rows

    def add_server(self) -> None:
        page = self.page
        page.goto("/endpoints/")
        page.get_by_role("link", name="Add an endpoint").first.click()
        page.get_by_label("Name").fill("local")
        page.get_by_label("Kind").select_option(self.tried.kind)
        page.get_by_label("Base URL").fill(self.tried.server)
        page.get_by_label("Models").fill(self.tried.model)
        page.get_by_role("button", name="Add endpoint").click()
        page.wait_for_url(re.compile(r"/endpoints/\d+/"))
        page.get_by_role("button", name="Test connection").click()
        expect(page.locator("[data-report]")).to_contain_text("It works")

    def add_private_server(self) -> None:
        """Of an address that nobody allowed yet: the form asks for a tick."""
        page = self.page
        page.goto("/endpoints/new/")
        page.get_by_label("Name").fill("local")
        page.get_by_label("Kind").select_option(self.tried.kind)
        page.get_by_label("Base URL").fill(self.tried.server)
        page.get_by_label("Models").fill(self.tried.model)
        page.get_by_role("button", name="Add endpoint").click()
        page.get_by_label(re.compile("Let this endpoint call")).check()
        page.get_by_role("button", name="Add endpoint").click()
        page.wait_for_url(re.compile(r"/endpoints/\d+/"))
        page.get_by_role("button", name="Test connection").click()
        expect(page.locator("[data-report]")).to_be_visible()

    def fill_in_pasted(self) -> None:
        page = self.page
        page.get_by_role("link", name="New run").first.click()
        page.locator("#id_name").fill("My first run")
        page.locator("#id_prompt-0-name").fill("plain")
        page.locator("#id_prompt-0-system").fill("Answer with the number only.")
        page.locator("#id_prompt-0-user").fill("{{question}}")
        page.locator("#id_models").get_by_label(f"local/{self.tried.model}").check()
        page.locator("summary", has_text="Parameters").first.click()
        page.get_by_label("Max tokens").fill(str(self.tried.max_tokens))
        page.get_by_text("Paste rows", exact=True).click()
        page.locator("#id_rows").fill(PASTED)
        page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
        page.get_by_role("checkbox", name=re.compile("^Numeric")).check()
        page.get_by_label("Answers cut off at max_tokens").check()  # small models talk on
        expect(page.locator("[data-estimate-panel]")).to_contain_text("= 5 trials")

    def try_first(self) -> None:
        self.page.get_by_role("button", name="Dry run").click()
        bill = self.page.locator("[data-dry-bill]")
        expect(bill).to_contain_text("3 calls sent", timeout=DRY_SECONDS * 1000)

    def import_dataset(self) -> None:
        """As it is: no column is renamed, no row is cut off."""
        page = self.page
        page.goto("/datasets/import/")
        page.get_by_label("Name").fill(DATASET)
        assert self.tried.dataset is not None
        page.get_by_label("File").set_input_files(self.tried.dataset)
        expect(page.locator("[data-preview]")).to_contain_text("Expected answer")
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"{DATASET} v1")

    def fill_in_run(self) -> None:
        page = self.page
        page.goto("/runs/new/")
        page.locator("#id_name").fill(RUN_NAME)
        for number, (name, (system, user)) in enumerate(PROMPTS.items()):
            if number:
                page.get_by_role("button", name="Add a prompt").click()
            page.locator(f"#id_prompt-{number}-name").fill(name)
            page.locator(f"#id_prompt-{number}-system").fill(system)
            page.locator(f"#id_prompt-{number}-user").fill(user)
        page.locator("#id_models").get_by_label(f"local/{self.tried.model}").check()
        page.locator("summary", has_text="parameters").first.click()
        page.get_by_label("Temperature").fill("0")
        page.get_by_label("Max tokens").fill(str(self.tried.max_tokens))
        page.get_by_label("Dataset", exact=True).select_option(DATASET)
        page.locator("#id_first").fill(str(self.tried.rows))
        page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
        page.get_by_role("checkbox", name=re.compile("^Numeric")).check()
        expect(page.locator("[data-estimate-panel]")).to_contain_text(f"= {self.trials} trials")

    def launch(self) -> None:
        self.page.get_by_role("button", name="Launch").click()
        self.page.wait_for_url(RUN_PAGE)

    def wait_until_final(self) -> None:
        self.page.wait_for_selector("[data-live-state=ended]", timeout=RUN_SECONDS * 1000)
        expect(self.page.locator("[data-live=progress]")).to_have_text(
            f"{self.trials} of {self.trials} trials"
        )
        expect(self.page.locator("[data-live=errors]").first).to_have_text("0")

    def read_an_answer(self) -> None:
        """With the expected answer beside it, without leaving the table."""
        page = self.page
        page.get_by_role("navigation", name="Run").get_by_role("link", name="Scores").click()
        row = page.locator("[data-rows] tr").first
        expect(row.locator('[data-label="Expected"]')).not_to_be_empty()
        toggle = row.get_by_role("button", name="Show trial")
        toggle.click()
        expect(toggle).to_have_attribute("aria-expanded", "true")
        expect(page.locator("[data-rows] tr").nth(1)).to_contain_text("####")

    def take_scores_out(self, folder: Path) -> None:
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name="CSV").first.click()
        path = folder / "scores.csv"
        download.value.save_as(path)
        rows = list(csv.DictReader(path.open(encoding="utf-8")))
        assert len(rows) == self.trials, f"{len(rows)} rows in the export"
        assert all(row["question"] and row["expected"] for row in rows)

    def duplicate(self) -> None:
        """Everything comes from the cache."""
        page = self.page
        page.get_by_role("link", name="Duplicate").click()
        expect(page.locator("[data-estimate-panel]")).to_contain_text(
            f"{self.trials} from the cache"
        )
        self.launch()
        self.wait_until_final()
        expect(page.locator("[data-live=calls]").first).to_contain_text("0 sent")


def yaml_document(tried: Tried) -> dict[str, object]:
    """The same run as somebody writes it by hand; JSON is YAML."""
    parameters = {"temperature": 0, "max_tokens": tried.max_tokens}
    return {
        "name": f"{RUN_NAME}, from a file",
        "kind": "evaluate",
        "dataset": {"name": DATASET, "first": tried.rows},
        "prompts": [
            {"name": name, "system": system, "user": user}
            for name, (system, user) in PROMPTS.items()
        ],
        "models": [{"endpoint": "local", "model": tried.model, "parameters": parameters}],
        "scorers": ["numeric"],
    }


def run_from_file(tried: Tried, data: Path, folder: Path) -> None:
    path = folder / "prompts.yaml"
    path.write_text(json.dumps(yaml_document(tried)), encoding="utf-8")
    command = [sys.executable, "manage.py", "run", str(path), "--json"]
    environ = {**os.environ, "EVALSITE_DATA": str(data)}
    printed = subprocess.check_output(command, cwd=ROOT, env=environ, text=True)
    done = json.loads(printed.splitlines()[-1])
    counts, trials = done["counts"], len(PROMPTS) * tried.rows
    assert (counts["done"], counts["failed"], counts["cached"]) == (trials, 0, trials), counts


def make_account(page: Page, setup_url: str) -> None:
    page.goto(setup_url)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    page.wait_for_url("**/runs/")


def walk_all(walk: Walk, data: Path, folder: Path) -> None:
    with step("add the model server and test it"):
        walk.add_server()
    with step("import the dataset as it is"):
        walk.import_dataset()
    with step("fill in three prompts on the first rows"):
        walk.fill_in_run()
    with step("launch, until the model has answered"):
        walk.launch()
        walk.wait_until_final()
    with step("read an answer beside what was expected"):
        walk.read_an_answer()
    with step("take the scores out as CSV"):
        walk.take_scores_out(folder)
    with step("duplicate it: all from the cache"):
        walk.duplicate()
    with step("the same from a YAML file: all from the cache"):
        run_from_file(walk.tried, data, folder)


def walk_first_run(walk: Walk) -> None:
    with step("add the model server, allow its private address, test it"):
        walk.add_private_server()
    with step("fill in a run with pasted rows"):
        walk.fill_in_pasted()
    with step("dry run of three trials"):
        walk.try_first()
    with step("launch, until the model has answered"):
        walk.launch()
        walk.trials = PASTED.count("\n") - 1
        walk.wait_until_final()


def read_arguments() -> Tried:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "dataset", type=Path, nargs="?", help="as its authors publish it: .jsonl or .csv"
    )
    parser.add_argument("--first-run", action="store_true", help="stop after a run of pasted rows")
    parser.add_argument("--server", required=True, help="base URL of an OpenAI-compatible server")
    parser.add_argument("--model", required=True)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--max-tokens", type=int, default=120)
    given = parser.parse_args()
    if given.dataset is None and not given.first_run:
        parser.error("give a dataset, or --first-run")
    return Tried(given.dataset, given.server, given.model, given.rows, given.max_tokens)


def main() -> None:
    tried = read_arguments()
    address = urlsplit(tried.server).netloc
    allowed: dict[str, Any] = (
        {"EVALSITE_ALLOWED_PRIVATE_ENDPOINTS": address} if tried.dataset else {}
    )
    os.environ.update(allowed)  # for the command that runs the file, too
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as kept, sync_playwright() as playwright:
        folder = Path(kept)
        data = folder / "data"
        with ServedSite(data, **allowed) as site:
            browser = playwright.chromium.launch(
                executable_path=find_chromium(), args=["--no-sandbox"]
            )
            size: ViewportSize = {"width": 1440, "height": 900}
            page = browser.new_context(viewport=size, base_url=site.url).new_page()
            walk = Walk(page, tried)
            with step("start the site and make the account"):
                make_account(page, site.setup_link)
            if tried.dataset is None:
                walk_first_run(walk)
            else:
                walk_all(walk, data, folder)
            browser.close()
    print(f"{time.monotonic() - started:7.1f} s  in all")


if __name__ == "__main__":
    main()
