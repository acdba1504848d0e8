"""`manage.py train_mutator`: trains a policy that rewrites queries, without a file."""

from typing import Any

from django.core.management.base import CommandParser

from runs.management.commands import run
from runs.services.demo import ensure_demo_parts
from workers.simulator.demo import DEMO_DATASET, DEMO_ENDPOINT

USUAL_SCORERS = {"consistent": "token_f1"}  # by goal: two answers are no numbers
PPO_WHOLE = ("ppo_epoch", "num_mini_batch")
PPO_NUMBERS = {
    "lr": "learning rate of Adam",
    "gamma": "discount",
    "gae_lambda": "of the advantages",
    "clip_param": "how far an update may move a probability",
    "entropy_coef": "weight of the entropy",
    "value_loss_coef": "weight of the critic's loss",
    "max_grad_norm": "longer gradients are shortened to this",
}


class Command(run.Command):
    help = (
        "Trains a policy that rewrites queries, and waits for the result. What it is given is a "
        "configuration of kind mutate; see docs/MUTATE.md for files of those, which can say more. "
        "Without models it trains on the simulated provider."
    )

    def add_subject(self, parser: CommandParser) -> None:
        add_models(parser)
        add_training(parser)
        batching = parser.add_mutually_exclusive_group()
        batching.add_argument(
            "--use-batching",
            action="store_true",
            default=True,
            help="all environments at once, which is the default",
        )
        batching.add_argument(
            "--no-batching",
            dest="use_batching",
            action="store_false",
            help="one call at a time: the same transitions, only later",
        )

    def read_subject(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["dataset"] == DEMO_DATASET:
            ensure_demo_parts()  # on a new site they are not there yet
        roles = {role: options[role] for role in ("target", "mutator", "judge", "embedder")}
        document = {
            "name": options["name"],
            "kind": "mutate",
            "seed": options["seed"],
            "dataset": options["dataset"],
            "goal": options["goal"],
            "roles": {role: model for role, model in roles.items() if model},
            "strategy": strategy_of(options),
            "max_steps": options["max_steps"],
            "use_batching": options["use_batching"],
        }
        if not options["judge"]:
            document["scorers"] = [
                options["scorer"] or USUAL_SCORERS.get(options["goal"], "numeric")
            ]
        if options["operators"]:
            document["operators"] = [name.strip() for name in options["operators"].split(",")]
        if options["batch_size"] and options["use_batching"]:
            document["limits"] = {"max_concurrent": options["batch_size"]}
        return document


def strategy_of(options: dict[str, Any]) -> dict[str, Any]:
    """Only what was given: everything else is as the strategy has it."""
    names = ("num_processes", "num_steps", "num_env_steps", "updates", *PPO_WHOLE, *PPO_NUMBERS)
    given = {name: options[name] for name in names if options[name] is not None}
    return {"name": options["strategy"], **given}


def add_models(parser: CommandParser) -> None:
    add = parser.add_argument
    usual = f"{DEMO_ENDPOINT}/sim-large"
    add("--name", default="train_mutator", help="name of the run; default train_mutator")
    add("--dataset", default=DEMO_DATASET, help="the queries; default: those of the demo")
    add("--target", default=usual, metavar="ENDPOINT/MODEL", help="the model that is tested")
    add("--mutator", default=usual, metavar="ENDPOINT/MODEL", help="who rewrites")
    add("--judge", metavar="ENDPOINT/MODEL", help="who judges answers, instead of --scorer")
    usual_scorers = "numeric, or token_f1 where two answers are compared (consistent)"
    add("--scorer", help=f"what judges answers; default {usual_scorers}")
    add("--embedder", metavar="ENDPOINT/MODEL", help="who embeds queries; default: words hashed")
    add("--goal", default="turns_wrong", help="turns_wrong, stays_right or consistent")
    add("--operators", help="rewritings, as a list; default: the first seven of docs/MUTATE.md")


def add_training(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--strategy", default="ppo", help="what learns: ppo, ucb or uniform; default ppo")
    add("--num-processes", type=int, default=16, help="environments at once; default 16")
    add("--num-steps", type=int, default=32, help="steps of each in an update; default 32")
    add("--num-env-steps", type=int, help="steps in all; or give --updates")
    add("--updates", type=int, help="how often the policy is changed; default 20")
    add("--ppo-epoch", type=int, help="how often an update goes over its steps; default 4")
    add("--num-mini-batch", type=int, help="parts of such a pass; default 4")
    for name, about in PPO_NUMBERS.items():
        add(f"--{name.replace('_', '-')}", type=float, help=about)
    add("--max-steps", type=int, default=10, help="steps of an episode; default 10")
    add("--batch-size", type=int, help="calls at once; default: as many as the endpoint allows")
    add("--seed", type=int, default=0, help="the same seed gives the same weights; default 0")
