"""The demo: everything a first run needs, on the simulated provider that we ship."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from runs.models import Configuration, Dataset, Endpoint, EndpointKind, Run
from runs.services.configurations import save_configuration
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from workers.simulator.demo import DEMO_MODELS, DEMO_PROMPTS, make_questions

DEMO_NAME = "Demo: prompts and models on arithmetic"
DEMO_DATASET = "arithmetic"
DEMO_ENDPOINT = "simulated"
# Dollars per million tokens, like those of a small and a large model of today; nobody pays them.
DEMO_PRICES = {
    "sim-small": {"input": 0.15, "output": 0.60},
    "sim-large": {"input": 2.50, "output": 10.00},
}


def start_demo(owner: AbstractBaseUser) -> Run:
    """Start the demo run, setting up what it needs if it is not there yet."""
    ensure_demo_parts(owner)
    return create_run(owner, demo_document())


def ensure_demo_parts(owner: AbstractBaseUser | None = None) -> None:
    """The simulated endpoint, the questions and the preset. Of what exists it changes nothing, but
    brings back what was archived."""
    Endpoint.objects.filter(name=DEMO_ENDPOINT, archived__isnull=False).update(archived=None)
    Dataset.objects.filter(name=DEMO_DATASET, archived__isnull=False).update(archived=None)
    Endpoint.objects.get_or_create(
        name=DEMO_ENDPOINT,
        defaults={
            "kind": EndpointKind.SIMULATED,
            "model_names": list(DEMO_MODELS),
            "max_concurrent": 200,
            "prices": DEMO_PRICES,
        },
    )
    if not Dataset.objects.filter(name=DEMO_DATASET).exists():
        rows = [question._asdict() for question in make_questions()]
        store_rows(owner, DEMO_DATASET, rows, share=True)  # everybody's demo runs on it
    if not Configuration.objects.filter(name=DEMO_NAME).exists():
        save_configuration(
            owner,
            DEMO_NAME,
            demo_document(),
            description="3 prompts x 2 simulated models x 60 arithmetic questions. Needs no key.",
            is_preset=True,
        )


def demo_document() -> dict[str, Any]:
    return {
        "name": DEMO_NAME,
        "kind": "evaluate",
        "seed": 7,
        "dataset": DEMO_DATASET,
        "prompts": [prompt._asdict() for prompt in DEMO_PROMPTS],
        "models": [f"{DEMO_ENDPOINT}/{model}" for model in DEMO_MODELS],
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        # Slow enough to be watched: about 14 seconds on the simulated provider.
        "limits": {"max_concurrent": 10, "requests_per_minute": None},
    }
