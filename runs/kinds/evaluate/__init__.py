"""Kind `evaluate` on the site: prompts and models in the form, pictures of cases on the page."""

from collections.abc import Mapping
from typing import ClassVar

from runs.kinds.base import Board, Demo, Pictures, SiteKind
from runs.kinds.evaluate.demo import DEMO
from runs.kinds.evaluate.form import PromptsSection
from runs.kinds.evaluate.page import cost_plot, cut, heatmap_height, with_all
from runs.kinds.section import FormSection
from runs.models import Run
from runs.selectors.pictures.case_pictures import case_pictures
from runs.selectors.runs.leaderboard_page import LeaderboardPage


class EvaluateKind(SiteKind):
    name: ClassVar[str] = "evaluate"
    title: ClassVar[str] = "Evaluate"
    purpose: ClassVar[str] = "Compare prompts and models"
    section: ClassVar[type[FormSection] | None] = PromptsSection
    style: ClassVar[str] = "css/kinds/evaluate.css"
    demo: ClassVar[Demo | None] = DEMO

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        board = super().board(run, given)
        page: LeaderboardPage = board.context["leaderboard"]
        shows_all = given.get("all") == "1"
        context = {
            "leaderboard": page if shows_all else cut(page),
            "candidates": len(page.rows),
            "heatmap_height": heatmap_height(len(page.rows)),
        }
        return board._replace(
            section="kinds/evaluate/section.html",
            context=context,
            query=with_all(board.query) if shows_all else board.query,
            style="css/pictures.css",
            script="js/pictures.js",
        )

    def pictures(self, run: Run) -> Pictures:
        context = {"plot": cost_plot(run), "cases": case_pictures(run)}
        return Pictures("kinds/evaluate/pictures.html", context)
