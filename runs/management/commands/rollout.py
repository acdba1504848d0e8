"""`manage.py rollout -m MISSION -p POLICY`: lets policies play missions, without a file."""

from typing import Any

from django.core.management.base import CommandParser

from runs.management.commands import run
from runs.management.refusals import bad_input
from workers.engine.spec.documents import read_document

OWN = {"share": "share", "proportion": "share", "lane": "lane"}  # of a policy, beside its options


class Command(run.Command):
    help = (
        "Lets policies play missions and waits for the result. What it is given is a configuration "
        "of kind rollout; see docs/ROLLOUT.md for files of those, which can say more."
    )

    def add_subject(self, parser: CommandParser) -> None:
        several = parser.add_argument
        several(
            "-m",
            "--mission",
            action="append",
            required=True,
            metavar="MISSION",
            help="as in grid/harvest, grid/* or gymnasium/CartPole-v1; may be given several times",
        )
        several(
            "-p",
            "--policy",
            action="append",
            required=True,
            metavar="NAME[,option=value...]",
            help="as in random or linear,seed=3; with proportion=N policies play together",
        )
        add_numbers(parser)
        parser.add_argument(
            "--parallel-policy",
            action="store_true",
            help="agents act in processes of their own, if there are slots: the lane process",
        )
        parser.add_argument("--lane", default="auto", help="auto, process, thread, batch or async")
        parser.add_argument(
            "--pictures", default="none", help="in replays: none, first (of a mission) or all"
        )

    def read_subject(self, options: dict[str, Any]) -> dict[str, Any]:
        own = {
            "max_steps": options["steps"],
            "agents": options["cogs"],
            "map_seed": options["map_seed"],
        }
        given = {name: value for name, value in own.items() if value is not None}
        policies = [read_policy(text) for text in options["policy"]]
        together = any(isinstance(one, dict) and "share" in one for one in policies)
        return {
            "name": options["name"],
            "kind": "rollout",
            "seed": options["seed"],
            "missions": [{"environment": name, **given} for name in options["mission"]],
            "policies": policies,
            "play": "together" if together else "each",
            "episodes": options["episodes"],
            "jobs": options["jobs"],
            "lane": "process" if options["parallel_policy"] else options["lane"],
            "action_timeout_ms": options["action_timeout_ms"],
            "pictures": options["pictures"],
        }


def add_numbers(parser: CommandParser) -> None:
    parser.add_argument("--name", default="rollout", help="name of the run; default rollout")
    parser.add_argument("--episodes", type=int, default=10, help="of each mission; default 10")
    parser.add_argument(
        "--jobs", type=int, default=4, help="played at once, in all and over all workers; default 4"
    )
    parser.add_argument("--steps", type=int, help="of an episode at most; default 1000")
    parser.add_argument("--cogs", type=int, help="agents; default: as many as the mission has")
    parser.add_argument("--seed", type=int, default=42, help="of the first episode; default 42")
    parser.add_argument("--map-seed", type=int, help="of all maps; default: that of the episode")
    parser.add_argument(
        "--action-timeout-ms", type=float, default=2000, help="for one action; default 2000"
    )


def read_policy(text: str) -> Any:
    """`linear,seed=3,proportion=2`; `class=linear` is understood, too."""
    name, *parts = text.removeprefix("class=").split(",")
    found: dict[str, Any] = {"name": name}
    options: dict[str, Any] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            raise bad_input(f"{part!r} of the policy {name} is no option: write {part}=VALUE.")
        (found if key in OWN else options)[OWN.get(key, key)] = read_document(value)
    if options:
        found["options"] = options
    return found if len(found) > 1 else name
