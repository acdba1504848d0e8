"""The reference of configurations: complete, and its examples really run."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.models import Endpoint
from runs.services.datasets.storing import store_rows
from runs.services.demo import DEMO_PRICES
from tests.commands.conftest import command
from tests.harness.factories import client_of
from workers.engine.kinds import KINDS
from workers.engine.spec.examples import EXAMPLES, Example
from workers.engine.spec.reference import reference
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.anchor)
def test_an_example_runs_as_it_is_written(
    tmp_path: Path, ada: User, endpoint: Endpoint, simulator: SimulatorClient, example: Example
) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(prices=DEMO_PRICES)
    store_rows(ada, "arithmetic", [question._asdict() for question in make_questions(8)])
    file = tmp_path / "example.yaml"
    file.write_text(example.yaml)
    ran = command("run", file, "--here")
    assert ran.exit_code == 0, ran.err
    assert ran.done["counts"]["done"] > 0
    assert ran.done["counts"]["failed"] == 0


def test_every_field_has_a_meaning_and_every_link_a_target() -> None:
    parts = reference()
    sections = [section for part in parts for section in part.sections]
    rows = [row for section in sections for row in section.fields]
    assert [row.name for row in rows if not row.meaning] == []
    targets = {piece.target for row in rows for piece in row.type if piece.target}
    assert targets <= {section.anchor for section in sections}
    names = {row.name for row in rows}
    assert all(kind.model_fields.keys() <= names for kind in KINDS.values())


def test_the_page_shows_the_whole_reference_and_is_linked(ada: User) -> None:
    client = client_of(ada)
    page = client.get(reverse("configuration_docs")).content.decode()
    for part in reference():
        for section in part.sections:
            assert f'id="{section.anchor}"' in page
            assert all(f"<code>{row.name}</code>" in page for row in section.fields)
    assert len(re.findall('<pre class="code"', page)) == len(EXAMPLES)
    for place in ("run_new", "api_docs"):
        assert reverse("configuration_docs") in client.get(reverse(place)).content.decode()
