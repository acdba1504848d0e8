"""The first demo: which of three prompts is best, and for which model?"""

from runs.kinds.base import Demo
from workers.simulator.demo import DEMO_DATASET, DEMO_ENDPOINT, DEMO_MODELS, DEMO_PROMPTS

NAME = "Demo: prompts and models on arithmetic"
DEMO = Demo(
    name=NAME,
    button="Run the demo",
    about="3 prompts × 2 simulated models × 60 arithmetic questions",
    document={
        "name": NAME,
        "kind": "evaluate",
        "seed": 7,
        "dataset": DEMO_DATASET,
        "prompts": [prompt._asdict() for prompt in DEMO_PROMPTS],
        "models": [f"{DEMO_ENDPOINT}/{model}" for model in DEMO_MODELS],
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        # Slow enough to be watched: about 14 seconds on the simulated provider.
        "limits": {"max_concurrent": 10, "requests_per_minute": None},
    },
)
