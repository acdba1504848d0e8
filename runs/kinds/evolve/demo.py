"""The second demo: four poor prompts, and a model that writes better ones from their mistakes."""

from runs.kinds.base import Demo
from workers.simulator.demo import DEMO_DATASET, DEMO_ENDPOINT, DEMO_PROMPTS

NAME = "Demo: evolve a prompt on arithmetic"
USER = DEMO_PROMPTS[0].user
WRITER = {"model": f"{DEMO_ENDPOINT}/sim-large"}
DEMO = Demo(
    name=NAME,
    button="Evolve a prompt",
    about="a model reads the mistakes of 4 poor prompts and writes better ones, for 8 generations",
    document={
        "name": NAME,
        "kind": "evolve",
        "seed": 7,
        "dataset": DEMO_DATASET,
        "prompts": [
            *(prompt._asdict() for prompt in DEMO_PROMPTS[:2]),
            {"name": "friendly", "system": "Be friendly and answer the question.", "user": USER},
            {"name": "plain", "system": "Answer the question.", "user": USER},
        ],
        "models": [f"{DEMO_ENDPOINT}/sim-small"],
        "operators": [{"reflect": {"weight": 2, **WRITER}}, {"combine": WRITER}],
        "strategy": {
            "name": "genetic",
            "preset": "reflective",
            "population_size": 4,
            "elite_size": 2,
            "max_generations": 8,
            "all_cases": True,
        },
        "held_out": 0.5,
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        # Slow enough to be watched: about 25 seconds on the simulated provider.
        "limits": {"max_concurrent": 20, "requests_per_minute": None},
    },
)
