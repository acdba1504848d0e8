"""What a choice among combinations has found: by replay of what is stored, at any time."""

from dataclasses import dataclass

from runs.models import Run
from runs.selectors.limits import configuration_now
from runs.selectors.stored_history import stored_history
from workers.engine.kinds import open_selection
from workers.engine.selection_rows import CombinationRow, RoundRow, rounds_of, rows_of
from workers.engine.session import Session
from workers.engine.spec import Selection


@dataclass(frozen=True)
class SelectionReport:
    strategy: str
    rows: list[CombinationRow]
    rounds: list[RoundRow]
    evaluations: int
    brute_force: int
    dollars: float
    seconds: float | None

    @property
    def alive(self) -> int:
        return sum(row.eliminated_in is None for row in self.rows)

    @property
    def last_round(self) -> RoundRow | None:
        return self.rounds[-1] if self.rounds else None

    @property
    def saved_share(self) -> float:
        """Of what trying everything would have taken."""
        return 1 - self.evaluations / self.brute_force if self.brute_force else 0.0


def selection_of(run: Run) -> SelectionReport:
    configuration = configuration_now(run)
    assert isinstance(configuration, Selection)  # the caller has looked at the kind
    scores = stored_history(run)
    strategy = open_selection(configuration, run.dataset.rows)
    Session(strategy).replay(run.asked, scores)
    return SelectionReport(
        strategy=configuration.strategy.name,
        rows=rows_of(strategy, scores),
        rounds=rounds_of(strategy, configuration.limits.max_concurrent),
        evaluations=len(scores),
        brute_force=configuration.candidates * run.dataset.rows * configuration.repeats,
        dollars=run.cost,
        seconds=run.running_seconds(run.ended) if run.ended else None,
    )
