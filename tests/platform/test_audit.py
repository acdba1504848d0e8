"""`make audit` finds a known hole in what is locked. The database of holes is played by a server of
the test's own, which answers as OSV does: the real one cannot be reached from everywhere."""

import json
import subprocess
import sys
from contextlib import contextmanager

from evalsite.env import BASE_DIR
from tests.harness.answering import answering, told_json

NOBODY_LISTENS = "http://127.0.0.1:1/v1/query"  # others may take the port of a server that ended
HOLE = {
    "id": "PYSEC-2099-1",
    "summary": "A hole that the test made up.",
    "modified": "2099-01-01T00:00:00Z",
    "affected": [{"package": {"ecosystem": "PyPI", "name": "django"}, "versions": []}],
}


@contextmanager
def database_of_holes(of_package):
    """Its address, and the names that it was asked about."""
    names: list[str] = []

    def answer(asked):
        names.append(json.loads(asked.body)["package"]["name"])
        return told_json({"vulns": [HOLE]} if names[-1] == of_package else {})

    with answering(answer) as place:
        yield f"http://{place}/v1/query", names


def audit(osv_url, parts):
    script = [sys.executable, str(BASE_DIR / "scripts" / "audit.py")]
    argv = [*script, "--only", "python", "--osv-url", osv_url, "--parts", str(parts)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_known_hole_in_what_is_locked_fails_the_audit(tmp_path):
    with database_of_holes("django") as (osv_url, asked):
        found = audit(osv_url, tmp_path)
    assert found.returncode == 1
    assert "PYSEC-2099-1" in found.stdout
    assert {"django", "daphne", "redis", "dramatiq"} <= set(asked)
    parts = json.loads((tmp_path / "python.cdx.json").read_text())
    assert {"django", "daphne"} <= {part["name"] for part in parts["components"]}


def test_no_known_hole_passes_and_no_answer_is_not_taken_for_soundness(tmp_path):
    with database_of_holes("nothing-of-ours") as (osv_url, _):
        assert audit(osv_url, tmp_path).returncode == 0
    silent = audit(NOBODY_LISTENS, tmp_path)
    assert silent.returncode == 2
    assert "did not answer" in silent.stdout
