"""The demos: everything a first run needs, on the simulated provider that we ship."""

from django.contrib.auth.models import AbstractBaseUser

from runs.kinds import every_demo
from runs.models import Configuration, Dataset, Endpoint, EndpointKind, Run
from runs.services.configurations import save_configuration
from runs.services.datasets.storing import store_rows
from runs.services.removing.configuration_trash import restore_configuration
from runs.services.runs import create_run
from workers.engine.kinds import DEFAULT_KIND
from workers.simulator.demo import DEMO_DATASET, DEMO_ENDPOINT, DEMO_MODELS, make_questions

# Dollars per million tokens, like those of a small and a large model of today; nobody pays them.
DEMO_PRICES = {
    "sim-small": {"input": 0.15, "output": 0.60},
    "sim-large": {"input": 2.50, "output": 10.00},
}


def start_demo(owner: AbstractBaseUser, kind: str = DEFAULT_KIND) -> Run:
    """Start the demo run of a kind, setting up what it needs if it is not there yet."""
    ensure_demo_parts(owner)
    return create_run(owner, dict(every_demo()[kind].document))


def ensure_demo_parts(owner: AbstractBaseUser | None = None) -> None:
    """The simulated endpoint, the questions and the presets. Of what exists it changes nothing, but
    brings back what was archived or deleted."""
    endpoints = Endpoint.objects.filter(name=DEMO_ENDPOINT, archived__isnull=False)
    endpoints.update(archived=None, remove_after=None)
    datasets = Dataset.objects.filter(name=DEMO_DATASET, archived__isnull=False)
    datasets.update(archived=None, remove_after=None)
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
    for demo in every_demo().values():
        stored = Configuration.objects.filter(name=demo.name).first()
        if stored is not None:
            restore_configuration(stored, owner)
        else:
            about = f"{demo.about[:1].upper()}{demo.about[1:]}. Needs no key."
            save_configuration(
                owner, demo.name, dict(demo.document), description=about, is_preset=True
            )
