"""Kind `rollout` on the site: missions with the returns of policies, and replays of episodes."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

from runs.kinds.base import Board, Demo, Findings, KindGuide, RunFile, RunHere, SiteKind
from runs.kinds.rollout.findings import RolloutFindings, findings_here
from runs.kinds.rollout.form import PlaySection
from runs.kinds.rollout.page import rollout_page
from runs.kinds.rollout.replays import replay_page
from runs.kinds.rollout.standing import (
    record_of,
    rollout_of,
    write_board,
    write_summary_json,
    write_summary_yaml,
)
from runs.kinds.section import FormSection
from runs.models import Run
from runs.selectors.limits.limits import configuration_now
from workers.engine.spec.configuration import Configuration

DEMO: dict[str, Any] = {
    "name": "Demo: foragers on a grid",
    "kind": "rollout",
    "seed": 42,
    "missions": [{"environment": "grid/*", "max_steps": 200}],
    "policies": ["random", "seeker", {"linear": {"seed": 3}}],
    "episodes": 6,
    "jobs": 2,
}


class RolloutKind(SiteKind):
    name: ClassVar[str] = "rollout"
    title: ClassVar[str] = "Rollout"
    purpose: ClassVar[str] = "Play missions"
    can_be_wrong: ClassVar[bool] = False
    candidate_word: ClassVar[str] = "policy"
    candidate_words: ClassVar[str] = "policies"
    case_word: ClassVar[str] = "episode"
    section: ClassVar[type[FormSection] | None] = PlaySection
    guide: ClassVar[KindGuide | None] = KindGuide("playing-missions", "ROLLOUT.md")
    style: ClassVar[str] = "css/kinds/rollout.css"
    files: ClassVar[Mapping[str, RunFile]] = {
        "rollout.json": RunFile("application/json", write_board),
        "summary.json": RunFile("application/json", write_summary_json),
        "summary.yaml": RunFile("application/yaml", write_summary_yaml),
    }
    demo: ClassVar[Demo | None] = Demo(
        name=DEMO["name"],
        button="Play a mission",
        about="three policies forage on three grid worlds, six episodes each",
        document=DEMO,
    )
    export_suffixes: ClassVar[Sequence[str]] = (".json", ".yaml", ".yml")

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        slots = configuration_now(run).limits.max_concurrent or 1
        page = rollout_page(run, given, slots)
        return Board(
            section="kinds/rollout/section.html",
            rows="kinds/rollout/board.html",
            context={"rollout": page, "replay": replay_page(run, given)},
            query=f"?{urlencode({'mission': page.shown})}" if given.get("mission") else "",
            style="css/kinds/rollout.css",
            script="js/kinds/rollout.js",
            stands_first=True,
        )

    def board_record(self, run: Run) -> dict[str, Any]:
        return record_of(run)

    def find(self, run: Run) -> Findings:
        return RolloutFindings(rollout_of(run))

    def find_here(self, run: RunHere) -> Findings:
        return findings_here(run)

    def why_unused(self, configuration: Configuration) -> str:
        return "there are no more episodes"
