"""The demo: a policy finds out which wording turns which arithmetic question wrong."""

from runs.kinds.base import Demo
from workers.simulator.demo import DEMO_ENDPOINT, make_questions

NAME = "Demo: rewrites that break a model"
QUESTIONS = 180  # of which half are stories, as in: Ann has 12 apples and buys 7 more
HELD_OUT = 30

# Only stories: the policy hashes words, and sums without a story differ by a sign alone.
STORIES = [
    question._asdict()
    for question in make_questions(QUESTIONS, seed=11)
    if "How many" in question.question
]
DEMO = Demo(
    name=NAME,
    button="Find rewrites that break a model",
    about="a policy learns which of 7 rewritings turns which question wrong, in 10 updates",
    document={
        "name": NAME,
        "kind": "mutate",
        "seed": 7,
        "dataset": {"rows": STORIES},
        "operators": [
            *("noop", "paraphrase", "add_politeness", "make_indirect", "shorten"),
            *("passive_voice", "change_perspective"),
        ],
        "goal": "turns_wrong",
        "roles": {
            "mutator": f"{DEMO_ENDPOINT}/sim-large",
            "target": f"{DEMO_ENDPOINT}/sim-large",
        },
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        # Learns faster than a careful training would: it is to be seen within half a minute.
        "strategy": {
            "name": "ppo",
            "num_processes": 32,
            "num_steps": 4,
            "updates": 10,
            "lr": 0.002,
            "entropy_coef": 0.01,
        },
        "max_steps": 1,
        "carry": "never",
        "held_out": HELD_OUT,
        "limits": {"max_concurrent": 32, "requests_per_minute": None},
    },
)
