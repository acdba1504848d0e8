"""What a selection found that ran in the process of a command."""

from collections.abc import Iterable

from runs.kinds.base import RunHere
from workers.engine.kinds.select import Selection, rounds_in
from workers.engine.kinds.select.report import SelectionReport, report_of
from workers.engine.kinds.select.rows import Tokens, rounds_of, rows_of
from workers.engine.records import Score
from workers.engine.schedule import share_by
from workers.engine.session import Session


def selection_here(run: RunHere) -> SelectionReport:
    configuration = run.configuration
    assert isinstance(configuration, Selection)  # its kind was asked
    begun = configuration.begin(run.cases)
    strategy, session = rounds_in(begun), Session(begun)
    session.replay(len(run.scores), run.scores)
    known = {candidate.key for candidate in strategy.candidates}  # not the best once more
    scores = [score for score in run.scores if score.trial.candidate in known]
    early = [score for score in scores if score.trial.position >= session.told]
    cost = sum(score.spent for score in run.scores)
    is_unknown = not cost and any(score.unpriced_in_all for score in run.scores)
    return report_of(
        strategy,
        rows_of(strategy, early, tokens_of(run.scores)),
        rounds_of(strategy, run.slots, share_by(configuration, run.cases)),
        name=configuration.strategy.name,
        evaluations=len(scores),
        objective=configuration.objective,
        dollars=None if is_unknown else cost,
        seconds=run.seconds,
    )


def tokens_of(scores: Iterable[Score]) -> dict[str, Tokens]:
    totals: dict[str, Tokens] = {}
    for score in scores:
        given, received = totals.get(score.trial.candidate, Tokens(0, 0))
        more = Tokens(given + (score.tokens_in or 0), received + (score.tokens_out or 0))
        totals[score.trial.candidate] = more
    return totals
