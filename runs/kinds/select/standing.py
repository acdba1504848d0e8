"""What a selection has found: by replay of what is stored, at any time."""

from functools import partial
from typing import Any

from django.utils import timezone

from runs.kinds.following import Followed, follow
from runs.models import Run
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import configuration_now, slots_at_launch
from workers.engine.kinds.select import Selection, rounds_in
from workers.engine.kinds.select.report import SelectionReport, report_of
from workers.engine.kinds.select.rows import Tokens, rounds_of, rows_of
from workers.engine.records import Score
from workers.engine.schedule import share_by
from workers.engine.strategies import SELECTIONS, Rounds, Strategy
from workers.engine.strategies.bystander import Bystander


def selection_of(run: Run) -> SelectionReport:
    configuration = configuration_now(run)
    assert isinstance(configuration, Selection)  # the caller has looked at the kind
    followed = follow(run, partial(begin, run, configuration))
    slots = slots_at_launch(run, configuration)
    make = partial(read_on, run, configuration, followed, slots)
    found: SelectionReport = followed.reported(
        make, run.asked, run.done, run.state, run.ended, slots
    )
    return found


def begin(run: Run, configuration: Selection) -> Strategy:
    cases = len(positions_of(run))
    if configuration.strategy.name in SELECTIONS:
        return configuration.begin(cases)
    return configuration.stand_in(configuration.count_ranked(cases), run.chosen)


def read_on(
    run: Run, configuration: Selection, followed: Followed[Strategy], slots: int
) -> SelectionReport:
    waiting = followed.read_on(run)
    strategy = rounds_in(followed.strategy)
    known = {candidate.key for candidate in strategy.candidates}  # not the best once more
    early = [score for score in waiting if score.trial.candidate in known]
    if isinstance(strategy, Bystander):
        strategy.watch(early)
        return report(run, configuration, strategy, slots, [], len(early))
    told = sum(map(len, strategy.board.samples))
    return report(run, configuration, strategy, slots, early, told + len(early))


def report(
    run: Run,
    configuration: Selection,
    strategy: Rounds[Any],
    slots: int,
    early: list[Score],
    evaluations: int,
) -> SelectionReport:
    return report_of(
        strategy,
        rows_of(strategy, early, tokens_of(run)),
        rounds_of(strategy, slots, share_by(configuration, strategy.cases)),
        name=configuration.strategy.name,
        evaluations=evaluations,
        objective=configuration.objective,
        dollars=None if run.unpriced and not run.cost else run.cost,
        seconds=run.running_seconds(run.ended or timezone.now()) if run.started else None,
        is_over=run.is_finished,
    )


def tokens_of(run: Run) -> dict[str, Tokens]:
    counts = run.candidates.values_list("key", "tokens_in", "tokens_out")
    # No prompt has no tokens: then the provider does not count them, or nothing was answered yet.
    return {key: Tokens(given, received) for key, given, received in counts if given}


def documents_of(run: Run) -> dict[str, Any]:
    """What each combination is made of, by its key."""
    return dict(run.candidates.values_list("key", "document"))
