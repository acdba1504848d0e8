"""What columns are for changes what the form of a new run offers."""

import pytest
from django.urls import reverse

from runs.models import Dataset
from runs.services.runs import create_run
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    run_document,
)

pytestmark = pytest.mark.django_db


def test_prompts_are_offered_the_inputs_of_the_dataset_and_nothing_else() -> None:
    """Metadata is no input, and the expected answer is known without being named."""
    alice = make_person("alice")
    make_endpoint()
    dataset = make_dataset(alice)
    names = ["question", "expected", "topic"]
    Dataset.objects.filter(pk=dataset.pk).update(columns=names, roles={"topic": "metadata"})
    run = create_run(alice, run_document(dataset))
    page = client_of(alice).get(reverse("run_new"), {"run": run.pk})
    columns = {"inputs": ["question"], "columns": names, "expected": "expected"}
    assert page.context["dataset_columns"][dataset.name] == columns
    text = " ".join(page.content.decode().split())
    assert "<code>{{question}}</code>" in text
    assert "<code>{{topic}}</code>" not in text
    assert "inputs question; expected answer: expected" in text
