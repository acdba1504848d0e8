"""What a selection has found: by replay of what is stored, at any time.

A page asks again every second, so the strategy is kept where it stands and is told only what came
since; unless something that it was told was taken back: then all is replayed.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from django.db.models import Count, Max
from django.utils import timezone

from runs.models import Run
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import configuration_now, slots_at_launch
from runs.selectors.runs.stored_history import stored_history
from workers.engine.kinds.select import Selection
from workers.engine.kinds.select.report import SelectionReport, report_of
from workers.engine.kinds.select.rows import Tokens, rounds_of, rows_of
from workers.engine.records import Score
from workers.engine.schedule import share_by
from workers.engine.session import Session
from workers.engine.strategies import SELECTIONS, Rounds
from workers.engine.strategies.bystander import Bystander

WARM_SELECTIONS = 8  # some megabytes each with tens of thousands of scores


class Told(NamedTuple):
    """The scores of the trials that a strategy was told of, as they are stored."""

    rows: int
    newest: int | None  # what is scored anew gets a greater number


@dataclass
class Followed:
    """A selection as far as it was read, and the report of that moment."""

    strategy: Rounds[Any]
    session: Session
    lock: Lock
    told: Told
    asked_for: tuple[Any, ...] = ()
    report: SelectionReport | None = None


_warm: OrderedDict[tuple[int, datetime], Followed] = OrderedDict()  # a cache: else it is replayed
_warm_lock = Lock()


def selection_of(run: Run) -> SelectionReport:
    configuration = configuration_now(run)
    assert isinstance(configuration, Selection)  # the caller has looked at the kind
    followed = follow(run, configuration)
    slots = slots_at_launch(run, configuration)
    asked_for = (run.asked, run.done, run.state, run.ended, slots)
    with followed.lock:
        if followed.report is None or followed.asked_for != asked_for:
            followed.report = read_on(run, configuration, followed, slots)
            followed.asked_for = asked_for
        return followed.report


def follow(run: Run, configuration: Selection) -> Followed:
    """By the moment of its launch, too: a database that is emptied gives its numbers again."""
    key = (run.pk, run.created)
    with _warm_lock:
        followed = _warm.pop(key, None) or begin(run, configuration)
        _warm[key] = followed
        while len(_warm) > WARM_SELECTIONS:
            _warm.popitem(last=False)
        return followed


def begin(run: Run, configuration: Selection) -> Followed:
    cases = len(positions_of(run))
    strategy: Rounds[Any]
    if configuration.strategy.name in SELECTIONS:
        strategy = configuration.open_strategy(cases)
    else:
        strategy = configuration.stand_in(cases, run.chosen)
    return Followed(strategy, Session(strategy), Lock(), Told(0, None))


def begin_anew_if_rewound(run: Run, configuration: Selection, followed: Followed) -> None:
    told = followed.session.told
    if followed.session.asked <= run.asked and followed.told == told_of(run, told):
        return
    fresh = begin(run, configuration)
    followed.strategy, followed.session, followed.told = fresh.strategy, fresh.session, fresh.told


def told_of(run: Run, told: int) -> Told:
    found = run.scores.filter(position__lt=told).aggregate(rows=Count("pk"), newest=Max("pk"))
    return Told(**found)


def read_on(run: Run, configuration: Selection, followed: Followed, slots: int) -> SelectionReport:
    begin_anew_if_rewound(run, configuration, followed)
    strategy, session = followed.strategy, followed.session
    # The run was read before its scores: there may be some of a round that it does not know yet.
    news = [s for s in stored_history(run, session.told) if s.trial.position < run.asked]
    session.replay(run.asked, news)
    early = [score for score in news if score.trial.position >= session.told]
    if isinstance(strategy, Bystander):
        strategy.watch(early)
        return report(run, configuration, followed, slots, [], len(early))
    followed.told = told_of(run, session.told)
    return report(run, configuration, followed, slots, early, session.told + len(early))


def report(
    run: Run,
    configuration: Selection,
    followed: Followed,
    slots: int,
    early: list[Score],
    evaluations: int,
) -> SelectionReport:
    strategy = followed.strategy
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
