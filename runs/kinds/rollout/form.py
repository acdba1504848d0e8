"""Missions and policies in the new-run form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from runs.kinds.section import FormSection, Place
from workers.engine.environments import ENVIRONMENTS
from workers.engine.kinds.rollout import Rollout
from workers.engine.kinds.rollout.missions import Mission
from workers.engine.named import Description
from workers.engine.named.named import label_of
from workers.engine.policies import POLICIES

NUMBERS = ("episodes", "jobs", "action_timeout_ms")
LANES = {
    "auto": "Chosen by the first steps",
    "process": "Processes",
    "thread": "Threads",
    "batch": "Batches",
    "async": "Async, for policies that ask a model",
}
PLAYS = {"each": "Each policy alone", "together": "All together, by their shares"}
PICTURES = {
    "none": "None",
    "first": "Of the first episode of each mission",
    "all": "Of every episode: takes much longer",
}


@dataclass(slots=True)
class PlaySection(FormSection):
    template: ClassVar[str] = "kinds/rollout/form.html"
    fields: ClassVar[Mapping[str, Place]] = {
        "missions": ("id_missions", "Missions"),
        "policies": ("id_policies", "Policies"),
        "episodes": ("id_episodes", "Episodes"),
        "jobs": ("id_jobs", "Jobs"),
        "lane": ("id_lane", "Lane"),
        "play": ("id_play", "Who plays with whom"),
        "action_timeout_ms": ("id_action_timeout_ms", "Time for an action"),
        "pictures": ("id_pictures", "Pictures"),
    }
    # Missions are its cases, and the return of an episode is its score.
    fixed: ClassVar[Mapping[str, Any]] = {"dataset": None, "scorers": [], "repeats": 1}

    missions: str = ""
    max_steps: str = "1000"
    policies: str = ""
    play: str = "each"
    lane: str = "auto"
    pictures: str = "none"
    episodes: str = "10"
    jobs: str = "4"
    action_timeout_ms: str = "2000"

    @classmethod
    def blank(cls) -> "PlaySection":
        return cls("grid/harvest", "200", "random\nseeker", pictures="first")

    @classmethod
    def read(cls, post: QueryDict) -> "PlaySection":
        return cls(
            post.get("missions", ""),
            post.get("max_steps", ""),
            post.get("policies", ""),
            post.get("play", "each"),
            post.get("lane", "auto"),
            post.get("pictures", "none"),
            *(post.get(name, "") for name in NUMBERS),
        )

    @classmethod
    def of(cls, configuration: Rollout) -> "PlaySection":
        """What the lines cannot say is lost here, so that the whole is then shown as YAML."""
        missions = configuration.missions
        return cls(
            "\n".join(mission.environment for mission in missions),
            number_text(missions[0].max_steps),
            "\n".join(policy.name for policy in configuration.policies),
            "together" if configuration.plays_together else "each",
            configuration.lane,
            configuration.pictures,
            *(number_text(getattr(configuration, name)) for name in NUMBERS),
        )

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        steps = number_or_text(self.max_steps) if self.max_steps else None
        return {
            "missions": [
                {"environment": line, **({"max_steps": steps} if steps is not None else {})}
                for line in lines_of(self.missions)
            ],
            "policies": lines_of(self.policies),
            "play": self.play,
            "lane": self.lane,
            "pictures": self.pictures,
            **{
                name: number_or_text(getattr(self, name)) if getattr(self, name) else None
                for name in NUMBERS
            },
        }

    def change_rows(self, post: QueryDict) -> bool:
        return False

    @property
    def known_missions(self) -> list[str]:
        return [f"grid/{variant}" for variant in ENVIRONMENTS["grid"].variants()]

    @property
    def installed(self) -> list[str]:
        """Environments of other packages. Their missions are not listed: it would import them."""
        return [
            label_of(name, ENVIRONMENTS[name])
            for name in ENVIRONMENTS
            if name != "grid" and not ENVIRONMENTS[name]().why_missing()
        ]

    @property
    def known_policies(self) -> list[Description]:
        return POLICIES.describe()

    @property
    def lanes(self) -> list[tuple[str, str]]:
        return list(LANES.items())

    @property
    def drawn(self) -> list[tuple[str, str]]:
        return list(PICTURES.items())

    @property
    def plays(self) -> list[tuple[str, str]]:
        return list(PLAYS.items())

    @classmethod
    def meaning(cls, configuration: Rollout) -> dict[str, Any]:
        """Limits follow from the jobs; play may be left to the shares."""
        return {
            "play": configuration.plays_together,
            "missions": [Mission.model_dump(mission) for mission in configuration.missions],
        }


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
