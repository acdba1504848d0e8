"""The CI job of docs/ci-example.yml, its shell steps run as written against a live site."""

import csv
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.commands.conftest import write
from tests.platform.processes import BASE_DIR
from tests.platform.serving import GIVEN_BY_THE_TESTS

pytestmark = pytest.mark.late

EXAMPLE = BASE_DIR / "docs" / "ci-example.yml"
ROWS = [{"question": f"What is {n} + {n + 3}?", "expected": str(2 * n + 3)} for n in range(1, 31)]
EVALS = {
    "name": "sums",
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": [{"name": "terse", "system": "Answer with the number only."}],
    "models": ["simulated/sim-large"],
    "scorers": ["numeric"],
    "limits": {"max_concurrent": 20, "requests_per_minute": None},
}
WORSE = {**EVALS, "prompts": [{"name": "terse", "user": "Say hello."}]}


class Job:
    """A checkout with the example's job beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "evals").mkdir()
        with (folder / "evals" / "sums.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["question", "expected"])
            writer.writeheader()
            writer.writerows(ROWS)
        (folder / "evalsite").symlink_to(BASE_DIR, target_is_directory=True)
        steps: list[dict[str, Any]] = yaml.safe_load(EXAMPLE.read_text())["jobs"]["evals"]["steps"]
        self._scripts = {step["name"]: step["run"] for step in steps if "run" in step}
        kept = {name: v for name, v in os.environ.items() if name not in GIVEN_BY_THE_TESTS}
        self._environment = {
            **kept,
            "EVALSITE_DATA": str(folder / ".evalsite"),
            "MANAGE": "evalsite/.venv/bin/python evalsite/manage.py",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }

    def step(self, name: str) -> int:
        """As the runner does it: `bash -e -o pipefail`."""
        argv = ["bash", "-e", "-o", "pipefail", "-c", self._scripts[name]]
        ran = subprocess.run(
            argv,
            cwd=self.folder,
            env=self._environment,
            timeout=150,
            capture_output=True,
            text=True,
        )
        print(name, ran.returncode, ran.stdout[-2000:], ran.stderr[-2000:], sep="\n")
        return ran.returncode

    def evaluate(self, document: dict[str, Any]) -> int:
        write(self.folder / "evals" / "sums.yaml", document)
        return self.step("Evaluate")


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    job = Job(tmp_path)
    assert job.step("Start the site") == 0
    yield job
    assert job.step("Stop the site") == 0


def test_the_job_passes_and_fails_on_a_regression_only(job: Job) -> None:
    assert job.step("Prepare") == 0
    assert job.step("Prepare") == 0  # with the folder of an earlier job
    assert job.evaluate(EVALS) == 0  # the first has nothing to compare with
    assert job.evaluate(EVALS) == 0
    assert job.evaluate(WORSE) == 100
    assert job.step("Show") == 0
    summary = (job.folder / "summary.md").read_text()
    assert summary.startswith("### ❌ Failed: baseline, regressions — `sums` · run 3")
    suite = ElementTree.parse(job.folder / "evals.xml").getroot()[0]
    assert suite.get("failures") == "2"
    assert len((job.folder / "scores.jsonl").read_text().splitlines()) == 30
