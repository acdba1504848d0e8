"""The CI job of docs/ci-example.yml, its shell steps run as written against a live site."""

import csv
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from evalsite.env import BASE_DIR
from tests.commands.conftest import write
from tests.commands.test_new_folder import PATIENTLY, SUMS
from tests.harness.site import environment_of_a_site

pytestmark = [pytest.mark.late, pytest.mark.timeout(900)]  # two starts of a site

SECRET_KEY = "a secret of the repository, of fifty characters and more"
EXAMPLE = BASE_DIR / "docs" / "ci-example.yml"
ROWS = [{"question": f"What is {n} + {n + 3}?", "expected": str(2 * n + 3)} for n in range(1, 13)]
EVALS = {**SUMS, "name": "sums", "limits": {"max_concurrent": 20, "requests_per_minute": None}}
WORSE = {**EVALS, "prompts": [{"name": "terse", "user": "Say hello."}]}


class Job:
    """A checkout with the example's job beside it."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "evals").mkdir()
        with (folder / "evals" / "sums.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["question", "expected"])
            writer.writeheader()
            writer.writerows(ROWS)
        (folder / "evalsite").symlink_to(BASE_DIR, target_is_directory=True)
        example: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())["jobs"]["evals"]
        steps = example["steps"]
        self.variables: dict[str, str] = example["env"]
        self.cached = {step["with"]["path"] for step in steps if "cache/" in step.get("uses", "")}
        self._scripts = {step["name"]: step["run"] for step in steps if "run" in step}
        kept = environment_of_a_site()
        self._environment = {
            **kept,
            "EVALSITE_DATA": str(folder / ".evalsite"),
            "EVALSITE_SECRET_KEY": SECRET_KEY,
            "MANAGE": "evalsite/.venv/bin/python evalsite/manage.py",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }

    def step(self, name):
        """As the runner does it: `bash -e -o pipefail`."""
        argv = ["bash", "-e", "-o", "pipefail", "-c", self._scripts[name]]
        ran = subprocess.run(argv, cwd=self.folder, env=self._environment, **PATIENTLY)
        print(name, ran.returncode, ran.stdout[-2000:], ran.stderr[-2000:], sep="\n")
        return ran.returncode

    def kept_for_the_next_job(self):
        return [path for pattern in self.cached for path in self.folder.glob(pattern)]

    def begin_anew(self):
        """On another machine, with nothing but what was cached."""
        kept = {path.name: path.read_bytes() for path in self.kept_for_the_next_job()}
        shutil.rmtree(self.folder / ".evalsite")
        (self.folder / ".evalsite").mkdir()
        for name, content in kept.items():
            (self.folder / ".evalsite" / name).write_bytes(content)

    def evaluate(self, document):
        write(self.folder / "evals" / "sums.yaml", document)
        return self.step("Evaluate")


@pytest.fixture
def job(tmp_path):
    job = Job(tmp_path)
    assert job.step("Start the site") == 0
    yield job
    assert job.step("Stop the site") == 0


def check_that_no_secret_is_cached(job):
    """A job of a pull request can read all that is: the key file would open the stored keys."""
    data, cached = job.folder / ".evalsite", job.kept_for_the_next_job()
    # SQLite leaves its journal behind where two processes close the database at the same moment.
    names = {path.name.removesuffix("-wal").removesuffix("-shm") for path in cached}
    assert names == {"evalsite.sqlite3"}
    (redis,) = data.glob("redis/*/redis.conf")
    password = redis.read_text().partition("requirepass ")[2].split()[0]
    for secret in (SECRET_KEY, password):
        assert not any(secret.encode() in path.read_bytes() for path in cached)
    assert "secrets.EVALSITE_SECRET_KEY" in job.variables["EVALSITE_SECRET_KEY"]


def test_the_job_passes_and_fails_on_a_regression_only(job):
    assert job.step("Prepare") == 0
    assert job.evaluate(EVALS) == 0  # the first has nothing to compare with
    assert job.step("Stop the site") == 0
    check_that_no_secret_is_cached(job)
    job.begin_anew()
    assert job.step("Start the site") == 0
    assert job.step("Prepare") == 0
    assert job.evaluate(EVALS) == 0
    assert "12 cached" in (job.folder / "evals.md").read_text()
    assert job.evaluate(WORSE) == 100
    assert job.step("Show") == 0
    summary = (job.folder / "summary.md").read_text()
    assert summary.startswith("### ❌ Failed: baseline, regressions — `sums` · run 3")
    suite = ElementTree.parse(job.folder / "evals.xml").getroot()[0]
    assert suite.get("failures") == "2"
    assert len((job.folder / "scores.jsonl").read_text().splitlines()) == 12
