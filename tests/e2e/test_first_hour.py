"""The first hour with a server of one's own and a dataset as its authors publish it: no column is
renamed, no row cut off, and what was typed in the browser is found again by a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from scripts.first_hour import Tried, Walk, walk_all
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.late

ROWS = 4  # of the 20 in the file


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """As GSM8K is: the column is `answer`, and the number stands after ####."""
    rows = [
        {"question": one.question, "answer": f"It takes\n some thought.\n#### {one.expected}"}
        for one in make_questions(20)
    ]
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_published_dataset_on_a_server_of_ones_own(page, witness, site, published, tmp_path):
    site.simulator.answer_in(milliseconds=5)
    server = f"{site.simulator.url}/v1"
    tried = Tried(published, server, "sim-small", ROWS, max_tokens=120, kind="simulated")
    calls_before = site.simulator.ledger()["by_model"]["sim-small"]
    with patch.dict(os.environ):
        os.environ.pop("REDIS_URL", None)  # of the tests; the workers listen to the site's own
        walk_all(Walk(page, tried), site.data, tmp_path)
    calls = site.simulator.ledger()["by_model"]["sim-small"] - calls_before
    assert calls == 3 * ROWS, "the same from the browser, again and from a file: asked once"
