"""The page of an evaluation: its leaderboard, and pictures that are fetched once the page is
there."""

from runs import formatting
from runs.kinds.plots import Dot, Plot, draw_plot
from runs.models import Run
from runs.selectors.runs.leaderboard import LeaderboardRow, leaderboard
from runs.selectors.runs.leaderboard_page import LeaderboardPage

MOST_ROWS = 40  # of the leaderboard, some 2 kB each; more are shown where all are asked for
ROW_HEIGHT = 20  # pixels
SMALLEST_HEIGHT = 60
LARGEST_HEIGHT = 400


def cut(page: LeaderboardPage) -> LeaderboardPage:
    return page._replace(rows=page.rows[:MOST_ROWS], failing=page.failing[:MOST_ROWS])


def with_all(query: str) -> str:
    return f"{query}&all=1" if query else "?all=1"


def heatmap_height(candidates: int) -> int:
    """In pixels, so that the page keeps its room before it is drawn."""
    return min(max(candidates * ROW_HEIGHT, SMALLEST_HEIGHT), LARGEST_HEIGHT)


def cost_plot(run: Run) -> Plot:
    dots = [dot_of(row) for row in leaderboard(run) if row.n]
    name = "$ per 1k answers"
    return draw_plot(name, dots, formatting.dollars, quality="Score", word="candidate")


def dot_of(row: LeaderboardRow) -> Dot:
    return Dot(
        name=row.name,
        short=row.name,
        value=row.value or 0.0,
        low=row.low,
        high=row.high,
        n=row.n,
        cost=row.cost_per_thousand,
        is_compared=True,
        is_best=row.rank == 1,
    )
